"""Documents and passages as the database has them now: all for an index, the permitted ones for a reader.

What is missing and what is forbidden look the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Select, and_, func, select, tuple_
from sqlalchemy.orm import Session, aliased

from ingest.corpus.access import access_lists, readable_documents
from ingest.corpus.arrays import IndexedChunk
from ingest.corpus.collections import get_collection
from ingest.corpus.database import by_key_first, in_batches
from ingest.corpus.errors import InvalidInput
from ingest.corpus.permissions import may_read
from ingest.corpus.store import STORED_VECTOR, Original, missing_document
from ingest.corpus.tables import ChunkRow, DocumentRow, VersionRow
from ingest.corpus.types import Block, Chunk, Document, DocumentInfo, Principal, StoredChunk

OPENING = 600  # characters of a document in which it says what it is and when it is in force
ROWS_AT_ONCE = 1000  # of a stream: about 3 MB with their vectors
DOCUMENTS_AT_ONCE = 500  # whose access is asked in one go
Position = tuple[str, str]  # when a document came and its id: unique, and it stays what it is
BETWEEN_PARTS = "~"
POSITION = re.compile(rf"[0-9T:.-]{{1,31}}Z{BETWEEN_PARTS}[a-z0-9_]{{1,32}}")

# --- for indexes -------------------------------------------------------------------------------


def indexed_chunks(
    session: Session, tenant_id: str, collection_id: str, document_ids: Iterable[str] | None = None
) -> Iterator[IndexedChunk]:
    """Chunks that can be found now, with their vectors, by id: all of the collection, or of some documents.

    Streamed: use it up before the session's block ends.
    """
    statement = (
        _of_current_versions(
            select(
                ChunkRow.id,
                ChunkRow.document_id,
                VersionRow.title,
                ChunkRow.context,
                ChunkRow.text,
                ChunkRow.vector,
            ),
            ChunkRow.tenant_id == tenant_id,
        )
        .where(ChunkRow.collection_id == collection_id)
        .order_by(ChunkRow.id)
        .execution_options(yield_per=ROWS_AT_ONCE)
    )
    if document_ids is None:
        yield from map(_indexed_chunk, session.execute(statement))
        return
    for some in in_batches(document_ids):
        yield from map(_indexed_chunk, session.execute(statement.where(ChunkRow.document_id.in_(some))))


def _indexed_chunk(row: Any) -> IndexedChunk:
    text = f"{row.context}\n{row.text}" if row.context else row.text
    vector = np.frombuffer(row.vector, dtype=STORED_VECTOR).astype(np.float32, copy=False)
    return IndexedChunk(row.id, row.document_id, row.title, text, vector)


def _of_current_versions(
    statement: Select[*tuple[Any, ...]], tenant: ColumnElement[bool]
) -> Select[*tuple[Any, ...]]:
    """Chunks with their document and version, only where all three belong together, are current and alive."""
    return (
        statement.select_from(ChunkRow)
        .join(
            DocumentRow,
            and_(
                DocumentRow.id == ChunkRow.document_id,
                DocumentRow.tenant_id == ChunkRow.tenant_id,
                DocumentRow.collection_id == ChunkRow.collection_id,
                DocumentRow.current_version == ChunkRow.version,
                DocumentRow.deleted_at.is_(None),
            ),
        )
        .join(
            VersionRow,
            and_(
                VersionRow.document_id == ChunkRow.document_id,
                VersionRow.version == ChunkRow.version,
                VersionRow.state == "ready",
            ),
        )
        .where(tenant)
    )


# --- reading for somebody ----------------------------------------------------------------------


def look_up(session: Session, principal: Principal, chunk_ids: Iterable[int]) -> dict[int, StoredChunk]:
    """The one read before a passage leaves: chunks as the database has them now.

    Only chunks of the principal's tenant, of current versions of living documents, that the access lists of
    this moment let him read. Anything else is just absent.
    """
    given: dict[int, StoredChunk] = {}
    for some in in_batches(chunk_ids):
        rows = session.execute(_stored_chunks(principal.tenant_id).where(ChunkRow.id.in_(some))).all()
        readable = readable_documents(
            session, principal, ((row.collection_id, row.document_id) for row in rows)
        )
        given |= {row.id: _stored_chunk(row) for row in rows if row.document_id in readable}
    return given


def get_document(session: Session, principal: Principal, document_id: str) -> DocumentInfo:
    """:raises NotFound: if it is missing, deleted, or `principal` may not read it."""
    row = session.execute(_documents(principal.tenant_id).where(DocumentRow.id == document_id)).one_or_none()
    if row is None or not readable_documents(session, principal, [(row.collection_id, document_id)]):
        raise missing_document(document_id)
    return _document_info(row)


def list_documents(session: Session, principal: Principal, collection_id: str) -> tuple[DocumentInfo, ...]:
    """The documents of the collection that `principal` may read, in the order of their coming.

    :raises NotFound: if the collection is missing or `principal` may not read it.
    """
    get_collection(session, principal, collection_id)
    positions = _readable(session, principal, collection_id)
    return _document_infos(session, principal.tenant_id, [document_id for _, document_id in positions])


def page_of_documents(
    session: Session, principal: Principal, collection_id: str, most: int, after: str = ""
) -> tuple[tuple[DocumentInfo, ...], str | None]:
    """A part of `list_documents`, and what to give as `after` for the one behind it; None at the end.

    Only the page is read: `after` finds its position at once, whatever comes or goes meanwhile.

    :raises InvalidInput: if `after` is none that was given out.
    :raises NotFound: as `list_documents`.
    """
    get_collection(session, principal, collection_id)
    found = list(islice(_readable(session, principal, collection_id, _parse_position(after)), most + 1))
    page = found[:most]
    infos = _document_infos(session, principal.tenant_id, [document_id for _, document_id in page])
    return infos, BETWEEN_PARTS.join(page[-1]) if len(found) > most else None


def count_documents(session: Session, principal: Principal, collection_id: str) -> int:
    """How many `list_documents` would give, without reading them.

    :raises NotFound: as `list_documents`.
    """
    get_collection(session, principal, collection_id)
    collection_list, lists = access_lists(session, principal.tenant_id, collection_id)
    closed = [one for one, own_list in lists.items() if not may_read(principal, collection_list, own_list)]
    living = select(func.count()).where(*_living(principal.tenant_id, collection_id))
    hidden = (session.scalar(living.where(DocumentRow.id.in_(some))) or 0 for some in in_batches(closed))
    return (session.scalar(living) or 0) - sum(hidden)


def original(session: Session, principal: Principal, document_id: str) -> Original:
    """The file behind what `get_document` shows.

    :raises NotFound: as `get_document`.
    """
    info = get_document(session, principal, document_id)
    content = session.scalars(_version(document_id, info.version, VersionRow.original)).one()
    return Original(content, info.media_type, info.source_name)


def version_text(session: Session, principal: Principal, document_id: str, version: int) -> Document:
    """The canonical text that citations point into.

    :raises NotFound: as `get_document`, and for any version but the current one.
    """
    info = get_document(session, principal, document_id)
    if info.version != version or info.state != "ready":
        raise missing_document(document_id)
    row = session.execute(_version(document_id, version, VersionRow.text, VersionRow.blocks)).one()
    blocks = tuple(Block(*values) for values in json.loads(row.blocks))
    return Document(row.text, info.title, info.language, info.media_type, blocks, info.pages, info.warnings)


def readable_versions(
    session: Session, principal: Principal, versions: Iterable[tuple[str, int]]
) -> set[tuple[str, int]]:
    """Of (document id, version): those that are current, not deleted, and readable by `principal` now."""
    wanted = set(versions)
    found: list[Any] = []
    for some in in_batches(document_id for document_id, _ in wanted):
        found += session.execute(
            select(DocumentRow.id, DocumentRow.collection_id, DocumentRow.current_version).where(
                DocumentRow.tenant_id == principal.tenant_id,
                DocumentRow.id.in_(some),
                DocumentRow.deleted_at.is_(None),
            )
        ).all()
    readable = readable_documents(session, principal, ((row.collection_id, row.id) for row in found))
    return wanted & {(row.id, row.current_version) for row in found if row.id in readable}


def _stored_chunks(tenant_id: str) -> Select[*tuple[Any, ...]]:
    first = aliased(ChunkRow)
    opening = (
        select(func.substr(first.text, 1, OPENING))
        .where(
            first.document_id == ChunkRow.document_id,
            first.version == ChunkRow.version,
            first.ordinal == 0,
        )
        .correlate(ChunkRow)
        .scalar_subquery()
    )
    return _of_current_versions(
        select(
            func.coalesce(opening, "").label("opening"),
            ChunkRow.id,
            ChunkRow.tenant_id,
            ChunkRow.collection_id,
            ChunkRow.document_id,
            ChunkRow.version,
            VersionRow.title,
            DocumentRow.source_name,
            VersionRow.language,
            ChunkRow.ordinal,
            ChunkRow.text,
            ChunkRow.start,
            ChunkRow.end,
            ChunkRow.page,
            ChunkRow.section,
            ChunkRow.context,
        ),
        by_key_first(ChunkRow.tenant_id) == tenant_id,
    )


def _stored_chunk(row: Any) -> StoredChunk:
    """In the order of the columns of `_stored_chunks`: opening, the rest of StoredChunk, then Chunk's."""
    opening, chunk_id, tenant_id, collection_id, document_id, version, title, name, language, *chunk = row
    return StoredChunk(
        chunk_id,
        tenant_id,
        collection_id,
        document_id,
        version,
        title,
        name,
        language,
        Chunk(*chunk),
        opening,
    )


