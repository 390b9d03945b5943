"""kill -9 at each step of an ingest: the document is there wholly or not at all, and work goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy import func, select, text

from ingest import jobs
from ingest.corpus.collections import create_collection, set_collection_access
from ingest.corpus.database import Database
from ingest.corpus.lookup import indexed_chunks, list_documents
from ingest.corpus.people import create_tenant, create_user
from ingest.corpus.settings import CorpusSettings
from ingest.corpus.tables import ChunkRow
from ingest.corpus.types import AccessList, Principal
from ingest.pipeline import Workbench, submit_document, work_off
from tests.fakes import HashEmbedder

ROOT = Path(__file__).parents[2]
BEFORE = ("claimed", "reading", "splitting", "embedding", "keeping", "kept, not committed")
AFTER = ("ready", "finished")
ADMIN = Principal("acme", "ada", role="admin")

# Works off one job and dies without a word at the step named: no cleanup, no flush.
DIE_AT = """
import os, signal, sys, time
from ingest import jobs
from ingest.corpus.database import open_database
from ingest.corpus.settings import CorpusSettings
from ingest.pipeline import LEASE_SECONDS, Workbench, work_off
from tests.fakes import HashEmbedder

def reached(step):
    if step == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)

database = open_database(sys.argv[1])
with database.writing() as session:
    job = jobs.claim(session, time.time(), LEASE_SECONDS)
reached("claimed")
work_off(Workbench(database, HashEmbedder(), CorpusSettings()), job, reached)
reached("finished")
"""


@pytest.fixture
def submitted(database: Database) -> Database:
    """A collection whose one document is at version 1, with version 2 waiting."""
    with database.writing() as session:
        create_tenant(session, "acme")
        create_user(session, "acme", "ada", "admin")
        create_collection(session, "acme", "rules", "Rules")
        set_collection_access(session, "acme", "rules", AccessList(frozenset({"everyone"})))
    submit(database, "The limit is 10 days.")
    finish_what_is_left(database)
    submit(database, "The limit is 20 days.")
    return database


def submit(database: Database, line: str) -> None:
    data = "\n\n".join(f"{line} Paragraph {number}. {'word ' * 90}" for number in range(12)).encode()
    submit_document(database, "acme", "rules", "limits.txt", data, max_bytes=10**6)


def finish_what_is_left(database: Database) -> None:
    bench = Workbench(database, HashEmbedder(), CorpusSettings())
    after_every_lease = time.time() + 10**6
    while True:
        with database.writing() as session:
            job = jobs.claim(session, after_every_lease, 60)
        if job is None:
            return
        work_off(bench, job)


def passages(database: Database) -> list[str]:
    with database.reading() as session:
        return [chunk.text for chunk in indexed_chunks(session, "acme", "rules")]


@pytest.mark.parametrize("step", BEFORE + AFTER)
def test_a_document_is_whole_and_one_version_wherever_ingestion_dies(
    submitted: Database, database_url: str, step: str
) -> None:
    before = passages(submitted)
    assert len(before) > 1

    command = [sys.executable, "-c", DIE_AT, database_url, step]
    died = subprocess.run(command, cwd=ROOT, check=False, timeout=120, capture_output=True)
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()

    assert_sound(submitted)
    after = passages(submitted)
    expected = "20" if step in AFTER else "10"
    assert len(after) == len(before)
    assert all(f"limit is {expected} days" in one or "limit" not in one for one in after)

    finish_what_is_left(submitted)
    assert_sound(submitted)
    assert any("limit is 20 days" in one for one in passages(submitted))
    assert not any("limit is 10 days" in one for one in passages(submitted))
    with submitted.reading() as session:
        (document,) = list_documents(session, ADMIN, "rules")
    assert (document.state, document.version, document.chunks) == ("ready", 2, len(before))


def assert_sound(database: Database) -> None:
    with database.reading() as session:
        if database.is_sqlite:
            assert session.scalar(text("PRAGMA integrity_check")) == "ok"
        stored = session.scalar(select(func.count()).select_from(ChunkRow))
        findable = sum(1 for _ in indexed_chunks(session, "acme", "rules"))
    assert stored == findable  # no orphan, nothing half-visible
