"""Is there enough evidence to answer at all? Decided before generating, from passages and searches."""

from __future__ import annotations

from ingest.corpus.script import HAN, OTHER, script_of
from service.checking.numbers import Fact, find_facts, is_stated
from service.checking.overlap import content_words, coverage
from service.checking.values import Date, Identifier, Number
from service.pack import passage_text
from service.types import Evidence, Fused, Packed, Question, RefusalCode

# Thresholds are those of the default embedder, multilingual-e5-small, by the question's script. A passage
# may answer from a strength of `LEAST_STRENGTH` on: the share of the question's words that it holds and
# its nearness together; in another script, where words cannot be met, from a nearness of `LEAST_ABROAD`
# on. Set on the half of xquad whose query id has an even first byte of sha256, so that 2 % of its
# answerable questions are refused, 15 % of the Chinese ones that have English passages only.
NEARNESS_WEIGHT = 4.0
LEAST_STRENGTH = {OTHER: 1.0, HAN: 0.58}
LEAST_ABROAD = {OTHER: 0.085, HAN: 0.05}
ENOUGH_WORDS = 0.7  # share of the question's words that is enough, whatever the embedder thinks
YEARS = range(1900, 2100)


def find_insufficiency(question: Question, fused: Fused, packed: Packed) -> RefusalCode | None:
    """Why not to answer, or none.

    `no_evidence` without a passage; `insufficient_evidence` where no passage is near enough in words and
    meaning, or where the question names a date or an identifier that no passage states.
    """
    if not fused.candidates or not packed.evidence:
        return "no_evidence"
    if not any(_may_answer(question.text, each) for each in packed.evidence):
        return "insufficient_evidence"
    if not _states_what_is_named(question.text, packed):
        return "insufficient_evidence"
    return None


def _may_answer(question: str, evidence: Evidence) -> bool:
    text, asked_in = _titled(evidence), script_of(question)
    nearness = evidence.ranked.candidate.meaning
    covered = coverage(dict.fromkeys(content_words(question), 1.0), content_words(text))
    if covered >= ENOUGH_WORDS or covered + NEARNESS_WEIGHT * nearness >= LEAST_STRENGTH[asked_in]:
        return True
    return script_of(text) != asked_in and nearness >= LEAST_ABROAD[asked_in]


def _states_what_is_named(question: str, packed: Packed) -> bool:
    named = [fact for fact in find_facts(question) if _names_one(fact)]
    if not named:
        return True
    text = "\n".join(_titled(each) for each in packed.evidence)
    there = find_facts(text)
    return all(is_stated(fact, there) or fact.written.casefold() in text.casefold() for fact in named)


def _names_one(fact: Fact) -> bool:
    """Whether it names one thing that an answer has to be about: a date, a year, an identifier."""
    if isinstance(fact.value, Number):
        return not fact.value.unit and fact.value.value in YEARS
    return isinstance(fact.value, Date | Identifier)


def _titled(evidence: Evidence) -> str:
    stored = evidence.stored
    return "\n".join((stored.title, stored.chunk.section, passage_text(stored)))