def _documents(tenant_id: str) -> Select[*tuple[Any, ...]]:
    """Living documents, each with its current version or, while there is none, with its newest."""
    shown = func.coalesce(DocumentRow.current_version, DocumentRow.latest_version)
    chunks = (
        select(func.count())
        .where(ChunkRow.document_id == DocumentRow.id, ChunkRow.version == VersionRow.version)
        .correlate(DocumentRow, VersionRow)
        .scalar_subquery()
    )
    return (
        select(
            DocumentRow.id,
            DocumentRow.tenant_id,
            DocumentRow.collection_id,
            DocumentRow.source_name,
            VersionRow.version,
            VersionRow.state,
            VersionRow.title,
            VersionRow.language,
            VersionRow.media_type,
            VersionRow.sha256,
            VersionRow.size_bytes,
            VersionRow.pages,
            chunks.label("chunks"),
            VersionRow.warnings,
            VersionRow.failure_code,
            VersionRow.failure_reason,
            DocumentRow.created_at,
            DocumentRow.updated_at,
        )
        .join(VersionRow, and_(VersionRow.document_id == DocumentRow.id, VersionRow.version == shown))
        .where(DocumentRow.tenant_id == tenant_id, DocumentRow.deleted_at.is_(None))
    )


def _living(tenant_id: str, collection_id: str) -> tuple[ColumnElement[bool], ...]:
    return (
        DocumentRow.tenant_id == tenant_id,
        DocumentRow.collection_id == collection_id,
        DocumentRow.deleted_at.is_(None),
    )


