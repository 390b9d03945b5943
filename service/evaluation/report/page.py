"""A report as one HTML file that needs nothing else: no network, and a script only for its filters.

The page's own policy lets only that style and script work with which it was made, so that nothing in a
document or an answer could, even if it came through unescaped.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files

from service.evaluation.report import figure_tables, questions, run_sections
from service.evaluation.report.content import Report
from service.evaluation.report.markup import Markup, element
from service.evaluation.report.written import percent

SECTIONS = {  # id -> what links to it say
    "headline": "Headline",
    "slices": "Slices",
    "comparison": "Before and after",
    "curves": "Sureness and depth",
    "layers": "Failures by layer",
    "timings": "Latency",
    "budget": "Evidence budget",
    "sanity": "Sanity",
    "failed": "Failed",
    "right": "Right",
    "versions": "Versions",
}


def report_page(report: Report) -> str:
    """The whole file, to be written as UTF-8."""
    style, script = _packaged("report.css"), _packaged("report.js")
    page = element("html", _head(report, style, script), _body(report, script), lang="en")
    return f"<!doctype html>\n{page}\n"


def _head(report: Report, style: Markup, script: Markup) -> Markup:
    allowed = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'"
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=f"{allowed}; form-action 'none'"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"Evaluation: {report.case_set}"),
        element("style", style),
    )


def _body(report: Report, script: Markup) -> Markup:
    sections = _sections(report)
    links = (element("a", said, href=f"#{name}") for name, said in SECTIONS.items() if name in sections)
    return element(
        "body",
        element("header", element("h1", report.case_set), _tiles(report), element("nav", *links)),
        element("main", *(sections[name] for name in SECTIONS if name in sections)),
        element("script", script),
    )


def _sections(report: Report) -> dict[str, Markup]:
    sections = {
        "headline": figure_tables.headline(report.figures),
        "slices": figure_tables.slices(report.figures),
        "curves": run_sections.curves(report.asked),
        "layers": run_sections.layers(report.failed),
        "timings": run_sections.timings(report.phases, report.totals),
        "sanity": run_sections.sanity(report.sanity),
        "failed": questions.failed(report.failed),
        "right": questions.right(report.right),
        "versions": run_sections.versions(report),
    }
    if report.comparison:
        sections["comparison"] = figure_tables.before_and_after(report.comparison)
    if report.sweep:
        sections["budget"] = run_sections.budget(report.sweep)
    return sections


def _tiles(report: Report) -> Markup:
    """The run at a glance."""
    asked, right = len(report.asked), len(report.right)
    known = sum(one.holds for one in report.sanity)
    tiles = (
        (f"{asked:,}", "asked"),
        (f"{right:,}", f"right, {percent(right / asked)}" if asked else "right"),
        (f"{asked - right:,}", "failed"),
        (f"{known} of {len(report.sanity)}", "sanity checks hold"),
    )
    return element(
        "ul", *(element("li", element("b", value), " ", said) for value, said in tiles), class_="tiles"
    )


def _packaged(name: str) -> Markup:
    return Markup(files("service.evaluation.report").joinpath(name).read_text("utf-8"))


def _hash(content: Markup) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
