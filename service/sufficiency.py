"""Is there enough evidence to answer at all? Decided before generating, from what the searches said."""

from __future__ import annotations

from service.overlap import content_words, coverage
from service.pack import passage_text
from service.types import Fused, Packed, Question, RefusalCode

LEAST_MEANING = 0.79  # inner product of question and nearest passage, multilingual-e5-small
LEAST_COVERAGE = 0.2  # share of the question's words in the evidence


def find_insufficiency(question: Question, fused: Fused, packed: Packed) -> RefusalCode | None:
    """`no_evidence` without a passage, `insufficient_evidence` where none is near in words or in meaning."""
    if not fused.candidates or not packed.evidence:
        return "no_evidence"
    nearest = max(each.ranked.candidate.meaning for each in packed.evidence)
    held = frozenset[str]().union(*(content_words(passage_text(each.stored)) for each in packed.evidence))
    covered = coverage(dict.fromkeys(content_words(question.text), 1.0), held)
    if nearest < LEAST_MEANING and covered < LEAST_COVERAGE:
        return "insufficient_evidence"
    return None
