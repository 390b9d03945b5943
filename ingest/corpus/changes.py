"""The change log: what happened in a tenant, in order, so that indexes can follow the database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from ingest.corpus.clock import now_utc
from ingest.corpus.errors import NotFound
from ingest.corpus.tables import ChangeRow, CollectionRow, TenantRow
from ingest.corpus.types import EmbedderFingerprint

# "collection": made, deleted or embedded anew, start afresh; "document": read its chunks and access again;
# "access": read the collection's own access list again.
ChangeKind = Literal["collection", "document", "access"]


@dataclass(frozen=True, slots=True)
class Change:
    number: int
    kind: ChangeKind
    document_id: str  # "" unless kind is "document"


def log_change(
    session: Session, tenant_id: str, collection_id: str, kind: ChangeKind, document_id: str = ""
) -> int:
    """Number a change and note it; the tenant's counter is held from here to the commit.

    :raises NotFound: if there is no such tenant.
    """
    number: int | None = session.scalar(
        update(TenantRow)
        .where(TenantRow.id == tenant_id)
        .values(change_number=TenantRow.change_number + 1)
        .returning(TenantRow.change_number)
    )
    if number is None:
        raise missing_tenant(tenant_id)
    session.execute(
        insert(ChangeRow).values(
            tenant_id=tenant_id,
            number=number,
            collection_id=collection_id,
            kind=kind,
            document_id=document_id,
            at=now_utc(),
        )
    )
    session.execute(
        update(CollectionRow)
        .where(CollectionRow.tenant_id == tenant_id, CollectionRow.id == collection_id)
        .values(change_number=number)
    )
    return number


def lock_collection(session: Session, tenant_id: str, collection_id: str) -> None:
    """One writer a collection at a time: everything that changes one begins here.

    Locks are always taken in the order people, collection, tenant's counter, so that no two writers wait for
    each other. SQLite has one writer anyway.

    :raises NotFound: if the tenant has no such collection.
    """
    found = session.scalar(
        select(CollectionRow.id)
        .where(CollectionRow.tenant_id == tenant_id, CollectionRow.id == collection_id)
        .with_for_update(key_share=True)
    )
    if found is None:
        raise missing_collection(collection_id)


def collection_numbers(session: Session, tenant_id: str) -> dict[str, tuple[int, EmbedderFingerprint | None]]:
    """Each collection of the tenant: the number of its newest change and what its vectors were made with."""
    rows = session.execute(
        select(
            CollectionRow.id,
            CollectionRow.change_number,
            CollectionRow.embedder,
            CollectionRow.dimension,
            CollectionRow.embedder_digest,
        ).where(CollectionRow.tenant_id == tenant_id)
    )
    return {
        row.id: (row.change_number, fingerprint_of(row.embedder, row.dimension, row.embedder_digest))
        for row in rows
    }


def changes_since(session: Session, tenant_id: str, collection_id: str, number: int) -> tuple[Change, ...]:
    """Changes of the collection after `number`, oldest first."""
    rows = session.execute(
        select(ChangeRow.number, ChangeRow.kind, ChangeRow.document_id)
        .where(
            ChangeRow.tenant_id == tenant_id,
            ChangeRow.collection_id == collection_id,
            ChangeRow.number > number,
        )
        .order_by(ChangeRow.number)
    )
    return tuple(Change(row.number, row.kind, row.document_id) for row in rows)


def fingerprint_of(name: str | None, dimension: int | None, digest: str | None) -> EmbedderFingerprint | None:
    if name is None or dimension is None or digest is None:
        return None
    return EmbedderFingerprint(name, dimension, digest)


def missing_collection(collection_id: str) -> NotFound:
    return NotFound(f"There is no collection {collection_id!r}.", next_step="Check the id.")


def missing_tenant(tenant_id: str) -> NotFound:
    return NotFound(f"There is no tenant {tenant_id!r}.", next_step="Check the id.")
