"""How often questions are refused, rightly and wrongly, as one HTML file with the curves behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from service.evaluation.refusals import Decision, RefusalRow, Refusals, risk_coverage
from service.evaluation.report.axes import shares
from service.evaluation.report.blocks import plots, section, table
from service.evaluation.report.figures_page import figures_page
from service.evaluation.report.markup import Markup, element
from service.evaluation.report.plots import Series, lines_plot
from service.evaluation.report.written import share

HEADERS = (
    "set", "language", "kind", "unanswerable", "refused", "before drafting", "answerable", "refused wrongly",
    "wrongly before drafting",
)  # fmt: skip
CHANCE = Series("by chance", ((0.0, 0.0), (1.0, 1.0)))


def refusal_page(refusals: Refusals) -> str:
    """The whole file, to be written as UTF-8; it needs nothing else."""
    return figures_page("Refusals", _figures(refusals.rows), _curves(refusals))


def _figures(rows: Sequence[RefusalRow]) -> Markup:
    lead = "Refused: of the questions that the documents do not answer. Refused wrongly: of those they do."
    shown = table(HEADERS, map(_cells, rows), "Figures", numbers=range(3, len(HEADERS)))
    fitted = (element("p", said) for said in dict.fromkeys(f"{row.set}: {row.fitted_on}." for row in rows))
    return section("figures", "Figures", lead, shown, *fitted)


def _cells(row: RefusalRow) -> tuple[str, ...]:
    return (
        row.set,
        row.lang,
        row.kind,
        f"{row.unanswerable:,}",
        share(row.refused_rate),
        share(row.refused_before_drafting_rate),
        f"{row.answerable:,}",
        share(row.over_refusal_rate),
        share(row.over_refused_before_drafting_rate),
    )


def _curves(refusals: Refusals) -> Markup:
    lead = (
        "If only questions of at least some probability were answered: the share of the answerable ones that "
        "would be, and the share of the unanswerable ones. The lower the line, the better they are told "
        "apart."
    )
    drawn = [
        (f"{name}, {language}", _plot(f"{name}, {language}", decisions))
        for name, decided in refusals.decided.items()
        for language, decisions in _by_language(decided)
        if risk_coverage(decisions)
    ]
    return section("curves", "Risk and coverage", lead, plots(drawn))


def _by_language(decided: Sequence[Decision]) -> Iterator[tuple[str, list[Decision]]]:
    for language in dict.fromkeys(one.asked.language for one in decided):
        yield language, [one for one in decided if one.asked.language == language]


def _plot(of: str, decisions: Sequence[Decision]) -> Markup:
    title = f"Unanswerable questions answered by answerable ones answered, {of}"
    lines = [Series("probability that it is answered", risk_coverage(decisions)), CHANCE]
    return lines_plot(title, shares("answerable, answered"), shares("unanswerable, answered"), lines)
