"""Two documents that give different figures for what was asked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from service.disagreement import MOST, MOST_JUDGED, find_disagreements
from service.quotable import read_sentences
from service.seams import Support
from service.strength import Weighed
from service.types import AnswerLanguage, Disagreement, Evidence, Statement, Verdict
from tests.service.passages import evidence

QUESTION = "How long are the pictures of the cameras kept?"
SAID = "The pictures of the cameras are kept for 28 days."
SUPPORTED = Verdict("supported", "support", "")


class Carrying:
    """Supports what it is told to, and remembers what it was asked."""

    version, threshold = "carrying", 0.5

    def __init__(self, score: float | None = 0.9) -> None:
        self.score = score
        self.asked: list[tuple[str, str]] = []

    def support(self, premise: str, claim: str) -> Support:
        self.asked.append((premise, claim))
        return Support(self.score, 0, 0, "")


def weighed(read: Sequence[Evidence], margin: float) -> Weighed:
    sentences = tuple(read_sentences(read, frozenset()))
    shape = len(sentences)
    return Weighed(
        sentences,
        ((),) * shape,
        np.zeros(shape),
        np.full(shape, margin),
        np.ones(shape, bool),
        np.zeros(shape, bool),
    )


def found(
    *texts: str,
    said: str = SAID,
    question: str = QUESTION,
    margin: float = 0.0,
    judge: Carrying | None = None,
    language: AnswerLanguage = "en",
) -> list[Disagreement]:
    """What disagrees with a statement that cites C1; the texts are C1, C2 … of a document each."""
    read = evidence(*texts)
    statements = [Statement(said, ("C1",), SUPPORTED)]
    pairs = find_disagreements(
        question, language, statements, read, weighed(read, margin), judge or Carrying()
    )
    return [disagreement for _, disagreement in pairs]


def test_another_figure_of_another_document_is_told_with_both_sides() -> None:
    judge = Carrying()
    [one] = found(SAID, "Pictures are kept for 14 days and then erased.", judge=judge)
    assert (one.marker, one.figure, one.other_marker, one.other_figure) == ("C1", "28 days", "C2", "14 days")
    assert one.text == "The documents disagree: 28 days [C1], 14 days [C2]."
    [(premise, claim)] = judge.asked
    assert premise == "Pictures are kept for 14 days and then erased."
    assert claim == "The pictures of the cameras are kept for 14 days."


def test_figures_are_compared_across_languages_and_told_in_that_of_the_answer() -> None:
    [one] = found(SAID, "监控画面保存14天。", language="zh")
    assert one.text == "文档说法不一：28 days [C1]，14天 [C2]。"


@pytest.mark.parametrize(
    ("said", "other"),
    [
        ("The canteen opens at 8:00.", "The canteen opens at 9:00."),
        ("The fee is EUR 40.", "The fee is EUR 45."),
        ("The discount is 6 percent.", "The discount is 11%."),
        ("押金为150元。", "押金为200元。"),
    ],
)
def test_times_money_and_shares_disagree_too(said: str, other: str) -> None:
    assert len(found(said, other, said=said, question="What is it?")) == 1


@pytest.mark.parametrize(
    "other",
    [
        "Pictures are kept for 28 days.",
        "监控画面保存28天。",
        "Pictures are kept for four weeks and 28 days are four weeks.",
        "Pictures cost EUR 14.",
        "Pictures are kept in 14 rooms.",
        "Pictures are kept for some time.",
    ],
)
def test_what_says_the_same_or_gives_another_kind_of_figure_does_not_disagree(other: str) -> None:
    assert found(SAID, other) == []


def test_a_document_does_not_disagree_with_itself() -> None:
    assert found(f"{SAID} Pictures of visitors are kept for 14 days.") == []


def test_a_sentence_that_does_not_answer_the_question_does_not_disagree() -> None:
    assert found(SAID, "Pictures are kept for 14 days.", margin=-0.01) == []


@pytest.mark.parametrize("score", [0.49, None])
def test_a_sentence_that_does_not_carry_the_statement_does_not_disagree(score: float | None) -> None:
    assert found(SAID, "Pictures are kept for 14 days.", judge=Carrying(score)) == []


def test_the_figure_that_was_asked_about_is_none_that_documents_disagree_on() -> None:
    question = "What happens to the pictures after 28 days?"
    assert found(SAID, "After 14 days pictures are erased.", question=question) == []


def test_the_judge_is_asked_a_bounded_number_of_times() -> None:
    judge = Carrying(0.0)
    assert found(SAID, *(f"Pictures are kept for {days} days." for days in range(40, 70)), judge=judge) == []
    assert len(judge.asked) == MOST_JUDGED


def test_each_passage_disagrees_once_and_there_are_not_too_many() -> None:
    texts = [
        f"Pictures are kept for {days} days. Films are kept for {days + 1} days." for days in range(40, 60)
    ]
    disagreements = found(SAID, *texts)
    assert [one.other_marker for one in disagreements] == [f"C{n}" for n in range(2, 2 + MOST)]
