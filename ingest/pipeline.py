"""The whole way of a document, from bytes at the door to a passage that can be found.

    submit_document     bytes -> a queued version and a job, one transaction
    work_off            a job -> its document ready, or failed with a reason
    ingest_document     read -> split -> embed -> keep

Until `keep_version` commits, readers see the version before; afterwards they see the new one.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from traceback import format_tb

import numpy as np

from ingest import jobs
from ingest.corpus import store
from ingest.corpus.database import Database
from ingest.corpus.embedder import embedding_text
from ingest.corpus.errors import CitewardError, InvalidInput, TooLarge, Unavailable, Unreadable
from ingest.corpus.seams import Embedder
from ingest.corpus.settings import CorpusSettings
from ingest.corpus.types import AccessList, Chunk, Document, DocumentState
from ingest.read.child import read_file
from ingest.read.parse import ReadLimits, ReadOptions
from ingest.split import split

Reached = Callable[[str], None]  # told the name of each step as it is reached


def unwatched(_step: str) -> None:
    """For callers that do not care how far it is."""


LOG = logging.getLogger(__name__)
LEASE_SECONDS = 120.0  # renewed at each step and each batch; a dead worker's job is free again after it
BETWEEN_BATCHES = "embedding on"  # a long document's step where a worker may let another job pass
STATE_AT: dict[str, DocumentState] = {
    "reading": "reading",
    "embedding": "embedding",
    BETWEEN_BATCHES: "embedding",
}
EMBEDDED_AT_ONCE = 16  # chunks: some seconds on two cores, which is what a worker takes to stop
TITLE_TOKENS = 64  # of the embedder's tokens, what a title may take of a chunk's room
MARGIN_TOKENS = 16  # prefix, special tokens and joins


class JobLost(Exception):
    """The lease ran out and another worker has the job: stop, quietly."""


class WorkerStops(Exception):
    """Raised by what watches the steps: the job goes back to the queue as if it had not been begun."""


@dataclass(frozen=True, slots=True)
class Workbench:
    """What ingestion works with."""

    database: Database
    embedder: Embedder
    settings: CorpusSettings

    def __post_init__(self) -> None:
        require_fitting_chunks(self.settings.chunk_tokens, self.embedder)


@dataclass(frozen=True, slots=True)
class Submitted:
    document_id: str
    version: int
    job_id: str | None  # None: the same bytes are there already and nothing is to be done


def submit_document(
    database: Database,
    tenant_id: str,
    collection_id: str,
    source_name: str,
    data: bytes,
    *,
    max_bytes: int,
    access: AccessList | None = None,
) -> Submitted:
    """Take the bytes in and promise the work; what the bytes already tell is refused here.

    :raises InvalidInput: for no bytes or an unusable name.
    :raises TooLarge: naming the limit.
    :raises NotFound: if the tenant has no such collection.
    """
    _refuse_at_the_door(source_name, data, max_bytes)
    digest = hashlib.sha256(data).hexdigest()
    with database.writing() as session:
        added = store.add_version(session, tenant_id, collection_id, source_name, data, digest, access)
        if added.unchanged:
            return Submitted(added.document_id, added.version, None)
        job_id = jobs.enqueue(session, tenant_id, collection_id, added.document_id, added.version)
    return Submitted(added.document_id, added.version, job_id)


def ingest_document(
    bench: Workbench, pending: store.PendingVersion, reached: Reached = unwatched
) -> Document:
    """One version from its original bytes to searchable chunks, kept in one transaction.

    :raises Unreadable: if the file gives no trustworthy text; nothing is kept.
    :raises FingerprintMismatch: if the collection holds vectors of another embedder.
    """
    reached("reading")
    document = read_file(
        pending.original, pending.source_name, limits_of(bench.settings), options_of(bench.settings)
    )

    reached("splitting")
    chunks, texts = split_to_embed(document, bench.embedder, bench.settings.chunk_tokens)
    if not chunks:
        raise Unreadable("empty", f"{pending.source_name} holds no text.", next_step="Check the file.")

    batches = []
    for start in range(0, len(texts), EMBEDDED_AT_ONCE):
        reached(BETWEEN_BATCHES if start else "embedding")
        batches.append(bench.embedder.embed_passages(texts[start : start + EMBEDDED_AT_ONCE]))
    vectors = np.concatenate(batches)

    reached("keeping")
    with bench.database.writing() as session:
        store.keep_version(
            session,
            pending.document_id,
            pending.version,
            document,
            chunks,
            vectors,
            bench.embedder.fingerprint,
        )
        reached("kept, not committed")
    reached("ready")
    return document


def work_off(bench: Workbench, job: jobs.Job, reached: Reached = unwatched) -> None:
    """Do one claimed job to its end. A failure fails its version; the version before stays what it was."""

    def on_step(step: str) -> None:
        if step in STATE_AT:
            with bench.database.writing() as session:
                if not jobs.renew(session, job, time.time() + LEASE_SECONDS):
                    raise JobLost
                store.set_state(session, job.document_id, job.version, STATE_AT[step])
        reached(step)

    try:
        with bench.database.reading() as session:
            pending = store.pending_version(session, job.document_id, job.version)
        if pending is not None:  # None: ready, deleted or replaced while it waited
            ingest_document(bench, pending, on_step)
        with bench.database.writing() as session:
            jobs.finish(session, job)
    except WorkerStops:
        with bench.database.writing() as session:
            jobs.put_back(session, job)
    except JobLost:
        LOG.warning("job lost to another worker", extra={"job_id": job.id})
    except CitewardError as error:
        _fail(bench, job, error.code, str(error), may_pass=isinstance(error, Unavailable))
    except Exception as error:  # the edge of a worker: one file's surprise must not stop the others
        # Where it happened, but not what the exception says: that may quote the document.
        LOG.error(
            "job %s failed: %s\n%s", job.id, type(error).__name__, "".join(format_tb(error.__traceback__))
        )
        _fail(bench, job, "internal_error", f"Unexpected {type(error).__name__}; see the log.", may_pass=True)


def _fail(bench: Workbench, job: jobs.Job, code: str, reason: str, *, may_pass: bool) -> None:
    with bench.database.writing() as session:
        jobs.fail(session, job, code, reason, may_pass=may_pass)


def work_off_next(bench: Workbench, reached: Reached = unwatched) -> bool:
    """Claim the oldest free job and do it; False if there is none."""
    with bench.database.writing() as session:
        job = jobs.claim(session, time.time(), LEASE_SECONDS)
    if job is not None:
        work_off(bench, job, reached)
    return job is not None


def limits_of(settings: CorpusSettings) -> ReadLimits:
    """What reading one file may cost."""
    return ReadLimits(
        seconds=settings.read_timeout_seconds,
        memory_bytes=settings.read_memory_mib * 2**20,
        pages=settings.max_pages,
        file_bytes=settings.max_upload_bytes,
    )


def options_of(settings: CorpusSettings) -> ReadOptions:
    """What may be tried on a file beyond plain reading."""
    passwords = tuple(filter(None, (one.strip() for one in settings.pdf_passwords.split(","))))
    return ReadOptions(settings.ocr_languages, passwords)


def require_fitting_chunks(chunk_tokens: int, embedder: Embedder) -> None:
    """:raises InvalidInput: if the embedder never takes a chunk of so many tokens, whatever its title."""
    most = embedder.max_tokens - MARGIN_TOKENS
    if chunk_tokens > most:
        raise InvalidInput(
            f"CITEWARD_CHUNK_TOKENS is {chunk_tokens}.",
            why=f"The embedder {embedder.fingerprint.name} takes {embedder.max_tokens} tokens, and up to "
            f"{MARGIN_TOKENS} of them are not the chunk's own.",
            next_step=f"Set it to {most} or less, or choose an embedder with a longer input.",
            field="chunk_tokens",
        )


def split_to_embed(
    document: Document, embedder: Embedder, chunk_tokens: int
) -> tuple[tuple[Chunk, ...], tuple[str, ...]]:
    """Chunks of at most `chunk_tokens`, and what is embedded for each; all fit the embedder."""
    title = embedded_title(document.title, embedder)
    taken = embedder.tokenizer.count(title) + MARGIN_TOKENS
    chunks = split(document, embedder.tokenizer, min(chunk_tokens, embedder.max_tokens - taken))
    return chunks, tuple(embedding_text(title, chunk.context, chunk.text) for chunk in chunks)


def embedded_title(title: str, embedder: Embedder) -> str:
    """The title as it is embedded with each chunk: cut to the room that a title may take."""
    spans = embedder.tokenizer.spans(title)
    return title if len(spans) <= TITLE_TOKENS else title[: spans[TITLE_TOKENS - 1][1]]


def _refuse_at_the_door(source_name: str, data: bytes, max_bytes: int) -> None:
    if not data:
        raise InvalidInput(f"{source_name!r} is empty.", next_step="Send the file's bytes.", field="file")
    if len(data) > max_bytes:
        raise TooLarge(
            f"{source_name!r} has {len(data):,} bytes.",
            why=f"The limit is {max_bytes:,}.",
            next_step="Split the file or raise CITEWARD_MAX_UPLOAD_BYTES.",
        )
