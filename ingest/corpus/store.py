"""Documents, their versions and chunks: taken in, kept, replaced, deleted, opened to readers.

Everything here writes for a tenant and asks nobody's permission: who may write is decided before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import delete, insert, select, update
from sqlalchemy.orm import Session

from ingest.corpus.access import document_lists, replace_access, require_subjects
from ingest.corpus.arrays import FloatMatrix
from ingest.corpus.changes import ChangeKind, fingerprint_of, lock_collection, log_change
from ingest.corpus.clock import now_utc
from ingest.corpus.errors import FingerprintMismatch, InvalidInput, NotFound
from ingest.corpus.ids import new_id
from ingest.corpus.tables import ChunkRow, CollectionRow, DocumentRow, VersionRow
from ingest.corpus.types import AccessList, Block, Chunk, Document, DocumentState, EmbedderFingerprint

LONGEST_NAME = 500  # characters
UNUSABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")  # in a name: controls, and bytes that were no UTF-8
LONGEST_TITLE = 500  # characters; a title is a label, so a longer one is cut
STORED_VECTOR = np.dtype("<f4")
UNFINISHED: tuple[DocumentState, ...] = ("queued", "reading", "embedding")


@dataclass(frozen=True, slots=True)
class AddedVersion:
    document_id: str
    version: int
    unchanged: bool  # the same bytes are what readers see already; nothing was added


@dataclass(frozen=True, slots=True)
class PendingVersion:
    """A version that is still to be read."""

    document_id: str
    version: int
    source_name: str
    original: bytes


@dataclass(frozen=True, slots=True)
class Original:
    """The file as it came in."""

    content: bytes
    media_type: str  # "" until it has been read
    source_name: str


# --- taking in ---------------------------------------------------------------------------------


def add_version(
    session: Session,
    tenant_id: str,
    collection_id: str,
    source_name: str,
    original: bytes,
    sha256: str,
    access: AccessList | None = None,
) -> AddedVersion:
    """Queue a file as a new document, or as the next version of the living document of that name.

    `access`, if given, becomes the document's own list at once, also for the version that readers see now.

    :raises InvalidInput: for an unusable name, or an access entry that names nobody of this tenant.
    :raises NotFound: if the tenant has no such collection.
    """
    _require_name(source_name)
    if access is not None:
        require_subjects(session, tenant_id, access)
    lock_collection(session, tenant_id, collection_id)
    document_id = _living_document(session, tenant_id, collection_id, source_name)
    if access is not None:
        replace_access(session, tenant_id, collection_id, document_id, access)
        log_change(session, tenant_id, collection_id, "document", document_id)
    if (same := _same_as_shown(session, document_id, sha256)) is not None:
        return AddedVersion(document_id, same, unchanged=True)
    return AddedVersion(
        document_id, _next_version(session, tenant_id, document_id, original, sha256), unchanged=False
    )


def set_state(session: Session, document_id: str, version: int, state: DocumentState) -> None:
    """Say how far an unfinished version has come; a finished one stays as it is."""
    session.execute(_unfinished(document_id, version).values(state=state))


def fail_version(session: Session, document_id: str, version: int, code: str, reason: str) -> None:
    """Give an unfinished version up. The version that readers see stays what it was."""
    session.execute(
        _unfinished(document_id, version).values(state="failed", failure_code=code, failure_reason=reason)
    )


def pending_version(session: Session, document_id: str, version: int) -> PendingVersion | None:
    """The version with its bytes; None if it is finished, or deleted or replaced meanwhile."""
    row = session.execute(
        select(DocumentRow.source_name, VersionRow.original)
        .join(VersionRow, VersionRow.document_id == DocumentRow.id)
        .where(
            DocumentRow.id == document_id,
            DocumentRow.deleted_at.is_(None),
            VersionRow.version == version,
            VersionRow.state.in_(UNFINISHED),
        )
    ).one_or_none()
    return None if row is None else PendingVersion(document_id, version, row.source_name, row.original)


def _living_document(session: Session, tenant_id: str, collection_id: str, source_name: str) -> str:
    found = session.scalar(
        select(DocumentRow.id).where(
            DocumentRow.tenant_id == tenant_id,
            DocumentRow.collection_id == collection_id,
            DocumentRow.source_name == source_name,
            DocumentRow.deleted_at.is_(None),
        )
    )
    if found is not None:
        return found
    document_id, now = new_id("doc"), now_utc()
    session.execute(
        insert(DocumentRow).values(
            id=document_id,
            tenant_id=tenant_id,
            collection_id=collection_id,
            source_name=source_name,
            created_at=now,
            updated_at=now,
        )
    )
    return document_id


def _same_as_shown(session: Session, document_id: str, sha256: str) -> int | None:
    """The current version, if it holds the same bytes and no newer one is on its way to take its place."""
    newest = session.execute(
        select(VersionRow.version, VersionRow.state, VersionRow.sha256)
        .where(VersionRow.document_id == document_id, VersionRow.state != "failed")
        .order_by(VersionRow.version.desc())
        .limit(1)
    ).one_or_none()
    is_same = newest is not None and newest.state == "ready" and newest.sha256 == sha256
    return newest.version if newest is not None and is_same else None


def _next_version(session: Session, tenant_id: str, document_id: str, original: bytes, sha256: str) -> int:
    now = now_utc()
    version: int | None = session.scalar(
        update(DocumentRow)
        .where(DocumentRow.id == document_id)
        .values(latest_version=DocumentRow.latest_version + 1, updated_at=now)
        .returning(DocumentRow.latest_version)
    )
    assert version is not None  # the row was read or made in this transaction
    session.execute(
        insert(VersionRow).values(
            document_id=document_id,
            version=version,
            tenant_id=tenant_id,
            state="queued",
            sha256=sha256,
            size_bytes=len(original),
            original=original,
            created_at=now,
        )
    )
    return version


def _unfinished(document_id: str, version: int) -> Any:
    return update(VersionRow).where(
        VersionRow.document_id == document_id, VersionRow.version == version, VersionRow.state.in_(UNFINISHED)
    )


def _require_name(source_name: str) -> None:
    too_long = len(source_name) > LONGEST_NAME
    if not source_name.strip() or too_long or UNUSABLE.search(source_name):
        raise InvalidInput(
            f"The file name {source_name[:60]!r} cannot be used.",
            why=f"It must be text of 1 to {LONGEST_NAME} characters without control characters.",
            next_step="Rename the file.",
            field="source_name",
        )


# --- keeping and removing ----------------------------------------------------------------------


def keep_version(
    session: Session,
    document_id: str,
    version: int,
    document: Document,
    chunks: Sequence[Chunk],
    vectors: FloatMatrix,
    fingerprint: EmbedderFingerprint,
) -> bool:
    """Make a version what readers see, in the place of the one before; True if it is that now.

    False: the document was deleted, or a newer version was ready first, and nothing is kept.

    :param vectors: shape (len(chunks), D), float32, in the order of `chunks`.
    :raises InvalidInput: if document, chunks and vectors do not belong together.
    :raises FingerprintMismatch: if the collection holds vectors of another embedder.
    """
    _require_whole(document, chunks, vectors, fingerprint)
    place = _place(session, document_id)
    if place is None:
        return False
    lock_collection(session, *place)
    state = _state(session, document_id, version)
    if state not in UNFINISHED:
        return state == "ready"  # kept already: a second try changes nothing
    _remove_older(session, document_id, version)
    kind = _claim_collection(session, *place, fingerprint)
    _make_current(session, document_id, version, document)
    _insert_chunks(session, place, document_id, version, chunks, vectors)
    log_change(session, *place, kind, document_id if kind == "document" else "")
    return True


def delete_document(session: Session, tenant_id: str, document_id: str) -> None:
    """Remove all versions with their originals, texts, chunks and access; only the bare fact stays.

    :raises NotFound: if the tenant has no such document.
    """
    collection_id = _hold(session, tenant_id, document_id)
    session.execute(delete(VersionRow).where(VersionRow.document_id == document_id))  # takes the chunks along
    session.execute(
        update(DocumentRow)
        .where(DocumentRow.id == document_id)
        .values(deleted_at=now_utc(), current_version=None)
    )
    replace_access(session, tenant_id, collection_id, document_id, None)
    log_change(session, tenant_id, collection_id, "document", document_id)


def set_document_access(
    session: Session, tenant_id: str, document_id: str, access: AccessList | None
) -> None:
    """Give a document a list of its own, which can only narrow its collection's; None takes it away again.

    :raises InvalidInput: for an entry that names nobody of this tenant.
    :raises NotFound: if the tenant has no such document.
    """
    if access is not None:
        require_subjects(session, tenant_id, access)
    collection_id = _hold(session, tenant_id, document_id)
    replace_access(session, tenant_id, collection_id, document_id, access)
    log_change(session, tenant_id, collection_id, "document", document_id)


def get_document_access(session: Session, tenant_id: str, document_id: str) -> AccessList | None:
    """The document's own list; None if it is as open as its collection.

    :raises NotFound: if the tenant has no such document.
    """
    if _living_place(session, tenant_id, document_id) is None:
        raise missing_document(document_id)
    return document_lists(session, tenant_id, [document_id]).get(document_id)


def missing_document(document_id: str) -> NotFound:
    """The one text for what is missing and for what is forbidden."""
    return NotFound(f"There is no document {document_id!r}.", next_step="Check the id.")


def _hold(session: Session, tenant_id: str, document_id: str) -> str:
    """Lock the collection of a living document; its id."""
    collection_id = _living_place(session, tenant_id, document_id)
    if collection_id is None:
        raise missing_document(document_id)
    lock_collection(session, tenant_id, collection_id)
    if _living_place(session, tenant_id, document_id) is None:  # deleted while we waited
        raise missing_document(document_id)
    return collection_id


def _living_place(session: Session, tenant_id: str, document_id: str) -> str | None:
    return session.scalar(
        select(DocumentRow.collection_id).where(
            DocumentRow.id == document_id,
            DocumentRow.tenant_id == tenant_id,
            DocumentRow.deleted_at.is_(None),
        )
    )


def _place(session: Session, document_id: str) -> tuple[str, str] | None:
    row = session.execute(
        select(DocumentRow.tenant_id, DocumentRow.collection_id).where(DocumentRow.id == document_id)
    ).one_or_none()
    return None if row is None else (row.tenant_id, row.collection_id)


def _state(session: Session, document_id: str, version: int) -> str | None:
    return session.scalar(
        select(VersionRow.state).where(VersionRow.document_id == document_id, VersionRow.version == version)
    )


def _remove_older(session: Session, document_id: str, version: int) -> None:
    """Nobody may see a replaced version, so only the fact of it stays; one on its way is given up."""
    session.execute(delete(ChunkRow).where(ChunkRow.document_id == document_id))
    older = (VersionRow.document_id == document_id, VersionRow.version < version)
    session.execute(update(VersionRow).where(*older, VersionRow.state != "failed").values(state="deleted"))
    session.execute(update(VersionRow).where(*older).values(text=None, blocks=None, original=b""))


def _claim_collection(
    session: Session, tenant_id: str, collection_id: str, fingerprint: EmbedderFingerprint
) -> ChangeKind:
    """Note what the collection's vectors are made with; what the new document is to its index."""
    mine = (CollectionRow.tenant_id == tenant_id, CollectionRow.id == collection_id)
    recorded = fingerprint_of(
        *session.execute(
            select(CollectionRow.embedder, CollectionRow.dimension, CollectionRow.embedder_digest).where(
                *mine
            )
        ).one()
    )
    if recorded == fingerprint:
        return "document"
    if recorded is not None and _has_chunks(session, tenant_id, collection_id):
        raise FingerprintMismatch(
            f"{collection_id!r} holds vectors of {_named(recorded)}; these are of {_named(fingerprint)}.",
            why="Vectors of two embedders cannot be compared.",
            next_step=f"Set CITEWARD_EMBEDDER={recorded.name}, or ingest everything into a new collection.",
        )
    session.execute(
        update(CollectionRow)
        .where(*mine)
        .values(
            embedder=fingerprint.name,
            dimension=fingerprint.dimension,
            embedder_digest=fingerprint.digest,
        )
    )
    return "document" if recorded is None else "collection"


