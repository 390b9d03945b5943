"""Snapshots are whole or refused, and whatever is wrong with one, the index is made anew."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ingest.corpus.arrays import IndexedChunk
from ingest.corpus.collections import delete_collection
from ingest.corpus.database import Database
from ingest.corpus.errors import FingerprintMismatch, NotFound, SnapshotDamaged
from ingest.corpus.index import CollectionIndex, assemble
from ingest.corpus.segments import make_segments, without
from ingest.corpus.snapshot import DAMAGED, MANIFEST, Corpus, load, save
from ingest.corpus.types import EmbedderFingerprint
from tests.fakes import HashEmbedder
from tests.ingest.indexing import PLACE, afresh, assert_alike, found, fresh, new_corpus
from tests.ingest.storing import ADMIN, EMBEDDER, allow, furnish, put


def small_index() -> CollectionIndex:
    """Two segments with dead rows and a document's own list; made without a database."""
    texts = [f"travel {number}\n年假 {number} budget" for number in range(24)]
    chunks = [
        IndexedChunk(number, f"doc_{number // 3}", "Title", text, EMBEDDER.embed_query(text))
        for number, text in enumerate(texts)
    ]
    vocabulary: dict[str, int] = {}
    segments = [*make_segments(vocabulary, chunks[:16]), *make_segments(vocabulary, chunks[16:])]
    living = list(without(segments, frozenset({"doc_1"})))
    lists = {"doc_2": allow("group:hr")}
    return assemble(*PLACE, 7, EMBEDDER.fingerprint, vocabulary, living, allow("everyone"), lists)


@pytest.fixture
def saved(tmp_path: Path) -> tuple[CollectionIndex, Path]:
    """An index and the folder where it was saved."""
    index = small_index()
    save(index, tmp_path / "saved")
    return index, tmp_path / "saved"


def data_file(folder: Path) -> Path:
    (path,) = folder.glob("*.npz")
    return path


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 0x01
    path.write_bytes(content)


def test_a_snapshot_is_what_was_saved(saved: tuple[CollectionIndex, Path]) -> None:
    index, folder = saved
    assert_alike(load(folder, PLACE, EMBEDDER.fingerprint), index)
    assert not list(folder.glob("new-*"))


def change_number(folder: Path) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["facts"]["number"] += 1
    (folder / MANIFEST).write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: flip(data_file(folder), 5000),
        lambda folder: flip(data_file(folder), -1),
        lambda folder: flip(folder / MANIFEST, 3),
        lambda folder: flip(folder / MANIFEST, -10),
        change_number,
        lambda folder: data_file(folder).write_bytes(data_file(folder).read_bytes()[:-100]),
        lambda folder: data_file(folder).write_bytes(b""),
        lambda folder: (folder / MANIFEST).write_bytes(b""),
        lambda folder: (folder / MANIFEST).write_bytes(b"[]"),
        lambda folder: data_file(folder).unlink(),
    ],
)
def test_a_damaged_snapshot_is_refused(
    saved: tuple[CollectionIndex, Path], damage: Callable[[Path], object]
) -> None:
    damage(saved[1])
    with pytest.raises(SnapshotDamaged):
        load(saved[1], PLACE, EMBEDDER.fingerprint)


@pytest.mark.parametrize("place", [("other", "docs"), ("acme", "more")])
def test_a_snapshot_of_another_place_is_refused(
    saved: tuple[CollectionIndex, Path], place: tuple[str, str]
) -> None:
    with pytest.raises(SnapshotDamaged, match="acme"):
        load(saved[1], place, EMBEDDER.fingerprint)


@pytest.mark.parametrize(
    "other",
    [EmbedderFingerprint("hash-8", 8, "other weights"), EmbedderFingerprint("hash-16", 16, "hash-16-v1")],
)
def test_a_snapshot_of_another_embedder_is_refused(
    saved: tuple[CollectionIndex, Path], other: EmbedderFingerprint
) -> None:
    with pytest.raises(FingerprintMismatch):
        load(saved[1], PLACE, other)


# --- a process that starts ---------------------------------------------------------------------


@pytest.fixture
def furnished(database: Database) -> Database:
    furnish(database)
    return database


@pytest.fixture
def corpus(furnished: Database, tmp_path: Path) -> Corpus:
    return new_corpus(furnished, tmp_path)


@pytest.mark.usefixtures("furnished")
def test_a_start_reads_the_snapshot_and_what_came_after(database: Database, tmp_path: Path) -> None:
    put(database, "a.md", "travel")
    before = new_corpus(database, tmp_path)
    fresh(before, database)
    before.save_all()
    put(database, "b.md", "travel budget")
    assert_alike(fresh(new_corpus(database, tmp_path), database), afresh(database))


@pytest.mark.usefixtures("furnished")
def test_a_start_sets_a_damaged_snapshot_aside(database: Database, tmp_path: Path) -> None:
    put(database, "a.md", "travel")
    before = new_corpus(database, tmp_path)
    fresh(before, database)
    before.save_all()
    folder = tmp_path / "snapshots" / "acme" / "docs"
    flip(data_file(folder), 200)
    after = new_corpus(database, tmp_path)
    assert_alike(fresh(after, database), afresh(database))
    assert (tmp_path / "snapshots" / DAMAGED / "acme" / "docs" / MANIFEST).exists()
    after.save_all()
    load(folder, PLACE, EMBEDDER.fingerprint)


@pytest.mark.usefixtures("furnished")
def test_a_snapshot_from_the_future_of_a_restored_database_is_not_used(
    database: Database, tmp_path: Path
) -> None:
    put(database, "a.md", "travel")
    before = new_corpus(database, tmp_path)
    index = fresh(before, database)
    save(replace(index, number=10**6), tmp_path / "snapshots" / "acme" / "docs")
    assert fresh(new_corpus(database, tmp_path), database).number == index.number


def test_a_lost_folder_is_written_again(database: Database, tmp_path: Path, corpus: Corpus) -> None:
    put(database, "a.md", "travel")
    expected = found(fresh(corpus, database), "travel", ADMIN)
    corpus.save_all()
    shutil.rmtree(tmp_path / "snapshots")
    with database.reading() as session:
        assert found(corpus.rebuild(session, *PLACE), "travel", ADMIN) == expected
    load(tmp_path / "snapshots" / "acme" / "docs", PLACE, EMBEDDER.fingerprint)


def test_nothing_stays_of_a_collection_that_is_gone(
    database: Database, tmp_path: Path, corpus: Corpus
) -> None:
    put(database, "a.md", "secret")
    fresh(corpus, database)
    corpus.save_all()
    with database.writing() as session:
        delete_collection(session, *PLACE)
    corpus.save_all()
    assert not (tmp_path / "snapshots" / "acme" / "docs").exists()


@pytest.mark.usefixtures("furnished")
def test_vectors_of_another_embedder_are_refused_with_the_next_step(
    database: Database, tmp_path: Path
) -> None:
    put(database, "a.md", "travel")
    with pytest.raises(FingerprintMismatch, match="CITEWARD_EMBEDDER=hash-8"):
        fresh(new_corpus(database, tmp_path, HashEmbedder(16)), database)


def test_a_collection_that_does_not_exist_cannot_be_rebuilt(database: Database, corpus: Corpus) -> None:
    with database.reading() as session, pytest.raises(NotFound):
        corpus.rebuild(session, "acme", "missing")
