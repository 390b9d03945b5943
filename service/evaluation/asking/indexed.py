"""The documents of a set in a collection of their own, as ingesting would put them there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ingest.corpus import collections, lookup, store
from ingest.corpus.database import Session
from ingest.corpus.types import Chunk, Document
from ingest.pipeline import split_to_embed
from ingest.read.text import read_text
from service.evaluation.asking.cached import CachedEmbedder
from service.evaluation.asking.scratch import TENANT
from service.evaluation.sets.beir import SetDocument
from service.parts import Parts
from service.watch import Watch


@dataclass(frozen=True, slots=True)
class Indexed:
    """Documents of a slice in a collection of their own."""

    collection_id: str
    document_of: Mapping[int, str]  # chunk id -> the set's id of its document


def index_documents(
    label: str, documents: Sequence[SetDocument], parts: Parts, cached: CachedEmbedder, watch: Watch
) -> Indexed:
    collection_id = hashlib.sha256(label.encode()).hexdigest()[:16]
    read = {one.id: as_document(one) for one in documents}
    chunk_tokens = parts.settings.corpus.chunk_tokens
    cut = {name: split_to_embed(document, cached, chunk_tokens) for name, document in read.items()}
    texts = [text for _, of_one in cut.values() for text in of_one]
    cached.remember_passages(texts, counter(watch, f"{label}: passages embedded", len(texts)))
    with parts.database.writing() as session:
        collections.create_collection(session, TENANT, collection_id, label)
        kept = {_keep(session, collection_id, one, read[one], *cut[one], cached): one for one in read}
    with parts.database.reading() as session:
        chunks = lookup.indexed_chunks(session, TENANT, collection_id)
        return Indexed(collection_id, {chunk.chunk_id: kept[chunk.document_id] for chunk in chunks})


def as_document(one: SetDocument) -> Document:
    """As reading a text file of the document gives it, under the title that the set says.

    :raises Unreadable: if it holds no text.
    """
    return replace(read_text(one.text.encode(), one.id), title=one.title)


def _keep(
    session: Session,
    collection_id: str,
    name: str,
    document: Document,
    chunks: Sequence[Chunk],
    texts: Sequence[str],
    cached: CachedEmbedder,
) -> str:
    """The stored document's id."""
    original = document.text.encode()
    added = store.add_version(
        session, TENANT, collection_id, name, original, hashlib.sha256(original).hexdigest()
    )
    vectors = cached.embed_passages(texts)
    store.keep_version(
        session, added.document_id, added.version, document, chunks, vectors, cached.fingerprint
    )
    return added.document_id


def counter(watch: Watch, doing: str, of: int) -> Callable[[int], None]:
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        watch(doing, done, of)

    return advance
