"""The facts level: what a statement says otherwise than the passages that it cites, and where they say it.

Figures, bounds of figures, references in brackets, denials and opposites. Knows nothing of meaning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ingest.sentences import sentence_spans
from service.checking.bounds import Bound, agree, find_bound
from service.checking.negation import clauses, denial_in, is_negated, opposite_in
from service.checking.numbers import Fact, find_facts, is_stated, nearest_stated
from service.checking.numerals import scale_value
from service.checking.overlap import content_words, coverage
from service.checking.values import Number, says

# Not the year of a document's number, which is a fact.
REFERENCE = re.compile(r"[\[［【]\s*\d[\d\s,，、;；:.–—-]{0,40}[\]］】](?!\s*(?:第\s*)?\d{1,5}\s*[号號])")
SAME_SUBJECT = 0.6  # share of a statement's words from which a sentence counts as being about the same
# A table's figures are in this: 收入（万元）, 单位：亿元, (in millions)
DECLARED_SCALE = re.compile(
    r"(?:[（(]|单位[:：为]\s*)(?:人民币)?(?P<zh>[十百千]?[万亿])[\u4e00-\u9fff]{0,4}(?:[）)]|\s|$)"
    r"|\bin (?P<en>thousand|million|billion)s\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Mismatch:
    reason: str  # which figure or word, where in the statement, and what stands there instead
    place: tuple[int, int] | None = None  # of the latter, in the passages' text


def find_mismatch(claim: str, premise: str, markers: str) -> Mismatch | None:
    """The first that the passages' text does not say as the statement does.

    :param markers: how the passages are called, for the reason.
    """
    return (
        _other_figure(claim, premise, markers)
        or _stray_reference(claim, premise, markers)
        or _contradiction(claim, premise, markers)
    )


def _other_figure(claim: str, premise: str, markers: str) -> Mismatch | None:
    there = find_facts(premise)
    scales = _declared_scales(premise)
    for fact in find_facts(claim):
        if fact.incidental:
            continue
        saying = [other for other in there if says(other.value, fact.value)]
        if not saying and not _in_declared_scale(fact, there, scales):
            nearest = nearest_stated(fact, there)
            return _differs(claim, Bound("", fact.start, fact.end), premise, _place(nearest), markers)
        other_bound = _other_bound(claim, fact, premise, saying)
        if other_bound:
            return _differs(claim, find_bound(claim, fact), premise, other_bound, markers)
    return None


def _place(fact: Fact | None) -> tuple[int, int] | None:
    return (fact.start, fact.end) if fact else None


def _differs(
    claim: str, said: Bound, premise: str, instead: tuple[int, int] | None, markers: str
) -> Mismatch:
    has = f"; it has {premise[slice(*instead)]}" if instead else ""
    where = f"(At characters {said.start + 1} to {said.end} of the statement.)"
    return Mismatch(f"{claim[said.start : said.end]} is not in {markers}{has}. {where}", instead)


def _other_bound(claim: str, fact: Fact, premise: str, saying: Sequence[Fact]) -> tuple[int, int] | None:
    """Where the passages bound this figure otherwise, if all that say it do."""
    said = find_bound(claim, fact)
    if not said.kind:
        return None
    bounds = [find_bound(premise, one) for one in saying]
    if not bounds or any(agree(said, one, fact) for one in bounds):
        return None
    return bounds[0].start, bounds[0].end


def _declared_scales(premise: str) -> frozenset[int]:
    return frozenset(
        int(scale_value((found["zh"] or found["en"]).casefold()))
        for found in DECLARED_SCALE.finditer(premise)
    )


def _in_declared_scale(fact: Fact, there: Sequence[Fact], scales: frozenset[int]) -> bool:
    """Whether a bare number of the passages is the fact's once the scale that they declare is put to it."""
    number = fact.value
    if not isinstance(number, Number):
        return False
    written = number.as_written or number.value
    return any(is_stated(replace(fact, value=Number(written / scale)), there) for scale in scales)


def _stray_reference(claim: str, premise: str, markers: str) -> Mismatch | None:
    """A number in brackets, such as [99], that no sentence about the same has: it refers to nothing here.

    Where one has it, as "the array is [1, 2, 3]", it is part of what is said.
    """
    if not REFERENCE.search(claim):
        return None
    sentences = [premise[start:end] for start, end in sentence_spans(premise)]
    for start, end in sentence_spans(claim):
        said = claim[start:end]
        weights = dict.fromkeys(content_words(REFERENCE.sub(" ", said)), 1.0)
        for reference in REFERENCE.findall(said):
            holding = (content_words(one) for one in sentences if reference in one)
            if not any(weights and coverage(weights, words) >= SAME_SUBJECT for words in holding):
                return Mismatch(f"{reference} is no citation, and {markers} has it elsewhere or not at all.")
    return None


def _contradiction(claim: str, premise: str, markers: str) -> Mismatch | None:
    """Whether the sentence nearest to one of the claim's denies where that does not, or the reverse."""
    spans = sentence_spans(premise)
    words = [content_words(premise[start:end]) for start, end in spans]
    for start, end in sentence_spans(claim):
        said = claim[start:end]
        weights = dict.fromkeys(content_words(said), 1.0)
        shares = [coverage(weights, held) for held in words]
        best = max(shares, default=0.0)
        if best < SAME_SUBJECT:
            continue
        nearest = [span for span, share in zip(spans, shares, strict=True) if share == best]
        wrong = _denied(said, [premise[slice(*span)] for span in nearest], weights, markers)
        if wrong is not None:
            return Mismatch(wrong, nearest[0])
    return None


def _denied(said: str, nearest: Sequence[str], weights: dict[str, float], markers: str) -> str | None:
    read = [_clause_about(one, weights) for one in nearest]
    denies = [is_negated(one) for one in read]
    if is_negated(said) not in denies:
        cue = denial_in(said, read[0])
        return f"{markers} {'denies' if denies[0] else 'does not deny'} what the statement says ({cue})."
    opposites = [opposite_in(said, one) for one in nearest]
    if all(opposites):
        return f"{markers} says {opposites[0]!r}, the opposite of what the statement says."
    return None


def _clause_about(sentence: str, weights: dict[str, float]) -> str:
    """The clause of a sentence that holds all that it holds of the claim's words; else the sentence."""
    share = coverage(weights, content_words(sentence))
    parts = clauses(sentence)
    return next((one for one in parts if coverage(weights, content_words(one)) == share), sentence)
