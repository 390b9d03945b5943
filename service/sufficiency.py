"""Is there enough evidence to answer at all? Decided before generating, from passages and searches."""

from __future__ import annotations

from dataclasses import dataclass

from service.answerable import Answerability
from service.checking.numbers import Fact, find_facts, is_stated
from service.checking.values import Date, Identifier, Number
from service.pack import passage_text
from service.strength import SentenceWeigher
from service.types import Evidence, Fused, Packed, Question, RefusalCode

YEARS = range(1900, 2100)


@dataclass(frozen=True, slots=True)
class Sufficiency:
    code: RefusalCode | None  # why not to answer, or none
    answerable: float | None = None  # probability that the evidence answers; None: there was nothing to weigh


@dataclass(frozen=True, slots=True)
class SufficiencyJudge:
    weigher: SentenceWeigher
    answerability: Answerability

    def decide(self, question: Question, fused: Fused, packed: Packed) -> Sufficiency:
        """`no_evidence` without a passage; `insufficient_evidence` where the question is not likely enough to
        be answered, or names a date or an identifier that no passage states.
        """
        if not fused.candidates or not packed.evidence:
            return Sufficiency("no_evidence")
        weighed = self.weigher.weigh(question.text, packed.evidence)
        answerable, enough = self.answerability.of(question.text, weighed)
        if not enough or not _states_what_is_named(question.text, packed):
            return Sufficiency("insufficient_evidence", answerable)
        return Sufficiency(None, answerable)


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
