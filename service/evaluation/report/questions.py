"""The sections of a report about single questions: failed ones with filters, right ones in brief."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from service.evaluation.asking.attempts import Attempt
from service.evaluation.report.blocks import folded, foreign, nothing, section
from service.evaluation.report.content import Asked
from service.evaluation.report.markup import Markup, element
from service.evaluation.report.question import failed_question, filed_under


def failed(asked: Sequence[Asked]) -> Markup:
    return section(
        "failed",
        "Failed questions",
        "Each with what was expected, what came instead, and what every stage made of it.",
        _filters(asked) if asked else nothing("None failed."),
        *(failed_question(one, f"f{number}") for number, one in enumerate(asked, start=1)),
    )


def right(asked: Sequence[Asked]) -> Markup:
    lines = (
        element(
            "li", element("code", one.case.id), " ", foreign(one.case.question), " ", _outcome(one.attempt)
        )
        for one in asked
    )
    listed = folded(f"All right ones ({len(asked):,})", element("ul", *lines, class_="right"))
    lead = "Answered, or refused, as they had to be."
    return section("right", "Right questions", lead, listed if asked else nothing("None was right."))


def _outcome(attempt: Attempt) -> Markup:
    if attempt.ended == "refused":
        return element("span", f"refused: {attempt.refusal}", class_="quiet")
    return foreign(attempt.answer, "span", "quiet")


# --- filters -----------------------------------------------------------------------------------


def _filters(asked: Sequence[Asked]) -> Markup:
    """Works with the page's script only, and is not shown without it."""
    ways: dict[str, set[str]] = {}
    for one in asked:
        for way, name in filed_under(one).items():
            ways.setdefault(way, set()).add(name)
    choices = (
        element("label", way, element("select", *_options(names), name=way)) for way, names in ways.items()
    )
    return element("form", *choices, element("output", ""), id="filters", hidden=True)


def _options(names: Iterable[str]) -> Iterator[Markup]:
    yield element("option", "any", value="")
    yield from (element("option", name, value=name) for name in sorted(names))
