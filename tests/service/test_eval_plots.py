"""Axes have round ticks, plots put numbers where they belong, curves equal those worked out by hand."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from itertools import pairwise
from math import inf, isfinite, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.evaluation.asking.attempts import Attempt, CandidateSeen, Passage, StatementSeen
from service.evaluation.failing.failures import Failure
from service.evaluation.report.axes import MOST_TICKS, Axis, decades, shares, steps, up_to, whole_decades
from service.evaluation.report.content import Asked
from service.evaluation.report.curves import recall_by_k, risk_coverage
from service.evaluation.report.plots import (
    LABELS_AT_MOST,
    Mark,
    Row,
    Series,
    bars,
    interval_bar,
    lines_plot,
    rows_plot,
)
from service.evaluation.report.written import amount, difference, milliseconds, seconds_or_less, share
from service.evaluation.scoring.measures import measure
from service.evaluation.sets.cases import Case, Quote

# --- axes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 1, (0, 0.2, 0.4, 0.6, 0.8, 1)),
        (0, 0.5, (0, 0.1, 0.2, 0.3, 0.4, 0.5)),
        (0, 0.03, (0, 0.01, 0.02, 0.03)),
        (0, 10, (0, 2, 4, 6, 8, 10)),
        (0, 5000, (0, 1000, 2000, 3000, 4000, 5000)),
        (-0.3, 0.25, (-0.3, -0.2, -0.1, 0, 0.1, 0.2)),
        (0, 6, (0, 2, 4, 6)),
    ],
)
def test_ticks_are_round(low: float, high: float, ticks: Sequence[float]) -> None:
    assert steps(low, high) == pytest.approx(ticks)


@given(st.floats(-1e4, 1e4), st.floats(1e-3, 1e4))
def test_ticks_are_few_evenly_spaced_and_within(low: float, span: float) -> None:
    ticks = steps(low, low + span)
    assert 2 <= len(ticks) <= MOST_TICKS
    assert low - span * 1e-6 <= ticks[0] < ticks[-1] <= low + span * (1 + 1e-6)
    step = ticks[1] - ticks[0]
    assert [b - a for a, b in pairwise(ticks)] == pytest.approx([step] * (len(ticks) - 1))


def test_logarithmic_ticks_are_powers_of_ten() -> None:
    assert decades(1, 10_000) == pytest.approx((1, 10, 100, 1_000, 10_000))
    assert decades(0.2, 20) == pytest.approx((1, 10))


@pytest.mark.parametrize(
    ("values", "high"), [([0.31, 0.2], 0.5), ([7], 10), ([2], 2), ([2100, nan], 5000), ([], 1), ([0, 0], 1)]
)
def test_an_axis_ends_at_a_round_number(values: Sequence[float], high: float) -> None:
    assert up_to("", values).high == pytest.approx(high)


def test_a_logarithmic_axis_spans_whole_decades() -> None:
    axis = whole_decades("", [0.2, 38, 2460, inf], 1.0)
    assert (axis.low, axis.high) == pytest.approx((10, 10_000))
    assert axis.share(100) == pytest.approx(1 / 3)
    assert axis.share(0) == 0
    assert whole_decades("", [], 1.0).high == 10


@given(st.floats(0, 1), st.floats(0, 1))
def test_places_on_an_axis_keep_the_order_and_stay_on_it(a: float, b: float) -> None:
    for axis in (shares(""), Axis("", 0.01, 10, log=True), Axis("", 0.3, 0.6)):
        assert 0 <= axis.share(min(a, b)) <= axis.share(max(a, b)) <= 1


# --- drawings ----------------------------------------------------------------------------------


def drawn(svg: str) -> ET.Element:
    root = ET.fromstring(svg)
    title = root.find("title")
    assert root.get("role") == "img"
    assert title is not None
    assert "nan" not in svg
    assert "inf" not in svg
    return root


def test_marks_stand_where_their_values_are_and_spans_from_low_to_high() -> None:
    row = Row("zh (12)", (Mark(0.5, "dot", 1),), (0.25, 0.75), "0.500")
    root = drawn(rows_plot("right by language", shares("right"), [row]))
    (dot,) = root.findall("g/circle")
    (span,) = root.findall("g/line")
    start, end = float(span.get("x1", "")), float(span.get("x2", ""))
    assert float(dot.get("cx", "")) == pytest.approx((start + end) / 2, abs=0.02)
    base = root.find("line[@class='base']")
    assert base is not None
    left, right = float(base.get("x1", "")), float(base.get("x2", ""))
    assert start == pytest.approx(left + 0.25 * (right - left), abs=0.02)
    assert [one.text for one in root.findall("g/text")] == ["zh (12)", "0.500"]


def test_a_bar_begins_at_zero() -> None:
    root = drawn(bars("failed", up_to("failed", [4]), [("not_found", 4, "4"), ("not_parsed", 1, "1")]))
    whole, quarter = root.findall("g/line[@class='bar']")
    lengths = [float(one.get("x2", "")) - float(one.get("x1", "")) for one in (whole, quarter)]
    assert lengths[0] == pytest.approx(4 * lengths[1], abs=0.05)


def test_a_lower_value_is_drawn_lower() -> None:
    series = [Series("quality", ((0, 0.2), (1, 0.9)), ((0, 0.1, 0.3), (1, 0.8, 1.0)))]
    root = drawn(lines_plot("quality", shares("budget"), shares("quality"), series))
    line = root.find("polyline")
    assert line is not None
    (x1, y1), (x2, y2) = (map(float, point.split(",")) for point in line.get("points", "").split())
    assert x1 < x2
    assert y1 > y2
    assert len(root.findall("polygon")) == 1


def test_lines_are_told_apart_by_dashes_too() -> None:
    series = [Series(name, ((0, 0), (1, 1))) for name in "abcdef"]
    root = drawn(lines_plot("", shares(""), shares(""), series))
    dashes = [one.get("stroke-dasharray") for one in root.findall("polyline")]
    assert len(set(dashes)) == 6
    assert [one.text for one in root.findall("text")][:6] == list("abcdef")


def test_what_is_not_finite_is_left_out() -> None:
    rows = [Row("a", (Mark(nan, "dot", 1), Mark(inf, "square", 2)), (nan, 1)), Row("b", (), (0, inf))]
    assert not drawn(rows_plot("", shares(""), rows)).findall("g/circle")
    drawn(lines_plot("", shares(""), shares(""), [Series("", ((0, nan), (inf, 1)), ((0, nan, 1),))]))
    drawn(interval_bar(nan, 0, nan, "not known"))


def test_nothing_to_draw_is_still_a_drawing() -> None:
    drawn(rows_plot("none", shares(""), []))
    drawn(lines_plot("none", shares(""), shares(""), []))


@pytest.mark.parametrize("label", ["a" * 400, "规" * 400, "<b>" * 90, "\u202e\x00" * 50])
def test_a_long_label_is_cut_and_told_in_full(label: str) -> None:
    root = drawn(rows_plot("", shares(""), [Row(label, (Mark(1, "ring", 1),))]))
    shown, title = root.find("g/text"), root.find("g/title")
    assert shown is not None
    assert title is not None
    assert (shown.text or "").endswith("…")
    assert float(shown.get("x", "")) <= LABELS_AT_MOST
    assert len(title.text or "") > len(shown.text or "")


# --- numbers -----------------------------------------------------------------------------------


def test_numbers_are_written_with_the_places_they_have() -> None:
    assert [share(one) for one in (0.87449, 1, None, nan)] == ["0.874", "1.000", "–", "–"]
    assert [difference(one) for one in (0.1, -0.0125, 0)] == ["+0.100", "−0.013", "+0.000"]
    assert [milliseconds(one) for one in (2310.4, 0.21, 0.0, 12.5, None)] == ["2,310", "<1", "0", "12", "–"]
    assert [amount(one) for one in (374_400.0, 0.4124, None)] == ["374,400", "0.412", "–"]
    assert [seconds_or_less(one) for one in (1, 100, 1000, 60_000)] == ["1", "100", "1 s", "60 s"]


# --- curves ------------------------------------------------------------------------------------


def asked(
    wanted: Sequence[str] = (), found: Sequence[str] = (), score: float | None = None, wrong: bool = False
) -> Asked:
    case = Case(
        "q", "?", "en", "hr", "single_fact", "low", "easy", "mila", "answered",
        tuple((Quote(one, ""),) for one in wanted), (),
    )  # fmt: skip
    statement = StatementSeen("s", ("C1",), "supported", "support", "", score, True)
    candidates = tuple(
        CandidateSeen(
            Passage(one.removeprefix("!"), 0, 1, "x"), rank, None, rank, one[0] != "!", None, None, None
        )
        for rank, one in enumerate(found, start=1)
    )
    attempt = Attempt("q", "answered", statements=(statement,), candidates=candidates)
    return Asked(case, attempt, {}, Failure("not_found", "") if wrong else None)


def test_risk_grows_as_less_sure_answers_are_given() -> None:
    run = [
        asked(score=0.9),
        asked(score=0.7, wrong=True),
        asked(score=0.8),
        asked(score=0.7),
        asked(score=None, wrong=True),
    ]
    assert risk_coverage(run) == ((1 / 4, 0), (2 / 4, 0), (4 / 4, 1 / 4))


def test_without_a_score_there_is_no_curve() -> None:
    assert risk_coverage([asked()]) == ()
    assert risk_coverage([]) == ()


def test_recall_counts_different_documents_that_were_given() -> None:
    curve = dict(recall_by_k([asked(["a", "b"], ["x", "x", "!b", "a", "b"]), asked(), asked(["c"], ["c"])]))
    assert [curve[k] for k in (1, 2, 3, 10)] == pytest.approx([(0 + 1) / 2, (0.5 + 1) / 2, 1, 1])
    assert recall_by_k([asked()]) == ()


DOCUMENTS = st.sampled_from([f"d{number}" for number in range(14)])
RANKED = st.tuples(st.sets(DOCUMENTS, min_size=1, max_size=4), st.lists(DOCUMENTS, max_size=20))


@given(st.lists(RANKED, min_size=1, max_size=4))
def test_recall_agrees_with_pytrec_eval(questions: list[tuple[set[str], list[str]]]) -> None:
    curve = dict(recall_by_k([asked(sorted(wanted), found) for wanted, found in questions]))
    rankings = {str(at): list(dict.fromkeys(found)) for at, (_, found) in enumerate(questions)}
    figures = measure(rankings, {str(at): frozenset(wanted) for at, (wanted, _) in enumerate(questions)})
    assert curve[5] == pytest.approx(figures["recall@5"], abs=1e-9)
    assert curve[10] == pytest.approx(figures["recall@10"], abs=1e-9)
    assert all(isfinite(one) for one in curve.values())
