"""One worker for all uploads: a long document does not hold up a short one."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from ingest import jobs
from ingest.corpus.arrays import FloatMatrix
from ingest.corpus.database import Database
from ingest.corpus.lookup import list_documents
from ingest.corpus.settings import CorpusSettings
from ingest.pipeline import EMBEDDED_AT_ONCE, Workbench, submit_document, work_off_next
from service.app import IngestionWorker
from tests.fakes import HashEmbedder
from tests.ingest.storing import ADMIN, furnish

CHUNK_TOKENS = 16


class Watched(HashEmbedder):
    """Notes of which document each batch is."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[str] = []

    def embed_passages(self, texts: Sequence[str]) -> FloatMatrix:
        self.batches.append(texts[0].split()[0])
        return super().embed_passages(texts)


def submit(database: Database, name: str, chunks: int) -> None:
    text = "\n\n".join(
        [name, *(f"{name} {number} " + "word " * (CHUNK_TOKENS - 3) for number in range(chunks))]
    )
    submit_document(database, "acme", "docs", f"{name}.txt", text.encode(), max_bytes=10**6)


def work_off_all(database: Database, embedder: Watched) -> None:
    bench = Workbench(database, embedder, CorpusSettings(chunk_tokens=CHUNK_TOKENS))
    until = time.monotonic() + 120
    with IngestionWorker(bench).running():
        while time.monotonic() < until:
            with database.reading() as session:
                states = {job.state for job in jobs.list_jobs(session, "acme")}
            if states <= {"done", "failed"}:
                return
            time.sleep(0.05)
    pytest.fail("the jobs did not end")


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_between_the_batches_of_a_long_document_another_is_done(database: Database) -> None:
    furnish(database)
    embedder = Watched()
    submit(database, "long", 2 * EMBEDDED_AT_ONCE + 1)
    for name in ("first", "second", "third"):
        submit(database, name, 1)
    work_off_all(database, embedder)
    assert embedder.batches == ["long", "first", "long", "second", "long", "third"]
    with database.reading() as session:
        documents = list_documents(session, ADMIN, "docs")
    assert [(one.source_name, one.state) for one in documents] == [
        (f"{name}.txt", "ready") for name in ("long", "first", "second", "third")
    ]


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_worker_that_stops_puts_a_long_document_back(database: Database) -> None:
    """It does not wait for its end, and the attempt counts for none."""
    furnish(database)
    submit(database, "long", 3 * EMBEDDED_AT_ONCE)
    bench = Workbench(database, Watched(), CorpusSettings(chunk_tokens=CHUNK_TOKENS))
    worker = IngestionWorker(bench)
    worker.stopping.set()
    work_off_next(bench, worker.let_one_pass)
    with database.reading() as session:
        (job,) = jobs.list_jobs(session, "acme")
    assert (job.state, job.attempts) == ("queued", 0)
    work_off_all(database, Watched())
    with database.reading() as session:
        (document,) = list_documents(session, ADMIN, "docs")
    assert document.state == "ready"
