"""A quote that lay in the evidence followed to the answer: drafted, checked, cited, said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from service.checking.cite import CITATIONS, MARKER
from service.checking.numbers import find_facts, is_stated
from service.evaluation.asking.attempts import CandidateSeen, StatementSeen
from service.evaluation.failing.failures import Failure, found_as, named, scored, short
from service.evaluation.failing.lost import Seen
from service.evaluation.scoring.cited import completeness, shown
from service.evaluation.scoring.wording import holds
from service.evaluation.sets.cases import Case, Quote

Group = tuple[Quote, ...]
SIDES = ("conflict", "versioned")  # kinds of question about which documents say different things


def is_in_answer(group: Group, seen: Seen) -> bool:
    """Whether the answer cites or quotes one of them and says what of theirs it has to say."""
    cited = completeness(replace(seen.case, evidence=(group,)), seen.attempt, seen.run.texts)
    quoted = any(
        quote.text.strip() and holds(citation.quote, quote.text)
        for quote in group
        for citation in seen.attempt.citations
    )
    return bool(cited or quoted) and not _unsaid(group, seen)


def why_unused(missing: Group, seen: Seen) -> Failure:
    """:param missing: a group that is in the evidence and not in the answer; (): the answer as a whole."""
    given = tuple(one for one in missing if any(found.marker for found in seen.holding([one])))
    markers = frozenset(one.marker for one in _evidence(given, seen) if one.marker)
    return (
        _checked_away(given, markers, seen)
        or _refused_wrongly(given, seen)
        or _citation_invalid(seen)
        or _citation_unsupported(given, markers, seen)
        or _conflicting_evidence(given, seen)
        or _in_the_prompt_but_wrong(given, seen)
    )


def _values(group: Group, case: Case) -> list[tuple[str, ...]]:
    """What the answer has to say of what stands in these quotes; of each tuple any one."""

    def stands(value: str) -> bool:
        return any(holds(quote.text, value) for quote in group)

    answers = [case.answers] if any(map(stands, case.answers)) else []
    return [(one,) for one in case.must_contain if stands(one)] + answers


def _unsaid(group: Group, seen: Seen) -> list[tuple[str, ...]]:
    answer = seen.attempt.answer
    return [one for one in _values(group, seen.case) if not any(holds(answer, value) for value in one)]


def _checked_away(given: Group, markers: frozenset[str], seen: Seen) -> Failure | None:
    """A statement that rests on the quote and says what of it the answer lacks, dropped by the check."""
    wanted = [value for one in _unsaid(given, seen) or _values(given, seen.case) for value in one]
    for one in seen.attempt.statements:
        rests = not markers.isdisjoint(one.citations)
        says = not wanted or any(holds(one.text, value) for value in wanted)
        if rests and says and not one.shown and one.status != "supported":
            rested = f"{short(one.text)} rests on {named(given[0])} ({', '.join(one.citations)})"
            reason = f"{rested} and was dropped at {one.level}, {scored(one)}: {one.reason}"
            return Failure("checked_away", reason, given)
    return None


def _refused_wrongly(given: Group, seen: Seen) -> Failure | None:
    attempt = seen.attempt
    if attempt.ended != "refused":
        return None
    supported = sum(one.status == "supported" for one in attempt.statements)
    drafted = f"after {len(attempt.statements)} statements, {supported} of them supported"
    reason = f"Refused as {attempt.refusal} {drafted if attempt.statements else 'before generating'}"
    return Failure("refused_wrongly", f"{reason}; {_given_as(given, seen)}.", _evidence(given, seen))


def _citation_invalid(seen: Seen) -> Failure | None:
    attempt = seen.attempt
    known = {one.marker for one in attempt.citations}
    for written in CITATIONS.finditer(attempt.answer):
        for marker in MARKER.findall(written.group()):
            if marker not in known:
                reason = f"{marker} stands in the answer, and no citation says what it is."
                return Failure("citation_invalid", reason)
    for one in attempt.citations:
        text = seen.run.texts.get(one.document, "")
        if not 0 <= one.start < one.end <= len(text) or text[one.start : one.end] != one.quote:
            reason = f"{one.marker} says that {one.document} {one.start}–{one.end} reads {short(one.quote)}."
            return Failure("citation_invalid", f"{reason} It does not.", (Quote(one.document, one.quote),))
    bare = next((one for one in shown(attempt) if not one.citations), None)
    return Failure("citation_invalid", f"{short(bare.text)} is shown without a citation.") if bare else None


def _citation_unsupported(given: Group, markers: frozenset[str], seen: Seen) -> Failure | None:
    """A statement shown without the passage that holds the quote, saying what those that it cites do not."""
    for one in shown(seen.attempt) if markers else ():
        strange = _strange(one, given, seen) if markers.isdisjoint(one.citations) else []
        if strange:
            reason = f"{short(one.text)} cites {', '.join(one.citations)}, without {short(strange[0])} in it"
            elsewhere = f"{named(given[0])} is in {', '.join(sorted(markers))}"
            return Failure("citation_unsupported", f"{reason}; {elsewhere}.", given)
    return None


def _strange(statement: StatementSeen, given: Group, seen: Seen) -> list[str]:
    """What it says of the quote that no cited passage has, and its facts that no cited document has.

    Facts may stand anywhere in the document: a passage is read with its title, section and table's head.
    """
    cited = [one for one in seen.attempt.candidates if one.marker in statement.citations]
    passages = "\n".join(one.passage.text for one in cited)
    documents = "\n".join(seen.run.texts.get(one.passage.document, "") for one in cited)
    values = [value for one in _values(given, seen.case) for value in one]
    stated = find_facts(documents)
    facts = [one for one in find_facts(statement.text) if not one.incidental and not is_stated(one, stated)]
    said = [one for one in values if holds(statement.text, one) and not holds(passages, one)]
    return said + [one.written for one in facts]


def _conflicting_evidence(given: Group, seen: Seen) -> Failure | None:
    """The other side's value is shown, or one side is said and the other is not."""
    if seen.case.kind not in SIDES:
        return None
    if seen.wrongly_said:
        reason = f"The answer holds {short(seen.wrongly_said[0])}, the value of the other side."
        return Failure("conflicting_evidence", reason, given)
    said = [group for group in seen.case.evidence if is_in_answer(group, seen)]
    if given and said:
        reason = f"The answer goes by {named(said[0][0])}, without {named(given[0])}, which was in evidence."
        return Failure("conflicting_evidence", reason, given)
    return None


