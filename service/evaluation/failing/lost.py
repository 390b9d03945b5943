"""A quote followed from its file to the evidence: read, cut, permitted, found, fused, reranked, packed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from service.evaluation.asking.attempts import Attempt, CandidateSeen, Run
from service.evaluation.failing.failures import LAYERS, Failure, found_as, named
from service.evaluation.scoring.cited import places
from service.evaluation.scoring.score import wrongly_said
from service.evaluation.sets.cases import Case, Quote

ORDER = {layer: place for place, layer in enumerate(LAYERS)}
SAYS_THE_SAME = ("duplicate", "same_text")  # left out for another passage, wherever it was ranked


@dataclass(frozen=True, slots=True)
class Seen:
    """One attempt with all that it is held against."""

    case: Case
    attempt: Attempt
    run: Run
    readable: frozenset[str]  # names of the documents that the asker may read

    def holding(self, group: Iterable[Quote]) -> tuple[CandidateSeen, ...]:
        """Candidates of which the passage has all of some quote of the group."""
        return tuple(
            one
            for one in self.attempt.candidates
            if any(
                quote.document == one.passage.document and _stands(quote, one.passage.text) for quote in group
            )
        )

    @property
    def wrongly_said(self) -> tuple[str, ...]:
        return wrongly_said(self.case, self.attempt)


def where_lost(group: Sequence[Quote], seen: Seen) -> Failure | None:
    """Of a group's quotes, any one of which is enough, the loss of that which got furthest.

    None: one of them is in the evidence. A quote that the asker may not read counts only where he may read
    none of them.
    """
    readable = [quote for quote in group if quote.document in seen.readable]
    return _furthest(_loss(quote, seen) for quote in readable or group)


def _furthest(losses: Iterable[Failure | None]) -> Failure | None:
    """None where something was not lost."""
    furthest: Failure | None = None
    for loss in losses:
        if loss is None:
            return None
        if furthest is None or ORDER[loss.layer] > ORDER[furthest.layer]:
            furthest = loss
    return furthest


def _loss(quote: Quote, seen: Seen) -> Failure | None:
    text = seen.run.texts.get(quote.document, "")
    chunks = seen.run.chunks.get(quote.document, ()) if seen.run.chunks else None
    if not text or not _stands(quote, text):
        reason = f"{named(quote)} is not in the {len(text):,} signs that were read of it."
        return Failure("not_parsed", reason, (quote,))
    if chunks is not None and not any(_stands(quote, text[start:end]) for start, end in chunks):
        return Failure("not_in_a_chunk", f"{named(quote)} {_cut(quote, text, chunks)}.", (quote,))
    if quote.document not in seen.readable:
        reason = f"{named(quote)} is needed, and {seen.case.asker} may not read it."
        return Failure("not_permitted", reason, (quote,))
    holding = seen.holding([quote])
    if not holding and _found_by_itself(quote, seen.attempt):
        reason = f"{named(quote)} was not found for the follow-up, and is for its standalone form."
        return Failure("lost_by_rewriting", reason, (quote,))
    if not holding:
        return _not_found(quote, seen.attempt, chunks is not None)
    return _furthest(_left_behind(one, quote, seen.attempt) for one in holding)


def _stands(quote: Quote, text: str) -> bool:
    return next(places(quote.text, text), None) is not None


def _found_by_itself(quote: Quote, attempt: Attempt) -> bool:
    return any(one.document == quote.document and _stands(quote, one.text) for one in attempt.by_itself)


def _cut(quote: Quote, text: str, chunks: Sequence[tuple[int, int]]) -> str:
    first, last = next(places(quote.text, text))
    parts = ", ".join(f"{start}–{end}" for start, end in chunks if start < last and first < end)
    return f"stands at {first}–{last} and whole in no chunk: {parts or 'none'} hold parts of it"


def _not_found(quote: Quote, attempt: Attempt, whole: bool) -> Failure:
    """:param whole: it is known that a chunk has all of it; else the splitter may have cut it as well."""
    if attempt.refusal == "question_unclear" and not attempt.candidates:
        return Failure("refused_wrongly", "Refused as question_unclear before anything was sought.", (quote,))
    beside = tuple(one for one in attempt.candidates if one.passage.document == quote.document)[:1]
    nearest = f"of its document there is {found_as(beside[0])}" if beside else "and none is of its document"
    reason = f"{named(quote)} was found neither by words nor by meaning"
    reason = f"{reason}: none of {len(attempt.candidates)} candidates has it, {nearest}."
    if not whole:
        reason = f"{reason} Whether it is whole in a chunk is not known of this run."
    return Failure("not_found", reason, (quote, *beside))


def _left_behind(one: CandidateSeen, quote: Quote, attempt: Attempt) -> Failure | None:
    """Why a candidate that holds the quote is not in the evidence; None: it is."""
    if one.marker:
        return None
    concerned, said = (quote, one), f"{named(quote)} is in {found_as(one)}"
    if not one.given:
        deepest = max((other.fused_rank for other in attempt.candidates if other.given), default=0)
        if one.left_out or 0 < deepest < one.fused_rank:
            return Failure("fused_too_low", f"{said}; the last that was given is {deepest}.", concerned)
        why = "withheld though the lists let the asker read it: gone, replaced or not permitted"
        return Failure("not_permitted", f"{said}, {why}.", concerned)
    rank, why = one.reranked_rank, one.left_out or "no reason is kept"
    if why not in SAYS_THE_SAME and _reranked_out(one, attempt):
        reason = f"{said}; reranked to {rank or 'none'}, and left out ({why})."
        return Failure("reranked_too_low", reason, concerned)
    reason = f"{said}; reranked to {rank or 'none'}, it was left out of the evidence: {why}."
    return Failure("left_out_of_the_budget", reason, concerned)


def _reranked_out(one: CandidateSeen, attempt: Attempt) -> bool:
    """Whether packing got as far as its place in the fused order, and not as far as the reranked one."""
    if one.reranked_rank is None:
        return True
    packed_to = max((other.reranked_rank or 0 for other in attempt.candidates if other.marker), default=0)
    by_fused = sum(other.given and other.fused_rank <= one.fused_rank for other in attempt.candidates)
    return by_fused <= packed_to < one.reranked_rank
