"""A drafted statement and the evidence to a verdict: grammar, exists, permitted, facts, support, in order.

Each citation is held against the passage that it cites and no other. What cannot be told is not supported.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ingest.read.walls import find_walls
from service.checking.cite import says_something
from service.checking.facts import find_mismatch
from service.checking.plain import plain_text
from service.seams import Judge, Support
from service.types import DraftStatement, Evidence, Level, Span, Statement, Verdict

BETWEEN = "\n\n"  # passages that are read together
LONGEST_STATEMENT = 1000  # characters; a sentence of a contract has a few hundred, its longest about this


@dataclass(frozen=True, slots=True)
class Premise:
    """A cited passage with what it needs to be understood: title, section and table header, a line each."""

    evidence: Evidence
    text: str
    lead: int  # code points before the passage itself

    def span(self, support: Support) -> Span:
        """The supporting stretch in the stored document, within the passage."""
        chunk = self.evidence.stored.chunk
        start, end = max(support.start - self.lead, 0), max(support.end - self.lead, 0)
        return Span(self.evidence.marker, chunk.start + start, chunk.start + end)


def check_statement(
    draft: DraftStatement, evidence: Sequence[Evidence], permitted: Collection[int], judge: Judge
) -> Statement:
    """The statement as it may be shown, with its verdict.

    Its text is inert (`plain_text`), and what is checked is what is shown. Of several citations those stay
    that carry the statement alone or, where none does, those that carry it together; the others are taken
    off it.

    :param evidence: all that the answer may cite.
    :param permitted: ids of the chunks that the reader may read now.
    """
    text = plain_text(draft.text)
    marked = {each.marker: each for each in evidence}
    refused = _before_reading(draft, text, marked, permitted)
    if refused is not None:
        return Statement(text, draft.citations, refused)
    premises = [_premise(marked[marker]) for marker in draft.citations]
    verdicts = [_against([premise], text, judge) for premise in premises]
    carrying = [n for n, verdict in enumerate(verdicts) if verdict.status == "supported"]
    if carrying:
        return _supported_by([premises[n] for n in carrying], [verdicts[n] for n in carrying], text)
    if len(premises) == 1:
        return Statement(text, draft.citations, verdicts[0])
    needed = _needed_together(premises, text, judge)
    return Statement(text, tuple(each.evidence.marker for each in needed), _against(needed, text, judge))


def too_long(text: str) -> str | None:
    """Why it cannot be one statement: its length, or that of a stretch without a blank; None if it can."""
    if len(text) > LONGEST_STATEMENT:
        return f"{len(text):,} characters are too many to be one statement."
    wall = next(find_walls(text), None)
    return f"{len(wall):,} signs without a blank are no statement." if wall else None


def _before_reading(
    draft: DraftStatement, text: str, evidence: Mapping[str, Evidence], permitted: Collection[int]
) -> Verdict | None:
    if draft.malformed:
        return _no("grammar", f"{', '.join(draft.malformed)} is no citation: one is written [C1].")
    if not draft.citations:
        return _no("grammar", "The statement carries no citation.")
    if not says_something(text):
        return _no("grammar", "The statement says nothing.")
    long = too_long(text)
    if long is not None:
        return _no("grammar", long)
    unknown = [marker for marker in draft.citations if marker not in evidence]
    if unknown:
        return _no("exists", f"{', '.join(unknown)} does not exist; the evidence ends at C{len(evidence)}.")
    closed = [marker for marker in draft.citations if evidence[marker].stored.id not in permitted]
    if closed:
        return _no("permitted", f"The source of {', '.join(closed)} is no longer available.")
    return None


def _against(premises: Sequence[Premise], claim: str, judge: Judge) -> Verdict:
    """The verdict on the claim from these passages together."""
    joined = BETWEEN.join(premise.text for premise in premises)
    markers = " and ".join(premise.evidence.marker for premise in premises)
    wrong = find_mismatch(claim, joined, markers)
    if wrong is not None:
        return Verdict("not_supported", "facts", wrong.reason, spans=_spans_at(wrong.place, premises))
    found = judge.support(joined, claim)
    if found.score is None or found.score < judge.threshold:
        return Verdict(
            "not_supported", "support", f"{markers} does not carry it. {found.reason}", found.score
        )
    supports = [found] if len(premises) == 1 else [judge.support(premise.text, claim) for premise in premises]
    each = [_below_title(one, support, claim, judge) for one, support in zip(premises, supports, strict=True)]
    if all(one.end <= premise.lead for premise, one in zip(premises, each, strict=True)):
        return _no("support", f"Only the title or heading of {markers} says it, and no passage.")
    spans = [premise.span(one) for premise, one in zip(premises, each, strict=True)]
    return Verdict("supported", "support", found.reason, found.score, tuple(spans))


def _below_title(premise: Premise, found: Support, claim: str, judge: Judge) -> Support:
    """Where the title says it and so does the passage (a first line is often both): what the passage says."""
    if found.end > premise.lead:
        return found
    own = judge.support(premise.text[premise.lead :], claim)
    if own.score is None or own.score < judge.threshold:
        return found
    return Support(own.score, own.start + premise.lead, own.end + premise.lead, own.reason)


def _spans_at(place: tuple[int, int] | None, premises: Sequence[Premise]) -> tuple[Span, ...]:
    """A place in the joined text as one of the document that it comes from; none if it is in a title."""
    if place is None:
        return ()
    start, end = place
    for premise in premises:
        if premise.lead <= start < len(premise.text):
            return (premise.span(Support(None, start, end, "")),)
        start, end = start - len(premise.text) - len(BETWEEN), end - len(premise.text) - len(BETWEEN)
    return ()


def _needed_together(premises: Sequence[Premise], claim: str, judge: Judge) -> list[Premise]:
    """The passages without those that the claim does not need."""
    needed = list(premises)
    for premise in premises:
        rest = [each for each in needed if each is not premise]
        if len(rest) > 1 and _against(rest, claim, judge).status == "supported":
            needed = rest
    return needed


def _supported_by(premises: Sequence[Premise], verdicts: Sequence[Verdict], text: str) -> Statement:
    best = max(verdicts, key=lambda verdict: verdict.score or 0.0)
    spans = tuple(span for verdict in verdicts for span in verdict.spans)
    markers = tuple(premise.evidence.marker for premise in premises)
    return Statement(text, markers, Verdict("supported", "support", best.reason, best.score, spans))


def _premise(evidence: Evidence) -> Premise:
    stored, chunk = evidence.stored, evidence.stored.chunk
    lead = "".join(f"{part}\n\n" for part in (stored.title, chunk.section, chunk.context) if part)
    return Premise(evidence, lead + chunk.text, len(lead))


def _no(level: Level, reason: str) -> Verdict:
    return Verdict("not_supported", level, reason)