def _in_the_prompt_but_wrong(given: Group, seen: Seen) -> Failure:
    attempt = seen.attempt
    cited = ", ".join(one.marker for one in attempt.citations) or "nothing"
    cut = ", cut off at its length," if attempt.finish_reason == "length" else ""
    faults = " and ".join(_faults(seen)) or "says nothing"
    reason = f"The answer{cut} cites {cited} and {faults}"
    evidence = _evidence(given, seen)
    return Failure("in_the_prompt_but_wrong", f"{reason}; {_given_as(given, seen)}.", evidence)


def _evidence(given: Group, seen: Seen) -> tuple[CandidateSeen, ...]:
    return tuple(one for one in seen.holding(given) if one.marker)


def _given_as(given: Group, seen: Seen) -> str:
    if not given:
        return "the set names no evidence that is missing"
    evidence = "; ".join(f"{one.marker}, {found_as(one)}" for one in _evidence(given, seen))
    return f"{named(given[0])} was given as {evidence}"


def _faults(seen: Seen) -> Sequence[str]:
    case, answer = seen.case, seen.attempt.answer
    faults = [f"lacks {short(one)}" for one in case.must_contain if not holds(answer, one)]
    if case.answers and not any(holds(answer, one) for one in case.answers):
        faults.append(f"does not say {' or '.join(map(short, case.answers))}")
    return faults + [f"holds {short(one)}, which it must not" for one in seen.wrongly_said]
