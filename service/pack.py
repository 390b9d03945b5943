"""Ranked chunks to the evidence C1 … Cn that fits a token budget, with a reason for every chunk left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isfinite

from ingest.corpus.errors import InvalidInput
from ingest.corpus.types import StoredChunk
from service.types import Evidence, PackDecision, Packed, RankedChunk


def pack(
    candidates: Sequence[RankedChunk],
    budget_tokens: int,
    count_tokens: Callable[[StoredChunk], int],
    max_evidence: int,
    superseded: frozenset[str] = frozenset(),
) -> Packed:
    """Take candidates by score, ties by chunk id; one that does not fit is skipped and the next tried.

    Markers follow the order of taking. Decisions follow the order of `candidates`; their reasons are:
    `taken`; `duplicate` (this very chunk is taken); `same_text` (a taken chunk says the same, in whatever
    document); `superseded` (another edition was in force); `over_limit` (max_evidence reached);
    `over_budget`.

    :param count_tokens: the target model's count of a passage as it will read it.
    :param superseded: ids of documents that are no evidence for this question.
    :raises InvalidInput: negative budget, limit below 1, score not finite, passage without tokens.
    """
    _require_limits(budget_tokens, max_evidence)
    evidence: list[Evidence] = []
    decided: dict[int, PackDecision] = {}
    tokens_left = budget_tokens
    for place in sorted(range(len(candidates)), key=lambda place: _order(candidates[place])):
        ranked = candidates[place]
        tokens = _count(ranked.stored, count_tokens)
        reason = _why_left_out(ranked, evidence, max_evidence, superseded)
        if reason is None and tokens > tokens_left:
            reason = "over_budget"
        if reason is None:
            evidence.append(Evidence(f"C{len(evidence) + 1}", ranked, tokens))
            tokens_left -= tokens
        decided[place] = PackDecision(ranked.stored.id, reason is None, reason or "taken", tokens)
    decisions = tuple(decided[place] for place in range(len(candidates)))
    return Packed(tuple(evidence), decisions, budget_tokens - tokens_left)


def first_of(packed: Packed, passages: int | None) -> Packed:
    """The same with so many of its evidence at most; None: all."""
    while passages is not None and len(packed.evidence) > max(passages, 0):
        packed = without_last(packed)
    return packed


def without_last(packed: Packed) -> Packed:
    """The same without its last evidence, now `over_budget`: a whole may have more tokens than its parts."""
    *kept, last = packed.evidence

    def dropped(one: PackDecision) -> bool:
        return one.taken and one.chunk_id == last.stored.id

    decisions = tuple(
        replace(one, taken=False, reason="over_budget") if dropped(one) else one for one in packed.decisions
    )
    return Packed(tuple(kept), decisions, packed.tokens - last.tokens)


def passage_text(stored: StoredChunk) -> str:
    """What a model reads of a chunk: the context that it needs (a table's header row), then the passage."""
    chunk = stored.chunk
    return f"{chunk.context}\n{chunk.text}" if chunk.context else chunk.text


def _order(ranked: RankedChunk) -> tuple[float, int]:
    if not isfinite(ranked.score):
        raise InvalidInput(
            f"The score of chunk {ranked.stored.id} must be finite, was: {ranked.score}.", field="score"
        )
    return -ranked.score, ranked.stored.id


def _count(stored: StoredChunk, count_tokens: Callable[[StoredChunk], int]) -> int:
    tokens = count_tokens(stored)
    if tokens <= 0:
        raise InvalidInput(f"Chunk {stored.id} must have at least 1 token, was: {tokens}.", field="tokens")
    return tokens


def _why_left_out(
    ranked: RankedChunk, taken: Sequence[Evidence], max_evidence: int, superseded: frozenset[str]
) -> str | None:
    stored = ranked.stored
    if stored.document_id in superseded:
        return "superseded"
    if any(other.stored.id == stored.id for other in taken):
        return "duplicate"
    if any(passage_text(other.stored) == passage_text(stored) for other in taken):
        return "same_text"
    return "over_limit" if len(taken) >= max_evidence else None


def _require_limits(budget_tokens: int, max_evidence: int) -> None:
    if budget_tokens < 0:
        raise InvalidInput(
            f"budget_tokens must not be negative, was: {budget_tokens}.", field="budget_tokens"
        )
    if max_evidence < 1:
        raise InvalidInput(f"max_evidence must be at least 1, was: {max_evidence}.", field="max_evidence")