def _named(fingerprint: EmbedderFingerprint) -> str:
    return f"{fingerprint.name} ({fingerprint.dimension} numbers, {fingerprint.digest[:16]})"


def _has_chunks(session: Session, tenant_id: str, collection_id: str) -> bool:
    one = select(ChunkRow.id).where(ChunkRow.tenant_id == tenant_id, ChunkRow.collection_id == collection_id)
    return session.scalar(one.limit(1)) is not None


def _make_current(session: Session, document_id: str, version: int, document: Document) -> None:
    session.execute(
        update(VersionRow)
        .where(VersionRow.document_id == document_id, VersionRow.version == version)
        .values(
            state="ready",
            title=document.title[:LONGEST_TITLE],
            language=document.language,
            media_type=document.media_type,
            pages=document.pages,
            warnings=json.dumps(document.warnings, ensure_ascii=False),
            blocks=_dump_blocks(document.blocks),
            text=document.text,
        )
    )
    session.execute(
        update(DocumentRow)
        .where(DocumentRow.id == document_id)
        .values(current_version=version, updated_at=now_utc())
    )


def _insert_chunks(
    session: Session,
    place: tuple[str, str],
    document_id: str,
    version: int,
    chunks: Sequence[Chunk],
    vectors: FloatMatrix,
) -> None:
    tenant_id, collection_id = place
    stored = vectors.astype(STORED_VECTOR, copy=False)
    session.execute(
        insert(ChunkRow),
        [
            {
                "tenant_id": tenant_id,
                "collection_id": collection_id,
                "document_id": document_id,
                "version": version,
                "ordinal": chunk.ordinal,
                "start": chunk.start,
                "end": chunk.end,
                "page": chunk.page,
                "section": chunk.section,
                "context": chunk.context,
                "text": chunk.text,
                "vector": vector.tobytes(),
            }
            for chunk, vector in zip(chunks, stored, strict=True)
        ],
    )


def _dump_blocks(blocks: Iterable[Block]) -> str:
    rows = [[block.kind, block.start, block.end, block.page, block.section] for block in blocks]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))


def _require_whole(
    document: Document, chunks: Sequence[Chunk], vectors: FloatMatrix, fingerprint: EmbedderFingerprint
) -> None:
    """The last look at what the stages before have made: a citation must be able to rely on it."""
    shape = (len(chunks), fingerprint.dimension)
    if not chunks:
        raise InvalidInput("The document has no chunks.", why="Nobody could find it.", field="chunks")
    if vectors.shape != shape or not np.isfinite(vectors).all():
        raise InvalidInput(
            f"The vectors of shape {vectors.shape} are not {shape} finite numbers.", field="vectors"
        )
    for chunk in chunks:
        if document.text[chunk.start : chunk.end] != chunk.text or not chunk.text:
            raise InvalidInput(
                f"Chunk {chunk.ordinal} is not what stands at {chunk.start} to {chunk.end}.", field="chunks"
            )
