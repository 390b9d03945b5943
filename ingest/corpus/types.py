"""The words that every stage shares: documents, chunks, principals, access lists, hits.

Offsets everywhere are code points in the canonical text of one document version, start included, end
excluded, so that `text[start:end]` is the passage itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

BlockKind = Literal["heading", "paragraph", "list", "table", "code"]
DocumentState = Literal["queued", "reading", "embedding", "ready", "failed", "deleted"]
# An evaluator reads as a reader, and sees how answers from the collections that he may read were made.
Role = Literal["admin", "evaluator", "reader"]
ROLES: tuple[str, ...] = get_args(Role)


# --- documents ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of the canonical text that belongs together."""

    kind: BlockKind
    start: int
    end: int
    page: int | None = None  # counted from 1; None where the format has no pages
    section: str = ""  # heading path from the outermost, joined by " > "
    header: tuple[int, int] | None = None  # of a table that goes on from the page before: its header's span


@dataclass(frozen=True, slots=True)
class Document:
    """What a reader made of one file: one canonical text and its blocks in order, not overlapping."""

    text: str
    title: str
    language: str  # BCP 47: "en", "zh", "zh-Hant", "und"
    media_type: str
    blocks: tuple[Block, ...]
    pages: int | None = None
    warnings: tuple[str, ...] = ()
    left_out: int = 0  # visible characters of the file that are not in `text`: hidden, repeated, deleted


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage that is embedded and found as one. `document.text[start:end] == text`."""

    ordinal: int  # 0, 1, 2 … within the document version
    text: str
    start: int
    end: int
    page: int | None = None
    section: str = ""
    context: str = ""  # what the passage needs to be understood but does not hold: a table's header row


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as the database has it now, with what a citation needs."""

    id: int
    tenant_id: str
    collection_id: str
    document_id: str
    version: int
    title: str
    source_name: str
    language: str
    chunk: Chunk
    opening: str = ""  # how the document begins, 600 characters at most: where it says when it is in force


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A document as lists and API show it; never its text."""

    id: str
    tenant_id: str
    collection_id: str
    source_name: str
    version: int
    state: DocumentState
    title: str
    language: str
    media_type: str
    sha256: str
    size_bytes: int
    pages: int | None
    chunks: int
    warnings: tuple[str, ...]
    failure_code: str | None
    failure_reason: str | None
    created_at: str  # RFC 3339, UTC
    updated_at: str


# --- who may read ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks, made from the credential alone."""

    tenant_id: str
    user_id: str
    group_ids: frozenset[str] = frozenset()
    role: Role = "reader"


@dataclass(frozen=True, slots=True)
class AccessList:
    """Who may read a thing. Entries are "everyone", "user:<id>" or "group:<id>", always within the tenant.

    Nothing allowed means nobody but admins; a denied entry wins over every allowed one.
    """

    allow: frozenset[str] = frozenset()
    deny: frozenset[str] = frozenset()


# --- finding -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that a search returned."""

    chunk_id: int
    score: float  # higher is better; comparable only within one search


@dataclass(frozen=True, slots=True)
class EmbedderFingerprint:
    """Two vectors may be compared only if these are equal."""

    name: str
    dimension: int
    digest: str  # of weights, tokenizer, prefixes, pooling and normalisation
