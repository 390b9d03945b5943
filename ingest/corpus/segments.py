"""The pieces that an index is made of: chunks with words and vectors that came in together.

As in Lucene, a segment never changes: rows die by a new mask beside the old data, and merging makes a new
segment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ingest.corpus.arrays import IndexedChunk, RowMask
from ingest.corpus.keywords import (
    LivePostings,
    Numbers,
    Vocabulary,
    make_live,
    merge_postings,
    post_words,
    words,
)
from ingest.corpus.script import script_of
from ingest.corpus.vectors import FlatVectors

SEGMENT_ROWS = 32_768  # most rows of one: bounds what a merge costs, and lets cores share a search
MOST_DEAD = 0.2  # share of a segment's rows; beyond it the dead are cleared out


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Rows that came in together. From one moment to the next only `words.alive` differs."""

    chunk_ids: NDArray[np.int64]  # (R,)
    documents: tuple[str, ...]  # distinct ids
    document_of: Numbers  # (R,) place in `documents`
    scripts: Numbers  # (R,) see `script_of`
    vectors: FlatVectors  # R rows
    words: LivePostings  # R rows

    @property
    def alive(self) -> RowMask:
        return self.words.alive

    @property
    def rows(self) -> int:
        return len(self.chunk_ids)


def make_segments(vocabulary: Vocabulary, chunks: Iterable[IndexedChunk]) -> Iterator[Segment]:
    """Segments of a stream of chunks; only one segment's chunks are held at a time."""
    stream = iter(chunks)
    while some := list(islice(stream, SEGMENT_ROWS)):
        yield _make_segment(vocabulary, some)


def _make_segment(vocabulary: Vocabulary, chunks: Sequence[IndexedChunk]) -> Segment:
    documents = {one: place for place, one in enumerate(dict.fromkeys(chunk.document_id for chunk in chunks))}
    postings = post_words(vocabulary, (words(f"{chunk.title}\n{chunk.text}") for chunk in chunks))
    return Segment(
        np.array([chunk.chunk_id for chunk in chunks], dtype=np.int64),
        tuple(documents),
        np.array([documents[chunk.document_id] for chunk in chunks], dtype=np.int32),
        np.array([script_of(chunk.text) for chunk in chunks], dtype=np.int32),
        FlatVectors(np.stack([chunk.vector for chunk in chunks])),
        make_live(postings, np.ones(len(chunks), dtype=bool)),
    )


def without(segments: Iterable[Segment], documents: frozenset[str]) -> Iterator[Segment]:
    """The segments with all rows of these documents dead."""
    for segment in segments:
        dead = np.array([one in documents for one in segment.documents], dtype=bool)[segment.document_of]
        if (dead & segment.alive).any():
            live = make_live(segment.words.postings, segment.alive & ~dead)
            yield replace(segment, words=live)
        else:
            yield segment


def settle(segments: Iterable[Segment]) -> list[Segment]:
    """Few segments at little cost: as a binary counter carries, the last goes into the one before it.

    It is merged when it has at least half of that one's rows, so every row is copied about log2(rows) times.
    """
    settled: list[Segment] = []
    for segment in segments:
        living = int(np.count_nonzero(segment.alive))
        if living == 0:
            continue
        settled.append(_merge([segment]) if living < (1 - MOST_DEAD) * segment.rows else segment)
        while len(settled) > 1 and _should_merge(*settled[-2:]):
            settled[-2:] = [_merge(settled[-2:])]
    return settled


def _should_merge(older: Segment, newer: Segment) -> bool:
    return newer.rows * 2 >= older.rows and newer.rows + older.rows <= SEGMENT_ROWS


def _merge(segments: Sequence[Segment]) -> Segment:
    """One for many, without the dead."""
    documents: dict[str, int] = {}
    document_of: list[Numbers] = []
    for one in segments:
        used, places = np.unique(one.document_of[one.alive], return_inverse=True)
        numbers = [documents.setdefault(one.documents[place], len(documents)) for place in used]
        document_of.append(np.array(numbers, dtype=np.int32)[places])
    postings = merge_postings([(one.words.postings, one.alive) for one in segments])
    chunk_ids = np.concatenate([one.chunk_ids[one.alive] for one in segments])
    return Segment(
        chunk_ids,
        tuple(documents),
        np.concatenate(document_of),
        np.concatenate([one.scripts[one.alive] for one in segments]),
        FlatVectors(np.concatenate([one.vectors.vectors[one.alive] for one in segments])),
        make_live(postings, np.ones(len(chunk_ids), dtype=bool)),
    )


def first_rows(segments: Sequence[Segment]) -> list[int]:
    """The first row of each segment."""
    return [0, *np.cumsum([segment.rows for segment in segments]).tolist()][: len(segments)]
