"""Figures equal those worked out by hand."""

from __future__ import annotations

from math import log2

import pytest

from service.evaluation.scoring.measures import measure

RELEVANT = {"q1": frozenset({"a"}), "q2": frozenset({"b", "c"}), "q3": frozenset({"z"})}
OTHERS = [f"other-{number}" for number in range(12)]


def test_figures_equal_those_worked_out_by_hand() -> None:
    rankings = {"q1": ["x", "a"], "q2": ["b", *OTHERS[:5], "c"], "q3": ["x"]}
    figures = measure(rankings, RELEVANT)
    ideal_of_two = 1 + 1 / log2(3)
    assert figures["mrr@10"] == pytest.approx((1 / 2 + 1 + 0) / 3)
    assert figures["ndcg@10"] == pytest.approx((1 / log2(3) + (1 + 1 / log2(8)) / ideal_of_two + 0) / 3)
    assert figures["recall@5"] == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert figures["recall@10"] == pytest.approx((1 + 1 + 0) / 3)


def test_what_comes_after_the_tenth_place_does_not_count() -> None:
    assert measure({"q1": [*OTHERS[:10], "a"]}, {"q1": frozenset({"a"})})["mrr@10"] == 0


def test_a_question_that_found_nothing_scores_zero_instead_of_vanishing() -> None:
    figures = measure({"q1": ["a"], "q2": []}, RELEVANT)
    assert figures["mrr@10"] == pytest.approx(1 / 3)


def test_the_order_given_decides_whatever_the_ids_are() -> None:
    assert measure({"q": ["a", "b"]}, {"q": frozenset({"b"})})["mrr@10"] == 0.5
    assert measure({"q": ["b", "a"]}, {"q": frozenset({"b"})})["mrr@10"] == 1.0


def test_no_question_gives_zero() -> None:
    assert set(measure({}, {}).values()) == {0.0}
