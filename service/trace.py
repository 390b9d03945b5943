"""What became of each passage that a search found, told from the record of an answer to who may see it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ingest.corpus.types import StoredChunk


@dataclass(frozen=True, slots=True)
class RetrievedChunk:
    """As both searches had it; ranks count from 1, None: not found by that search."""

    chunk_id: int
    score: float  # fused; higher is better
    words_rank: int | None = None
    meaning_rank: int | None = None


@dataclass(frozen=True, slots=True)
class TracedCandidate:
    """One passage on its way to the evidence. `start` and `end` are of that version's text, end excluded."""

    chunk_id: int
    document_id: str
    version: int
    start: int
    end: int
    score: float
    fused_rank: int
    words_rank: int | None
    meaning_rank: int | None
    reranked_rank: int | None  # None: not given to the asker, or not among those looked up
    marker: str | None  # C1 … if it is evidence
    left_out: str | None  # why it is not, a code of packing; "below_depth": not looked up


def trace_candidates(
    retrieved: Sequence[RetrievedChunk],
    denied: Sequence[int],
    ranked: Sequence[int],
    used: Sequence[int],
    left_out: Mapping[str, str],
    known: Mapping[int, StoredChunk],
) -> Iterator[TracedCandidate]:
    """In the fused order; of those that are not in `known` nothing is told.

    :param denied: chunk ids, as `ranked`, in the reranked order, and `used`, in that of the evidence.
    :param known: what the viewer may read now.
    """
    places = {chunk_id: rank for rank, chunk_id in enumerate(ranked, start=1)}
    markers = {chunk_id: f"C{number}" for number, chunk_id in enumerate(used, start=1)}
    looked_up = {*denied, *ranked}
    for rank, one in enumerate(retrieved, start=1):
        stored = known.get(one.chunk_id)
        if stored is None:
            continue
        too_deep = None if one.chunk_id in looked_up else "below_depth"
        yield TracedCandidate(
            chunk_id=one.chunk_id,
            document_id=stored.document_id,
            version=stored.version,
            start=stored.chunk.start,
            end=stored.chunk.end,
            score=one.score,
            fused_rank=rank,
            words_rank=one.words_rank,
            meaning_rank=one.meaning_rank,
            reranked_rank=places.get(one.chunk_id),
            marker=markers.get(one.chunk_id),
            left_out=left_out.get(str(one.chunk_id)) or too_deep,
        )
