"""What the tests of indexes share: indexes of a database, and what they find."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.corpus.database import Database
from ingest.corpus.index import CollectionIndex, read_afresh
from ingest.corpus.snapshot import Corpus
from ingest.corpus.types import Principal
from tests.fakes import HashEmbedder
from tests.ingest.storing import ADMIN, ANA, BEN, EMBEDDER, STRANGER

PLACE = ("acme", "docs")
QUESTIONS = ("travel leave", "budget", "年假", "nothing known")


def new_corpus(database: Database, tmp_path: Path, embedder: HashEmbedder = EMBEDDER) -> Corpus:
    """What a process has that starts now."""
    return Corpus(database, embedder.fingerprint, tmp_path / "snapshots")


def fresh(corpus: Corpus, database: Database, collection_id: str = "docs") -> CollectionIndex:
    with database.reading() as session:
        (index,) = corpus.fresh(session, "acme", [collection_id])
    return index


def afresh(database: Database) -> CollectionIndex:
    with database.reading() as session:
        return read_afresh(session, *PLACE)


def found(
    index: CollectionIndex, question: str, principal: Principal, k: int = 100
) -> list[dict[int, float]]:
    """What both searches return, chunk id to score."""
    permitted = index.permitted_rows(principal)
    by_words = index.search_words(question, k, permitted)
    by_meaning = index.search_meaning(EMBEDDER.embed_query(question), k, permitted)
    return [{hit.chunk_id: hit.score for hit in hits} for hits in (by_words, by_meaning)]


def assert_alike(one: CollectionIndex, other: CollectionIndex) -> None:
    """Same number, same chunks, and for everybody and every question the same hits with the same scores."""
    assert one.number == other.number
    for principal in (ADMIN, ANA, BEN, STRANGER):
        for question in QUESTIONS:
            for left, right in zip(
                found(one, question, principal), found(other, question, principal), strict=True
            ):
                assert left == pytest.approx(right, rel=0, abs=1e-9)
    for question in QUESTIONS:
        for left, right in zip(scored(one, question), scored(other, question), strict=True):
            assert left == pytest.approx(right, rel=0, abs=1e-9, nan_ok=True)


def scored(index: CollectionIndex, question: str) -> list[list[float]]:
    """Scores of all living chunks, in the order of their ids, whether a search returned them or not."""
    chunk_ids = sorted(index.chunk_ids[index.alive].tolist())
    by_meaning = index.score_meaning(EMBEDDER.embed_query(question), chunk_ids)
    return [one.tolist() for one in (index.score_words(question, chunk_ids), by_meaning)]


def words_found(index: CollectionIndex, question: str, principal: Principal = ADMIN) -> set[int]:
    return set(found(index, question, principal)[0])
