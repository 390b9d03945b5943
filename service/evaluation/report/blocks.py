"""What the sections of a report are made of: tables, plots side by side, what unfolds, foreign text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ingest.read.language import language_of
from service.evaluation.report.markup import Markup, element

Cells = Sequence[str]


def section(name: str, title: str, lead: str, *body: str | None) -> Markup:
    """`name` is what links within the page call it."""
    head = element("h2", title), element("p", lead, class_="lead")
    return element("section", *head, *body, id=name)


def table(
    headers: Cells, rows: Iterable[Cells], label: str, kind: str = "", numbers: Sequence[int] = ()
) -> Markup:
    """Scrolls sideways where it does not fit. `numbers`: the columns that hold some."""
    styles = ["number" if place in numbers else None for place in range(len(headers))]
    head = [element("th", one, scope="col", class_=style) for one, style in zip(headers, styles, strict=True)]
    body = (
        element("tr", *(element("td", one, class_=style) for one, style in zip(row, styles, strict=True)))
        for row in rows
    )
    whole = element(
        "table", element("thead", element("tr", *head)), element("tbody", *body), class_=kind or None
    )
    return element("div", whole, class_="scroll", role="region", aria_label=label, tabindex=0)


def plots(drawn: Iterable[tuple[str, Markup]]) -> Markup:
    """Under their captions, as many side by side as there is room for."""
    figures = (element("figure", element("figcaption", caption), plot) for caption, plot in drawn)
    return element("div", *figures, class_="plots")


def beside(drawn: Iterable[tuple[str, Markup]], shown: Markup) -> Markup:
    """Plots with a table that says more of the same."""
    return element("div", plots(drawn), shown, class_="beside")


def folded(summary: str, *body: str | None, opened: bool = False) -> Markup:
    return element("details", element("summary", summary), *body, open=opened)


def pairs(rows: Iterable[Cells]) -> Markup:
    """Names and what they stand for."""
    parts = (part for name, said in rows for part in (element("dt", name), element("dd", said)))
    return element("dl", *parts)


def foreign(text: str, tag: str = "span", kind: str | None = None, shown: Markup | None = None) -> Markup:
    """Text that somebody else wrote: in its own language and direction, which end where it ends.

    :param shown: the text with its parts marked up already.
    """
    language = language_of(text)
    said = None if language == "und" else language
    return element(tag, text if shown is None else shown, lang=said, dir="auto", class_=kind)


def nothing(said: str) -> Markup:
    return element("p", said, class_="nothing")
