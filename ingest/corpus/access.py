"""Access lists as they are stored, and the question which documents somebody may read by them now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any

from sqlalchemy import ColumnElement, Select, delete, insert, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from ingest.corpus.changes import lock_collection, log_change
from ingest.corpus.database import by_key_first, in_batches
from ingest.corpus.errors import InvalidInput
from ingest.corpus.permissions import EVERYONE, NOBODY, may_read, parse_access
from ingest.corpus.tables import AccessRow, GroupRow, UserRow
from ingest.corpus.types import AccessList, Principal

NOTHING = AccessList()


def access_lists(
    session: Session, tenant_id: str, collection_id: str, document_ids: Collection[str] | None = None
) -> tuple[AccessList, dict[str, AccessList]]:
    """The collection's list, and the lists of those documents that have one: of all, or of `document_ids`."""
    own = collection_lists(session, tenant_id, [collection_id]).get(collection_id, NOTHING)
    if document_ids is not None:
        return own, document_lists(session, tenant_id, document_ids)
    entries = session.execute(
        _entries(AccessRow.tenant_id == tenant_id, AccessRow.document_id).where(
            AccessRow.collection_id == collection_id, AccessRow.document_id != ""
        )
    )
    return own, _lists(entries)


def collection_lists(
    session: Session, tenant_id: str, collection_ids: Iterable[str]
) -> dict[str, AccessList]:
    """The lists of those collections that have one."""
    found: dict[str, AccessList] = {}
    for some in in_batches(collection_ids):
        statement = _entries(AccessRow.tenant_id == tenant_id, AccessRow.collection_id)
        found |= _lists(
            session.execute(statement.where(AccessRow.collection_id.in_(some), AccessRow.document_id == ""))
        )
    return found


def document_lists(session: Session, tenant_id: str, document_ids: Iterable[str]) -> dict[str, AccessList]:
    """The lists of those documents that have one of their own."""
    found: dict[str, AccessList] = {}
    for some in in_batches(document_ids):
        statement = _entries(by_key_first(AccessRow.tenant_id) == tenant_id, AccessRow.document_id)
        found |= _lists(session.execute(statement.where(AccessRow.document_id.in_(some))))
    return found


def readable_documents(
    session: Session, principal: Principal, places: Iterable[tuple[str, str]]
) -> frozenset[str]:
    """Of documents given as (collection id, document id): the ids of those that `principal` may read now.

    Tenants are not asked again: the caller has taken the places from rows of the principal's tenant.
    """
    wanted = frozenset(places)
    of_collections = collection_lists(session, principal.tenant_id, (place[0] for place in wanted))
    of_documents = document_lists(session, principal.tenant_id, (place[1] for place in wanted))
    return frozenset(
        document_id
        for collection_id, document_id in wanted
        if may_read(principal, of_collections.get(collection_id, NOTHING), of_documents.get(document_id))
    )


def readable_collections(
    session: Session, principal: Principal, collection_ids: Iterable[str]
) -> frozenset[str]:
    """Of these collections: those whose own list lets `principal` in."""
    wanted = frozenset(collection_ids)
    lists = collection_lists(session, principal.tenant_id, wanted)
    return frozenset(one for one in wanted if may_read(principal, lists.get(one, NOTHING), None))


def replace_access(
    session: Session, tenant_id: str, collection_id: str, document_id: str, access: AccessList | None
) -> None:
    """Write a list in the place of the one before; the caller holds the collection and logs the change.

    A document without entries would be as open as its collection, so an empty list is kept as "nobody".
    """
    session.execute(
        delete(AccessRow).where(
            AccessRow.tenant_id == tenant_id,
            AccessRow.collection_id == collection_id,
            AccessRow.document_id == document_id,
        )
    )
    if access is not None:
        _insert(session, tenant_id, collection_id, document_id, access if access != NOTHING else NOBODY)


def require_subjects(session: Session, tenant_id: str, access: AccessList) -> None:
    """Refuse entries for nobody: whoever took the name later would have the access.

    Call it before `lock_collection`, which gives the order of locks.

    :raises InvalidInput: naming the entries that are malformed or unknown in this tenant.
    """
    named = parse_access(access.allow | access.deny).allow - {EVERYONE}
    known = {
        f"{kind}:{found}"
        for kind, table in (("user", UserRow), ("group", GroupRow))
        for found in session.scalars(
            select(table.id)
            .where(table.tenant_id == tenant_id, table.id.in_(_ids_of(kind, named)))
            .with_for_update(read=True, key_share=True)
        )
    }
    if named - known:
        raise InvalidInput(
            f"There is no {', '.join(sorted(named - known))}.",
            why="Access can be given to users and groups that exist.",
            next_step="Create them first, or correct the name.",
            field="access",
        )


def forget_subject(session: Session, tenant_id: str, subject: str) -> None:
    """Take a user or group that is deleted out of every list, so that a later namesake does not inherit."""
    mine = (AccessRow.tenant_id == tenant_id, AccessRow.subject == subject)
    places = session.execute(select(AccessRow.collection_id, AccessRow.document_id).where(*mine)).all()
    for collection_id in sorted({place.collection_id for place in places}):
        lock_collection(session, tenant_id, collection_id)
    session.execute(delete(AccessRow).where(*mine))
    for collection_id, document_id in sorted(tuple(place) for place in places):
        if document_id and not document_lists(session, tenant_id, [document_id]):
            _insert(session, tenant_id, collection_id, document_id, NOBODY)
        log_change(session, tenant_id, collection_id, "document" if document_id else "access", document_id)


def _insert(
    session: Session, tenant_id: str, collection_id: str, document_id: str, access: AccessList
) -> None:
    place = {"tenant_id": tenant_id, "collection_id": collection_id, "document_id": document_id}
    # Who is both allowed and denied is denied, and one row says so.
    effects = dict.fromkeys(sorted(access.allow), "allow") | dict.fromkeys(sorted(access.deny), "deny")
    rows = [place | {"subject": subject, "effect": effect} for subject, effect in effects.items()]
    if rows:
        session.execute(insert(AccessRow), rows)


def _ids_of(kind: str, subjects: Iterable[str]) -> list[str]:
    return sorted(one.removeprefix(f"{kind}:") for one in subjects if one.startswith(f"{kind}:"))


def _entries(tenant: ColumnElement[bool], of: InstrumentedAttribute[str]) -> Select[str, str, str]:
    return select(of, AccessRow.subject, AccessRow.effect).where(tenant)


def _lists(entries: Iterable[Any]) -> dict[str, AccessList]:
    """Rows of (whose list, subject, effect) to the lists."""
    gathered: dict[str, dict[str, set[str]]] = defaultdict(lambda: {"allow": set(), "deny": set()})
    for whose, subject, effect in entries:
        gathered[whose][effect].add(subject)
    return {
        whose: AccessList(frozenset(one["allow"]), frozenset(one["deny"])) for whose, one in gathered.items()
    }
