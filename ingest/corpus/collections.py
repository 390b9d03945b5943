"""Collections of documents: made, shown, opened to readers, deleted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, delete, insert, select
from sqlalchemy.orm import Session

from ingest.corpus.access import (
    NOTHING,
    collection_lists,
    readable_collections,
    replace_access,
    require_subjects,
)
from ingest.corpus.changes import fingerprint_of, lock_collection, log_change, missing_collection
from ingest.corpus.clock import now_utc
from ingest.corpus.errors import Conflict
from ingest.corpus.names import parse_name
from ingest.corpus.permissions import parse_id
from ingest.corpus.tables import AccessRow, CollectionRow, DocumentRow, VersionRow
from ingest.corpus.types import AccessList, EmbedderFingerprint, Principal

LONGEST_TITLE = 200  # characters


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    tenant_id: str
    id: str
    title: str
    fingerprint: EmbedderFingerprint | None  # of the vectors inside; None until there are some
    change_number: int
    created_at: str


def create_collection(session: Session, tenant_id: str, collection_id: str, title: str) -> CollectionInfo:
    """A new collection that nobody but admins may read.

    :raises InvalidInput: for an id or title that cannot be used.
    :raises Conflict: if the tenant has one of this id.
    :raises NotFound: if there is no such tenant.
    """
    parse_id(collection_id, "collection")
    title = parse_name(title, "title", LONGEST_TITLE)
    if session.scalar(_collections(tenant_id).where(CollectionRow.id == collection_id)):
        raise Conflict(f"There is a collection {collection_id!r} already.", next_step="Choose another id.")
    # The counter first: it says whether there is such a tenant. Nobody can hold a collection not yet made.
    number = log_change(session, tenant_id, collection_id, "collection")
    created_at = now_utc()
    session.execute(
        insert(CollectionRow).values(
            tenant_id=tenant_id, id=collection_id, title=title, change_number=number, created_at=created_at
        )
    )
    return CollectionInfo(tenant_id, collection_id, title, None, number, created_at)


def get_collection(session: Session, principal: Principal, collection_id: str) -> CollectionInfo:
    """:raises NotFound: if it is missing or `principal` may not read it."""
    row = session.execute(
        _collections(principal.tenant_id).where(CollectionRow.id == collection_id)
    ).one_or_none()
    if row is None or not readable_collections(session, principal, [collection_id]):
        raise missing_collection(collection_id)
    return _info(row)


def list_collections(session: Session, principal: Principal) -> tuple[CollectionInfo, ...]:
    """The collections whose own list lets `principal` in, by id."""
    found = [_info(row) for row in session.execute(_collections(principal.tenant_id))]
    readable = readable_collections(session, principal, (one.id for one in found))
    return tuple(sorted((one for one in found if one.id in readable), key=lambda one: one.id))


def delete_collection(session: Session, tenant_id: str, collection_id: str) -> None:
    """Remove it with its documents, originals, chunks and access; its id is free again.

    :raises NotFound: if the tenant has no such collection.
    """
    lock_collection(session, tenant_id, collection_id)
    log_change(session, tenant_id, collection_id, "collection")
    inside = (DocumentRow.tenant_id == tenant_id, DocumentRow.collection_id == collection_id)
    session.execute(
        delete(VersionRow).where(VersionRow.document_id.in_(select(DocumentRow.id).where(*inside)))
    )
    session.execute(delete(DocumentRow).where(*inside))
    session.execute(
        delete(AccessRow).where(AccessRow.tenant_id == tenant_id, AccessRow.collection_id == collection_id)
    )
    session.execute(
        delete(CollectionRow).where(CollectionRow.tenant_id == tenant_id, CollectionRow.id == collection_id)
    )


def set_collection_access(session: Session, tenant_id: str, collection_id: str, access: AccessList) -> None:
    """Say anew who may read the collection; an empty list means nobody but admins.

    :raises InvalidInput: for an entry that names nobody of this tenant.
    :raises NotFound: if the tenant has no such collection.
    """
    require_subjects(session, tenant_id, access)
    lock_collection(session, tenant_id, collection_id)
    replace_access(session, tenant_id, collection_id, "", access)
    log_change(session, tenant_id, collection_id, "access")


def get_collection_access(session: Session, tenant_id: str, collection_id: str) -> AccessList:
    """:raises NotFound: if the tenant has no such collection."""
    if not session.scalar(_collections(tenant_id).where(CollectionRow.id == collection_id)):
        raise missing_collection(collection_id)
    return collection_lists(session, tenant_id, [collection_id]).get(collection_id, NOTHING)


def _collections(tenant_id: str) -> Select[*tuple[Any, ...]]:
    return select(
        CollectionRow.tenant_id,
        CollectionRow.id,
        CollectionRow.title,
        CollectionRow.embedder,
        CollectionRow.dimension,
        CollectionRow.embedder_digest,
        CollectionRow.change_number,
        CollectionRow.created_at,
    ).where(CollectionRow.tenant_id == tenant_id)


def _info(row: Any) -> CollectionInfo:
    fingerprint = fingerprint_of(row.embedder, row.dimension, row.embedder_digest)
    return CollectionInfo(row.tenant_id, row.id, row.title, fingerprint, row.change_number, row.created_at)
