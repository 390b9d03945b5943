"""Two rankings to one: how far words count is decided by the question, and said.

A question by an identifier, or in the words of the text, wants words; one in another language wants
meaning. What tells them apart is coverage: the share of the question's rarity that the best passage by words
holds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ingest.corpus.arrays import Scores
from ingest.corpus.errors import InvalidInput
from ingest.corpus.types import Hit
from service.types import Candidate, Fused, QuerySignals

# Weight of words where one passage holds the whole question. Fitted on one half of each retrieval set by mean
# reciprocal rank with 50 hits a search; .5 does as well on the other half.
FULL_COVERAGE_WEIGHT = 0.6
ROUNDING = 1e-9  # scores that differ by less, against their size, do not differ


def fuse(words: Sequence[Hit], meaning: Sequence[Hit], signals: QuerySignals) -> Fused:
    """One order over every chunk that either search found; ties by chunk id.

    :param words: BM25 of those candidates that hold a word of the question, in any order.
    :param meaning: nearness of all candidates, in any order: any row can be scored, so none is missing.
    :raises InvalidInput: a coverage outside 0..1, a score that is not finite, a words hit without meaning.

    Both kinds of score are standardised over the candidates (mean 0, deviation 1), so that a hit counts by
    how far it stands out. A chunk without a word of the question counts as BM25 0, and never above one that
    has a word.
    """
    said = {hit.chunk_id: hit.score for hit in words}
    _check(said, meaning, signals)
    weight = FULL_COVERAGE_WEIGHT * min(signals.coverage, 1.0) if said else 0.0
    unmatched = min(0.0, *said.values()) if said else 0.0
    by_words = standardised([said.get(hit.chunk_id, unmatched) for hit in meaning])
    by_meaning = standardised([hit.score for hit in meaning])
    scores = weight * by_words + (1 - weight) * by_meaning
    words_ranks, meaning_ranks = _ranks(words), _ranks(meaning)
    candidates = [
        Candidate(
            chunk_id=hit.chunk_id,
            score=float(score),
            meaning=hit.score,
            words=said.get(hit.chunk_id),
            words_rank=words_ranks.get(hit.chunk_id),
            meaning_rank=meaning_ranks[hit.chunk_id],
        )
        for hit, score in zip(meaning, scores, strict=True)
    ]
    candidates.sort(key=lambda candidate: (-candidate.score, candidate.chunk_id))
    return Fused(tuple(candidates), weight, _reason(weight, signals, found=bool(said)))


def _check(said: dict[int, float], meaning: Sequence[Hit], signals: QuerySignals) -> None:
    if not 0 <= signals.coverage <= 1 + ROUNDING:  # a sum of shares may end a hair above 1
        raise InvalidInput(f"coverage is {signals.coverage}, not within 0 and 1.", field="coverage")
    if not np.isfinite([*said.values(), *(hit.score for hit in meaning)]).all():
        raise InvalidInput("A score to fuse is not finite.", field="score")
    lacking = said.keys() - {hit.chunk_id for hit in meaning}
    if lacking:
        raise InvalidInput(
            f"Chunks {sorted(lacking)} have a score by words and none by meaning.", field="meaning"
        )


def standardised(scores: Sequence[float]) -> Scores:
    """Mean 0 and deviation 1; all 0 where the scores do not differ."""
    values = np.array(scores, dtype=np.float64)
    deviation = values.std() if len(values) else 0.0
    if deviation <= ROUNDING * np.abs(values).max(initial=0):
        return np.zeros(len(values))
    return np.asarray((values - values.mean()) / deviation)


def _ranks(hits: Sequence[Hit]) -> dict[int, int]:
    """From 1, best first, ties by chunk id."""
    ordered = sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))
    return {hit.chunk_id: rank for rank, hit in enumerate(ordered, start=1)}


def _reason(weight: float, signals: QuerySignals, *, found: bool) -> str:
    if not found:
        return "Meaning alone: no passage holds a word of the question."
    share = f"the best passage by words holds {signals.coverage:.0%} of what is rare in the question"
    return f"Words count {weight:.2f}, meaning {1 - weight:.2f}: {share}."
