"""Means, intervals, percentiles and costs equal those worked out by hand; what cannot be told is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.evaluation.asking.attempts import Attempt
from service.evaluation.scoring.figures import (
    INTERVAL,
    PHASES,
    Figure,
    PriceTable,
    Total,
    figures,
    interval,
    percentiles,
    totals,
)
from service.evaluation.sets.cases import Case
from service.percentile import percentile_if_enough

UNHURRIED = settings(deadline=None)  # other work on the machine must not fail a property

PLAIN = Case("", "?", "en", "people", "list", "low", "easy", "noor", "answered", (), ())


def cases(*ids: str) -> list[Case]:
    return [replace(PLAIN, id=one) for one in ids]


def ways(**languages: str) -> dict[str, dict[str, str]]:
    return {one: {"language": language, "domain": "people"} for one, language in languages.items()}


# --- means -------------------------------------------------------------------------------------


def test_a_figure_is_the_mean_over_the_questions_that_have_the_score() -> None:
    scores = {
        "a": {"right": 1.0, "f1": 0.25},
        "b": {"right": 0.0, "f1": None},
        "c": {"right": 1.0, "f1": 0.75},
        "d": {"right": 1.0, "f1": None},
    }
    found = figures(cases("a", "b", "c", "d"), scores, ways(a="en", b="en", c="zh", d="zh-en"))
    assert [(one.name, one.by, one.slice, one.value, one.items) for one in found] == [
        ("right", "all", "all", 3 / 4, 4),
        ("right", "language", "en", 1 / 2, 2),
        ("right", "language", "zh", 1.0, 1),
        ("right", "language", "zh-en", 1.0, 1),
        ("right", "domain", "people", 3 / 4, 4),
        ("f1", "all", "all", 1 / 2, 2),
        ("f1", "language", "en", 1 / 4, 1),
        ("f1", "language", "zh", 3 / 4, 1),
        ("f1", "domain", "people", 1 / 2, 2),
    ]


def test_one_question_has_its_own_value_for_an_interval() -> None:
    assert figures(cases("a"), {"a": {"f1": 0.3}}, {"a": {}}) == (
        Figure("f1", "all", "all", 0.3, 0.3, 0.3, 1),
    )


def test_a_score_that_no_question_has_is_no_figure_and_a_question_without_scores_an_error() -> None:
    assert figures(cases("a"), {"a": {"f1": None}}, ways(a="en")) == ()
    assert figures([], {}, {}) == ()
    with pytest.raises(KeyError):
        figures(cases("a", "b"), {"a": {"f1": 1.0}}, ways(a="en", b="en"))


def test_the_interval_of_a_share_is_that_of_its_binomial() -> None:
    """Resampled means of 20 ones among 100 are Binomial(100, .2) / 100: .12 and .28 are its quantiles."""
    low, high = interval([1.0] * 20 + [0.0] * 80)
    assert low == pytest.approx(0.12, abs=0.011)
    assert high == pytest.approx(0.28, abs=0.011)


def test_the_interval_equals_that_of_questions_drawn_one_by_one() -> None:
    values = np.random.default_rng(1).random(60)
    means = [np.mean(np.random.default_rng(seed).choice(values, 60)) for seed in range(4000)]
    assert interval(list(values)) == pytest.approx(tuple(np.quantile(means, INTERVAL)), abs=0.01)


def figure_of(values: list[float]) -> Figure:
    scores = {f"q{number}": {"f1": value} for number, value in enumerate(values)}
    (found,) = figures(cases(*scores), scores, {one: {} for one in scores})
    return found


VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=40)


@settings(max_examples=40, deadline=None)
@given(VALUES, st.randoms())
def test_an_interval_lies_within_the_values_and_does_not_depend_on_their_order(
    values: list[float], random: Any
) -> None:
    low, high = interval(values)
    assert min(values) <= low <= high <= max(values)
    shuffled = list(values)
    random.shuffle(shuffled)
    assert interval(shuffled) == (low, high)
    first, second = (figure_of(several) for several in (values, shuffled))
    assert first == second
    assert min(values) - 1e-12 <= first.value <= max(values) + 1e-12


def test_more_questions_make_a_narrower_interval() -> None:
    widths = [high - low for low, high in (interval([0.0, 1.0] * half) for half in (5, 50, 500))]
    assert widths[0] > 2 * widths[1] > 4 * widths[2]  # by the root of ten each


# --- times -------------------------------------------------------------------------------------


def timed(**timings_ms: float) -> Attempt:
    return Attempt("q", "answered", timings_ms=timings_ms)


def test_percentiles_are_by_nearest_rank() -> None:
    values = [float(value) for value in range(100, 0, -1)]
    assert [percentile_if_enough(values, percent) for percent in (50, 95, 99)] == [50, 95, 99]
    assert percentile_if_enough([3.0, 1.0, 2.0], 50) == 2
    assert percentile_if_enough([4.0, 1.0, 2.0, 3.0], 50) == 2
    assert percentile_if_enough([*values, 101.0], 99) == 100


@pytest.mark.parametrize(("percent", "least"), [(50, 2), (95, 20), (99, 100)])
def test_too_few_attempts_for_a_percentile_give_none(percent: int, least: int) -> None:
    assert percentile_if_enough([1.0] * (least - 1), percent) is None
    assert percentile_if_enough([1.0] * least, percent) == 1


@UNHURRIED
@given(st.lists(st.integers(0, 50), min_size=2, max_size=300), st.sampled_from([50, 95, 99]))
def test_a_percentile_is_a_value_that_so_many_do_not_exceed(values: list[int], percent: int) -> None:
    found = percentile_if_enough(values, percent)
    if found is None:
        assert len(values) * (100 - percent) < 100
        return
    assert found in values
    assert sum(value <= found for value in values) * 100 >= percent * len(values)
    assert sum(value < found for value in values) * 100 < percent * len(values)


def test_each_phase_is_over_the_attempts_that_have_it() -> None:
    attempts = [timed(e2e=float(ms), tokens_per_second=9.0) for ms in range(1, 21)]
    attempts += [timed(retrieve=7.0), Attempt("q", "error", error="model_timeout")]
    found = {one.name: one for one in percentiles(attempts)}
    assert tuple(found) == PHASES
    e2e, retrieve, queue = found["e2e"], found["retrieve"], found["queue"]
    assert (e2e.p50, e2e.p95, e2e.p99, e2e.attempts) == (10, 19, None, 20)
    assert (retrieve.p50, retrieve.attempts) == (None, 1)
    assert (queue.p50, queue.p95, queue.p99, queue.attempts) == (None, None, None, 0)


# --- tokens, errors, cost ----------------------------------------------------------------------

ATTEMPTS = [
    Attempt("a", "answered", input_tokens=900, output_tokens=60),
    Attempt("b", "refused", input_tokens=100, output_tokens=0),
    Attempt("c", "error", error="over_budget"),
    Attempt("d", "error", error="no_capacity"),
    Attempt("e", "error", error="rate"),
    Attempt("f", "error", error="model_timeout"),
    Attempt("g", "error"),
    Attempt("h", "missing"),
]


def values_of(found: tuple[Total, ...]) -> dict[str, float | None]:
    return {one.name: one.value for one in found}


def test_totals_worked_out_by_hand() -> None:
    found = totals(ATTEMPTS, 4.0, PriceTable("EUR", per_million_input=2, per_million_output=10, per_hour=1.8))
    assert values_of(found) == {
        "attempts": 8,
        "missing": 1,
        "errors": 2,
        "rejections": 3,
        "error model_timeout": 1,
        "error no_capacity": 1,
        "error over_budget": 1,
        "error rate": 1,
        "error unknown": 1,
        "input tokens": 1000,
        "output tokens": 60,
        "answers a second": 0.5,
        "output tokens a second": 15,
        "cost": pytest.approx(0.002 + 0.0006 + 0.002, abs=1e-12),
        "cost of 1,000 answers": pytest.approx(2.3, abs=1e-9),
    }
    assert {one.unit for one in found if one.name.startswith("cost")} == {"EUR"}


def test_what_is_not_known_of_a_run_is_none() -> None:
    unpriced = values_of(totals(ATTEMPTS, 4.0))
    assert unpriced["cost"] is unpriced["cost of 1,000 answers"] is None
    untimed = values_of(totals(ATTEMPTS, 0.0, PriceTable("EUR", 2, 10, per_hour=1.8)))
    assert untimed["cost"] is untimed["answers a second"] is untimed["output tokens a second"] is None
    tokens_alone = values_of(totals(ATTEMPTS, 0.0, PriceTable("EUR", 2, 10)))
    assert tokens_alone["cost"] == pytest.approx(0.0026, abs=1e-12)
    nobody = values_of(totals([], 4.0, PriceTable("EUR", 2, 10)))
    assert (nobody["cost"], nobody["cost of 1,000 answers"]) == (0, None)
