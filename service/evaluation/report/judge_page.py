"""How often a judge is right, as one HTML file: figures by set and language, and reliability plots."""

from __future__ import annotations

from collections.abc import Sequence

from service.evaluation.judging import JudgeRow
from service.evaluation.report.axes import shares
from service.evaluation.report.blocks import plots, section, table
from service.evaluation.report.figures_page import figures_page
from service.evaluation.report.markup import Markup, element
from service.evaluation.report.plots import Series, lines_plot
from service.evaluation.report.written import interval, share

HEADERS = (
    "set", "language", "judge", "part", "claims", "supported", "AUROC", "95 %", "balanced accuracy", "95 %",
    "F1", "95 %", "accuracy", "ECE", "Brier",
)  # fmt: skip
PERFECT = Series("as sure as right", ((0.0, 0.0), (1.0, 1.0)))


def judge_page(rows: Sequence[JudgeRow]) -> str:
    """The whole file, to be written as UTF-8; it needs nothing else."""
    return figures_page("The judge of statements", _figures(rows), _reliability(rows))


def _figures(rows: Sequence[JudgeRow]) -> Markup:
    lead = "Supported is what is labelled so, whole. Intervals are 95 %, by bootstrap over claims."
    shown = table(HEADERS, map(_cells, rows), "Figures", numbers=range(4, len(HEADERS)))
    fitted = (element("p", said) for said in dict.fromkeys(f"Fitted on {row.fitted_on}." for row in rows))
    return section("figures", "Figures", lead, shown, *fitted)


def _cells(row: JudgeRow) -> tuple[str, ...]:
    pairs = (
        (row.auroc, row.auroc_ci),
        (row.balanced_accuracy, row.balanced_accuracy_ci),
        (row.f1, row.f1_ci),
    )
    figures = (said for pair in pairs for said in _with_interval(*pair))
    about = row.set, row.lang, row.judge, row.part, f"{row.items:,}", share(row.supported)
    return (*about, *figures, share(row.accuracy), share(row.ece), share(row.brier))


def _with_interval(value: float | None, within: tuple[float, float] | None) -> tuple[str, str]:
    return share(value), interval(*within) if within else ""


def _reliability(rows: Sequence[JudgeRow]) -> Markup:
    drawn = [(f"{row.set}, {row.lang}, {row.judge}", _plot(row)) for row in rows]
    lead = "How often claims of a score are supported; on the straight line as often as the score says."
    return section("reliability", "Reliability", lead, plots(drawn))


def _plot(row: JudgeRow) -> Markup:
    points = tuple((one.probability, one.share) for one in row.reliability)
    title = f"Reliability of {row.judge} on {row.set}, {row.lang}"
    return lines_plot(title, shares("score"), shares("share supported"), [Series("judge", points), PERFECT])
