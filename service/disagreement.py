"""Where another document gives another figure: both are shown, never one of them silently.

Another sentence of the evidence disagrees with a statement if it answers the question too, is of a document
that the statement does not cite, gives another figure of the same kind, and carries the statement once that
figure stands in the place of the statement's own: "kept for 28 days" and "kept for 14 days".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from service.checking.numbers import Fact, find_facts, is_stated
from service.checking.values import Number, Time
from service.quotable import Sentence
from service.seams import Judge
from service.strength import Weighed
from service.types import AnswerLanguage, Disagreement, Evidence, Statement

MOST = 3  # of one answer
MOST_JUDGED = 12  # figures of an answer that the judge is asked about
TEXTS: dict[AnswerLanguage, str] = {
    "en": "The documents disagree: {figure} [{marker}], {other_figure} [{other_marker}].",
    "zh": "文档说法不一：{figure} [{marker}]，{other_figure} [{other_marker}]。",
}


def find_disagreements(
    question: str,
    language: AnswerLanguage,
    statements: Sequence[Statement],
    evidence: Sequence[Evidence],
    weighed: Weighed,
    judge: Judge,
) -> list[tuple[Sentence, Disagreement]]:
    """What disagrees with the statements shown, in their order; a pair of passages once."""
    documents = {one.marker: one.stored.document_id for one in evidence}
    found: dict[frozenset[str], tuple[Sentence, Disagreement]] = {}
    for statement, fact, sentence, other in islice(
        _candidates(question, statements, documents, weighed), MOST_JUDGED
    ):
        one = _disagreement(statement, fact, sentence, other, language)
        pair = frozenset((one.marker, one.other_marker))
        if pair not in found and _carries(sentence, statement.text, fact, other, judge):
            found[pair] = sentence, one
    return list(found.values())[:MOST]


def _candidates(
    question: str, statements: Sequence[Statement], documents: Mapping[str, str], weighed: Weighed
) -> Iterator[tuple[Statement, Fact, Sentence, Fact]]:
    """A statement's figure and another sentence's, of another document that answers the question."""
    given = find_facts(question)
    answering = [one for one, margin in zip(weighed.sentences, weighed.margins, strict=True) if margin >= 0]
    for statement in statements:
        stated = find_facts(statement.text)
        own = [fact for fact in filter(_is_comparable, stated) if not is_stated(fact, given)]
        cited = {documents.get(marker) for marker in statement.citations}
        for sentence in answering if own else ():
            if sentence.evidence.stored.document_id not in cited:
                for fact, other in _clashes(own, stated, sentence):
                    yield statement, fact, sentence, other


def _is_comparable(fact: Fact) -> bool:
    """A number with its unit, or a time of day: what can be told to be of one kind with another."""
    return not fact.incidental and (
        (isinstance(fact.value, Number) and bool(fact.value.unit)) or isinstance(fact.value, Time)
    )


def _clashes(own: Sequence[Fact], stated: Sequence[Fact], sentence: Sentence) -> Iterator[tuple[Fact, Fact]]:
    """Figures of one kind of which neither side gives the other's."""
    theirs = [fact for fact in find_facts(sentence.text) if _is_comparable(fact)]
    for fact in own:
        if is_stated(fact, theirs):
            continue
        yield from ((fact, other) for other in theirs if _alike(fact, other) and not is_stated(other, stated))


def _alike(one: Fact, other: Fact) -> bool:
    if isinstance(one.value, Number) and isinstance(other.value, Number):
        return one.value.unit == other.value.unit
    return type(one.value) is type(other.value)


def _carries(sentence: Sentence, text: str, fact: Fact, other: Fact, judge: Judge) -> bool:
    support = judge.support(sentence.with_lead, text[: fact.start] + other.written + text[fact.end :])
    return support.score is not None and support.score >= judge.threshold


def _disagreement(
    statement: Statement, fact: Fact, sentence: Sentence, other: Fact, language: AnswerLanguage
) -> Disagreement:
    sides = {
        "marker": statement.citations[0],
        "figure": fact.written,
        "other_marker": sentence.evidence.marker,
        "other_figure": other.written,
    }
    return Disagreement(**sides, text=TEXTS[language].format(**sides))
