"""A report is one whole HTML file that shows everything that was seen of a run."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from service.evaluation.asking.attempts import Attempt, Ended
from service.evaluation.failing.failures import LAYERS, Failure
from service.evaluation.report.content import Asked
from service.evaluation.report.figure_tables import verdict
from service.evaluation.report.page import SECTIONS, report_page
from service.evaluation.scoring.compare import Difference
from tests.service.reports import EMPTY, Read, a_report, asked, read

# --- one file ----------------------------------------------------------------------------------


def test_nothing_is_fetched() -> None:
    page = report_page(a_report())
    assert not re.search(
        r"src=|href=\"?(?!\"?#)|@import|url\(|https?:|//[a-z]", page.replace("// Filters", "")
    )


def test_a_page_is_the_same_each_time() -> None:
    assert report_page(a_report()) == report_page(a_report())


# --- what it shows -----------------------------------------------------------------------------


def ids(page: Read) -> list[str]:
    return [value for _, name, value in page.attributes if name == "id"]


def test_all_sections_are_there_in_order_and_linked() -> None:
    page = read(a_report())
    assert [one for one in ids(page) if one in SECTIONS] == list(SECTIONS)
    assert {f"#{name}" for name in SECTIONS} <= {
        value for _, name, value in page.attributes if name == "href"
    }


def test_comparison_and_sweep_are_shown_only_if_given() -> None:
    page = read(replace(a_report(), comparison=None, sweep=None))
    assert set(SECTIONS) - set(ids(page)) == {"comparison", "budget"}


def test_ids_are_unique_and_every_link_has_its_end() -> None:
    page = read(a_report())
    assert len(set(ids(page))) == len(ids(page))
    assert {value for _, name, value in page.attributes if name == "href"} <= {f"#{one}" for one in ids(page)}


def test_a_failed_question_shows_all_that_was_seen_of_it() -> None:
    shown = read(a_report("年假 leave")).shown()
    parts = (
        "Expected",
        "Came instead",
        "Statements (1)",
        "Citations (1)",
        "Evidence as packed (1)",
        "Candidates (2)",
    )
    for part in (*parts, "✗ not_supported", "0.512", "✓ held", "beside.md", "3,120 in"):
        assert part in shown
    assert LAYERS["not_found"] in shown


def test_numbers_have_three_decimals_and_milliseconds_none() -> None:
    shown = read(a_report()).shown()
    for part in (
        "0.874",
        "0.800 to 0.900",
        "1,234",
        "2,310",
        "<1",
        "+0.100",
        "374,400",
        "↓ lower",
        "↑ higher",
    ):
        assert part in shown
    assert "2310.4" not in shown
    assert "0.87449" not in shown


def test_a_marker_leads_to_its_citation_and_one_without_is_marked() -> None:
    page = read(a_report())
    assert ("a", "href", "#f1-C1") in page.attributes
    assert "f1-C1" in ids(page)
    assert page.all_of("mark") == "[C7]"


def test_texts_say_their_language_so_that_each_gets_its_own_signs() -> None:
    page = read(a_report("员工每年有十五天年假。"))
    assert {value for tag, name, value in page.attributes if name == "lang" and tag in ("q", "span")} >= {
        "zh"
    }
    assert ("html", "lang", "en") in page.attributes


def test_failed_questions_say_what_the_filters_look_for() -> None:
    page = read(a_report("年假"))
    (filed,) = [value for _, name, value in page.attributes if name == "data-in"]
    assert filed == '{"layer": "not_found", "language": "年假", "kind": "single_fact"}'
    offered = [value for tag, name, value in page.attributes if tag == "select" and name == "name"]
    assert offered == ["layer", "language", "kind"]


def test_a_sanity_row_that_does_not_hold_is_cried_out() -> None:
    shown = read(a_report()).shown()
    assert "1 of 2 do not hold: trust no figure above." in shown
    assert "✗ does not hold" in shown


@pytest.mark.parametrize(
    ("name", "after", "low", "high", "said"),
    [
        ("right", 0.6, 0.05, 0.2, "better"),
        ("right", 0.4, -0.2, -0.05, "worse"),
        ("over_refusal", 0.6, 0.05, 0.2, "worse"),
        ("over_refusal", 0.4, -0.2, -0.05, "better"),
        ("right", 0.6, -0.01, 0.2, "unclear"),
        ("right", 0.6, 0.0, 0.2, "unclear"),
        ("never heard of", 0.6, 0.05, 0.2, "changed"),
    ],
)
def test_a_change_is_judged_by_which_way_is_better(
    name: str, after: float, low: float, high: float, said: str
) -> None:
    assert verdict(Difference(name, "all", "all", 0.5, after, low, high, 0.03, 40)) == said


# --- little to show ----------------------------------------------------------------------------


def test_an_empty_run_has_a_page() -> None:
    shown = read(EMPTY).shown()
    for said in ("There are no figures.", "None failed.", "None was right.", "Nothing was timed."):
        assert said in shown


def test_one_right_question_is_enough() -> None:
    one = replace(EMPTY, asked=(asked("年假 leave", None),))
    shown = read(one).shown()
    assert "right, 100%" in shown
    assert "None failed." in shown


@pytest.mark.parametrize("ended", ["error", "missing", "refused"])
def test_an_attempt_of_which_nothing_was_seen_has_a_place(ended: Ended) -> None:
    case = replace(asked("x", None).case, evidence=(), answers=(), follows=None, standalone=None)
    bare = replace(Attempt("q1", "missing"), ended=ended)
    failed = Asked(case, bare, {}, Failure("failed", "model_timeout"))
    shown = read(replace(EMPTY, asked=(failed,))).shown()
    assert ended in shown
    assert "Statements: none" in shown
