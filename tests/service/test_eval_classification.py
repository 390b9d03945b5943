"""Figures of decisions equal those worked out by hand and their definitions spelt out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.evaluation.scoring.classification import (
    Bin,
    accuracy,
    auroc,
    balanced_accuracy,
    brier,
    ece,
    f1,
    reliability,
)

UNHURRIED = settings(deadline=None)  # other work on the machine must not fail a property

TRUTH = [True, True, True, False, False]


def test_accuracy_and_f1_worked_out_by_hand() -> None:
    decided = [True, True, False, True, False]  # two hits, one miss, one false alarm
    assert accuracy(TRUTH, decided) == 3 / 5
    assert f1(TRUTH, decided) == 2 * 2 / (2 * 2 + 1 + 1)
    assert f1([True], [False]) == f1([False], [True]) == 0


def test_balanced_accuracy_is_the_mean_of_both_sides() -> None:
    assert balanced_accuracy(TRUTH, [True, True, False, True, False]) == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert balanced_accuracy(TRUTH, [True] * 5) == 0.5
    assert balanced_accuracy([True], [True]) is balanced_accuracy([], []) is None


def test_reliability_has_a_point_for_each_bin_that_is_not_empty() -> None:
    points = reliability([True, False, False], [0.85, 0.9, 0.25])
    assert points == (Bin(0.25, 0.0, 1), Bin(pytest.approx(0.875), 0.5, 2))
    assert reliability([], []) == ()


def test_auroc_counts_a_tie_half() -> None:
    # Of six pairs of a yes and a no: .9 wins two; .5 wins one and ties one; .2 wins none and loses to .5.
    assert auroc(TRUTH, [0.9, 0.5, 0.2, 0.5, 0.1]) == pytest.approx((2 + 1.5 + 1) / 6, abs=1e-12)
    assert auroc(TRUTH, [1, 1, 1, 1, 1]) == 0.5
    assert auroc(TRUTH, [3, 4, 5, 1, 2]) == 1
    assert auroc(TRUTH, [1, 2, 3, 4, 5]) == 0


def test_brier_and_ece_worked_out_by_hand() -> None:
    assert brier(TRUTH, [1.0, 0.8, 0.4, 0.3, 0.0]) == pytest.approx(
        (0 + 0.04 + 0.36 + 0.09 + 0) / 5, abs=1e-12
    )
    # In (.8, .9]: .85 and .9, half of them true; in (.2, .3]: .3, false.
    assert ece([True, False, False], [0.85, 0.9, 0.3]) == pytest.approx(
        2 / 3 * abs(0.875 - 0.5) + 1 / 3 * 0.3, abs=1e-12
    )


@pytest.mark.parametrize("tenths", range(11))
def test_an_edge_belongs_to_the_bin_below_it(tenths: int) -> None:
    """A neighbour just above is in the next bin: their gaps do not make up for each other."""
    edge = tenths / 10
    together = ece([True, False], [edge, max(edge - 0.05, 0)])
    assert together == pytest.approx(abs(edge + max(edge - 0.05, 0) - 1) / 2, abs=1e-12)
    if tenths not in (0, 10):
        apart = ece([True, False], [edge, edge + 0.05])
        assert apart == pytest.approx((1 - edge + edge + 0.05) / 2, abs=1e-12)


def test_where_there_is_nothing_to_say_nothing_is_said() -> None:
    assert accuracy([], []) is f1([], []) is auroc([], []) is ece([], []) is brier([], []) is None
    assert f1([False], [False]) is None
    assert auroc([True, True], [0.1, 0.2]) is auroc([False], [0.1]) is None


@pytest.mark.parametrize("figure", [accuracy, f1, auroc, ece, brier])
def test_items_that_do_not_match_are_an_error(figure: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        figure([True, False], [True])


@pytest.mark.parametrize("figure", [ece, brier])
@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_is_an_error(figure: Callable[[Any, Any], Any], probability: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        figure([True], [probability])


ITEMS = st.lists(st.tuples(st.booleans(), st.integers(0, 20).map(lambda n: n / 20)), min_size=1, max_size=40)


@UNHURRIED
@given(ITEMS, st.randoms())
def test_figures_equal_their_definitions_in_any_order(items: list[tuple[bool, float]], random: Any) -> None:
    truth, scores = [true for true, _ in items], [score for _, score in items]
    pairs = [(yes, no) for is_yes, yes in items if is_yes for is_no, no in items if not is_no]
    won = sum(1.0 if yes > no else 0.5 if yes == no else 0.0 for yes, no in pairs)
    assert auroc(truth, scores) == (pytest.approx(won / len(pairs), abs=1e-9) if pairs else None)

    bins: dict[int, list[tuple[bool, float]]] = {}
    for true, score in items:
        bins.setdefault(max(-(-round(score * 20) // 2) - 1, 0), []).append((true, score))
    gaps = (abs(sum(score for _, score in one) - sum(true for true, _ in one)) for one in bins.values())
    assert ece(truth, scores) == pytest.approx(sum(gaps) / len(items), abs=1e-9)

    squared = [(score - true) ** 2 for true, score in items]
    assert brier(truth, scores) == pytest.approx(sum(squared) / len(items), abs=1e-9)

    shuffled = list(items)
    random.shuffle(shuffled)
    turned = [true for true, _ in shuffled], [score for _, score in shuffled]
    for figure in (auroc, ece, brier):
        assert figure(*turned) == pytest.approx(figure(truth, scores), abs=1e-12)


@UNHURRIED
@given(ITEMS)
def test_auroc_of_the_opposite_is_its_complement(items: list[tuple[bool, float]]) -> None:
    truth, scores = [true for true, _ in items], [score for _, score in items]
    found, opposite = auroc(truth, scores), auroc([not true for true in truth], scores)
    assert (found is None) == (opposite is None)
    assert found is None or found + opposite == pytest.approx(1, abs=1e-9)