def _readable(
    session: Session, principal: Principal, collection_id: str, after: Position = ("", "")
) -> Iterator[Position]:
    """Of the documents that `principal` may read, in the order of their coming; read when they are wanted."""
    order = (DocumentRow.created_at, DocumentRow.id)
    statement = select(*order).where(*_living(principal.tenant_id, collection_id)).order_by(*order)
    while True:
        rows = session.execute(statement.where(tuple_(*order) > after).limit(DOCUMENTS_AT_ONCE)).all()
        readable = readable_documents(session, principal, ((collection_id, row.id) for row in rows))
        yield from ((row.created_at, row.id) for row in rows if row.id in readable)
        if len(rows) < DOCUMENTS_AT_ONCE:
            return
        after = (rows[-1].created_at, rows[-1].id)


def _parse_position(text: str) -> Position:
    if text and not POSITION.fullmatch(text):
        raise InvalidInput(
            f"after is {text[:60]!r}.",
            why="It is not the `next` of a page of documents.",
            next_step="Send the `next` of the page before, or nothing for the first page.",
            field="after",
        )
    created_at, _, document_id = text.partition(BETWEEN_PARTS)
    return created_at, document_id


def _document_infos(
    session: Session, tenant_id: str, document_ids: Sequence[str]
) -> tuple[DocumentInfo, ...]:
    """In the order of the ids; without those that are gone."""
    found: dict[str, DocumentInfo] = {}
    for some in in_batches(document_ids):
        rows = session.execute(_documents(tenant_id).where(DocumentRow.id.in_(some)))
        found |= {row.id: _document_info(row) for row in rows}
    return tuple(found[one] for one in document_ids if one in found)


def _document_info(row: Any) -> DocumentInfo:
    values = row._asdict()
    return DocumentInfo(**values | {"warnings": tuple(json.loads(row.warnings))})


def _version(document_id: str, version: int, *columns: Any) -> Select[*tuple[Any, ...]]:
    return select(*columns).where(VersionRow.document_id == document_id, VersionRow.version == version)
