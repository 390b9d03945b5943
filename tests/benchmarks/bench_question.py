"""Own work per question by stage, without embedding and generating.

Run by `python -m tests.benchmarks.bench_question`. Synthetic collections in a real SQLite file: words by
Zipf's law, unit vectors of 384 numbers in clusters. A question is eight words of one chunk and a vector near
it. Readers may read 1, 10 and 100 % of the documents.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from time import perf_counter
from typing import TypeVar

import numpy as np

from ingest.corpus import store
from ingest.corpus.arrays import FloatMatrix, FloatVector
from ingest.corpus.collections import create_collection, set_collection_access
from ingest.corpus.database import Database, Session, open_database
from ingest.corpus.index import CollectionIndex
from ingest.corpus.lookup import look_up
from ingest.corpus.people import create_group, create_tenant
from ingest.corpus.script import OTHER, SCRIPTS
from ingest.corpus.snapshot import Corpus
from ingest.corpus.types import AccessList, Block, Chunk, Document, EmbedderFingerprint, Principal
from service.migrate import migrate
from service.nearness import Background, Probe
from service.pack import pack
from service.retrieve import search_indexes
from service.types import RankedChunk
from tests.fakes import WordTokenizer

SIZES = (10_000, 100_000)  # chunks
SHARES = (1, 10, 100)  # per cent of the documents that the reader may read
CHUNKS_A_DOCUMENT = 50
WORDS_A_CHUNK = 100
KNOWN_WORDS = 50_000
DIMENSION = 384
CLUSTERS = 500
QUESTIONS = 100
DEPTH = 50  # hits of each search
BUDGET_TOKENS = 4000
FINGERPRINT = EmbedderFingerprint("synthetic", DIMENSION, "synthetic")
STAGES = ("fresh", "retrieve", "· permit", "· words", "· meaning", "look up", "pack", "in all")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asked:
    text: str
    probe: Probe


def main(sizes: tuple[int, ...] = SIZES) -> None:
    print(f"{'chunks':>8} {'may read':>9}  {'p50 / p95 ms':>12}  " + "".join(f"{one:>15}" for one in STAGES))
    for chunks in sizes:
        with tempfile.TemporaryDirectory() as folder:
            bench(chunks, Path(folder))


def bench(chunks: int, folder: Path) -> None:
    database = open_database(f"sqlite:///{folder / 'bench.sqlite3'}")
    migrate(database)
    questions = fill(database, chunks)
    corpus = Corpus(database, FINGERPRINT, folder / "snapshots")
    seconds, index = timed(lambda: open_index(corpus, database))
    corpus.save_all()
    loading, _ = timed(lambda: open_index(Corpus(database, FINGERPRINT, folder / "snapshots"), database))
    for share in SHARES:
        reader = Principal("bench", "reader", frozenset({f"may-read-{share}"}))
        times = [ask(database, corpus, index, reader, question) for question in questions]
        cells = [np.percentile([each[stage] for each in times], [50, 95]) * 1000 for stage in STAGES]
        print(
            f"{chunks:>8} {share:>7} %  {'':>12}  "
            + "".join(f"{p50:>7.2f} /{p95:>6.2f}" for p50, p95 in cells)
        )
    print(f"{chunks:>8} index: from the database in {seconds:.1f} s, from its snapshot in {loading:.1f} s")
    database.close()


def ask(
    database: Database, corpus: Corpus, index: CollectionIndex, reader: Principal, question: Asked
) -> dict[str, float]:
    """Seconds by stage. What is marked with a dot is part of `retrieve`, run once more to be timed alone."""
    times: dict[str, float] = {}
    with database.reading() as session:
        times["fresh"], indexes = timed(lambda: corpus.fresh(session, "bench", ["docs"]))
    times["retrieve"], fused = timed(
        lambda: search_indexes(indexes, reader, question.text, question.probe, DEPTH)
    )
    times["look up"], ranked = timed(lambda: read(database, reader, fused.candidates))
    times["pack"], _ = timed(lambda: pack(ranked, BUDGET_TOKENS, WordTokenizer().count, max_evidence=8))
    times["in all"] = sum(times.values())
    times["· permit"], permitted = timed(lambda: index.permitted_rows(reader))
    times["· words"], _ = timed(lambda: index.search_words(question.text, DEPTH, permitted))
    times["· meaning"], _ = timed(
        lambda: index.search_meaning(
            question.probe.vector, DEPTH, permitted, question.probe.common, question.probe.scale
        )
    )
    return times


def read(database: Database, reader: Principal, candidates: tuple) -> tuple[RankedChunk, ...]:
    with database.reading() as session:
        stored = look_up(session, reader, [one.chunk_id for one in candidates])
    return tuple(
        RankedChunk(stored[one.chunk_id], one, one.score) for one in candidates if one.chunk_id in stored
    )


def open_index(corpus: Corpus, database: Database) -> CollectionIndex:
    with database.reading() as session:
        (index,) = corpus.fresh(session, "bench", ["docs"])
    return index


def timed(work: Callable[[], T]) -> tuple[float, T]:
    start = perf_counter()
    result = work()
    return perf_counter() - start, result


# --- synthetic collections ---------------------------------------------------------------------


def fill(database: Database, chunks: int) -> list[Asked]:
    """Store the collection; returns questions about some of its chunks."""
    chance = np.random.default_rng(1)
    centres = chance.normal(size=(CLUSTERS, DIMENSION))
    questions: list[Asked] = []
    documents = chunks // CHUNKS_A_DOCUMENT
    asked_about = set(chance.choice(documents, QUESTIONS).tolist())
    with database.writing() as session:
        create_tenant(session, "bench")
        create_collection(session, "bench", "docs", "Synthetic")
        for share in SHARES:
            create_group(session, "bench", f"may-read-{share}")
        set_collection_access(session, "bench", "docs", readers(SHARES))
        for number in range(documents):
            texts = [synthetic_text(chance) for _ in range(CHUNKS_A_DOCUMENT)]
            vectors = unit(centres[chance.integers(CLUSTERS)] + chance.normal(size=(len(texts), DIMENSION)))
            keep(session, number, texts, vectors)
            if number in asked_about:
                questions.append(question_about(chance, texts[0], vectors[0]))
    return questions


def keep(session: Session, number: int, texts: list[str], vectors: FloatMatrix) -> None:
    """One document. Each hundredth is open to all three groups, each tenth to two, the others to one."""
    text = "\n".join(texts)
    ends = list(accumulate(len(one) + 1 for one in texts))
    places = list(pairwise([0, *ends]))
    chunks = [
        Chunk(place, text[start : end - 1], start, end - 1) for place, (start, end) in enumerate(places)
    ]
    added = store.add_version(
        session,
        "bench",
        "docs",
        f"{number}.txt",
        b"",
        hashlib.sha256(text.encode()).hexdigest(),
        readers([share for share in SHARES if number % (100 // share) == 0]),
    )
    document = Document(text, f"Document {number}", "en", "text/plain", (Block("paragraph", 0, len(text)),))
    store.keep_version(session, added.document_id, added.version, document, chunks, vectors, FINGERPRINT)


def readers(shares: tuple[int, ...] | list[int]) -> AccessList:
    return AccessList(frozenset(f"group:may-read-{share}" for share in shares))


def synthetic_text(chance: np.random.Generator) -> str:
    ranks = chance.zipf(1.1, size=WORDS_A_CHUNK) % KNOWN_WORDS
    return " ".join(f"w{rank}" for rank in ranks.tolist())


def question_about(chance: np.random.Generator, text: str, vector: FloatVector) -> Asked:
    words = chance.choice(text.split(), 8, replace=False)
    near = unit(vector + chance.normal(size=(1, DIMENSION)) * 0.02)[0]
    background = Background(
        np.full((SCRIPTS, DIMENSION), 0.01, dtype=np.float32), np.ones((SCRIPTS, SCRIPTS))
    )
    return Asked(" ".join(words.tolist()), background.probe(near, OTHER))


def unit(vectors: FloatMatrix) -> FloatMatrix:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


if __name__ == "__main__":
    main(tuple(int(one) for one in sys.argv[1:]) or SIZES)
