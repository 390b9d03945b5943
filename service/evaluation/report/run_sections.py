"""The sections of a report about the run as a whole: plots, failures by layer, timings, sanity, versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import isfinite

from service.evaluation.failing.failures import LAYERS
from service.evaluation.report.axes import Axis, shares, up_to, whole_decades
from service.evaluation.report.blocks import beside, foreign, nothing, pairs, plots, section, table
from service.evaluation.report.content import Asked, Report, Sweep
from service.evaluation.report.curves import DEPTH, recall_by_k, risk_coverage
from service.evaluation.report.markup import Markup, element
from service.evaluation.report.plots import Legend, Mark, Row, Series, bars, lines_plot, rows_plot
from service.evaluation.report.written import amount, milliseconds, seconds_or_less, share
from service.evaluation.scoring.figures import Phase, Total
from service.evaluation.scoring.sanity import SanityRow

LANGUAGE = "language"  # the way to slice that gets a line of its own each
LINES = 6  # that can be told apart
SHORTEST_MS = 1.0  # what took less is put at the edge of the plot


# --- curves ------------------------------------------------------------------------------------


def curves(asked: Sequence[Asked]) -> Markup:
    return section(
        "curves",
        "Sureness and depth",
        "Risk: if only the surest answers were given, what share of them would be wrong? An answer is as "
        "sure as the best score of its statements. Recall: what share of a question's documents is among the "
        "first k found, before reranking?",
        plots((("Risk and coverage", _risk(asked)), ("Recall by k", _recall(asked)))),
    )


def _risk(asked: Sequence[Asked]) -> Markup:
    points = risk_coverage(asked)
    if not points:
        return nothing("No answer has a score.")
    up = up_to("share that is wrong", (risk for _, risk in points))
    return lines_plot(
        "Share of wrong answers by share of answers given, the surest first",
        shares("share of the answers given"),
        up,
        [Series("answers", points)],
    )


def _recall(asked: Sequence[Asked]) -> Markup:
    languages = dict.fromkeys(one.slices.get(LANGUAGE, "") for one in asked)
    parts = [("all", asked)]
    if len(languages) > 1:
        parts += [
            (name, [one for one in asked if one.slices.get(LANGUAGE, "") == name]) for name in languages
        ]
    series = [Series(name, points) for name, of_it in parts if (points := recall_by_k(of_it))][:LINES]
    if not series:
        return nothing("No question has evidence.")
    across = Axis("k, documents", 0, DEPTH)
    return lines_plot("Recall of documents by k, all and by language", across, shares("recall"), series)


# --- layers ------------------------------------------------------------------------------------


def layers(failed: Sequence[Asked]) -> Markup:
    counts = Counter(one.failure.layer for one in failed if one.failure).most_common()
    if not counts:
        return section(
            "layers", "Failures by layer", "Where wrong answers went wrong.", nothing("None failed.")
        )
    rows = [(layer, float(count), f"{count:,}") for layer, count in counts]
    drawn = bars(
        "Failed questions by layer", up_to("failed questions", (count for _, count, _ in rows)), rows
    )
    told = [(element("code", layer), f"{count:,}", LAYERS[layer]) for layer, count in counts]
    return section(
        "layers",
        "Failures by layer",
        "Where wrong answers went wrong: the first stage that lost what was needed.",
        beside(
            (("Failed questions by layer", drawn),),
            table(("Layer", "Failed", "Where to look"), told, "Failures by layer", "", (1,)),
        ),
    )


# --- timings -----------------------------------------------------------------------------------


def timings(phases: Sequence[Phase], totals: Sequence[Total]) -> Markup:
    rows = [
        (one.name, milliseconds(one.p50), milliseconds(one.p95), milliseconds(one.p99), f"{one.attempts:,}")
        for one in phases
    ]
    headers = ("Phase", "p50 ms", "p95 ms", "p99 ms", "Attempts")
    return section(
        "timings",
        "Latency by phase",
        "Percentiles by nearest rank, in milliseconds; one that too few attempts can tell is left out.",
        beside(
            (("Latency percentiles", _latencies(phases)),),
            table(headers, rows, "Latency by phase", "", (1, 2, 3, 4)),
        )
        if phases
        else nothing("Nothing was timed."),
        pairs((one.name, f"{amount(one.value)} {one.unit}".strip()) for one in totals) if totals else None,
    )


def _latencies(phases: Sequence[Phase]) -> Markup:
    rows = [Row(one.name, tuple(_percentiles(one)), _from_to(one), milliseconds(one.p50)) for one in phases]
    values = [mark.at for row in rows for mark in row.marks]
    axis = whole_decades("milliseconds, logarithmic; p50 at the right", values, SHORTEST_MS, seconds_or_less)
    legend: Legend = (("p50", "dot"), ("p95", "square"), ("p99", "diamond"))
    return rows_plot("Percentiles of each phase's milliseconds", axis, rows, legend)


def _percentiles(one: Phase) -> Iterator[Mark]:
    if one.p50 is not None:
        yield Mark(one.p50, "dot", 1)
    if one.p95 is not None:
        yield Mark(one.p95, "square", 2)
    if one.p99 is not None:
        yield Mark(one.p99, "diamond", 3)


def _from_to(one: Phase) -> tuple[float, float] | None:
    known = [value for value in (one.p50, one.p95, one.p99) if value is not None and isfinite(value)]
    return (min(known), max(known)) if known else None


# --- evidence budget ---------------------------------------------------------------------------


def budget(sweep: Sweep) -> Markup:
    points = sorted(sweep.points, key=lambda one: one.evidence_tokens)
    across = up_to("tokens of evidence", (one.evidence_tokens for one in points), "{:,.0f}".format)
    quality = Series(
        sweep.figure,
        tuple((one.evidence_tokens, one.quality) for one in points),
        tuple((one.evidence_tokens, one.low, one.high) for one in points),
    )
    timed = tuple((one.evidence_tokens, one.ttft_ms) for one in points if one.ttft_ms is not None)
    up = up_to("TTFT, median ms", (ttft for _, ttft in timed), "{:,.0f}".format)
    drawn = [(sweep.figure, lines_plot(f"{sweep.figure} by budget", across, shares(sweep.figure), [quality]))]
    drawn += [("TTFT", lines_plot("TTFT by budget", across, up, [Series("TTFT", timed)]))] if timed else []
    rows = [
        (
            f"{one.evidence_tokens:,}",
            share(one.quality),
            f"{share(one.low)} to {share(one.high)}",
            milliseconds(one.ttft_ms),
        )
        for one in points
    ]
    headers = ("Tokens of evidence", sweep.figure, "95 % interval", "TTFT, median ms")
    return section(
        "budget",
        "Quality and TTFT by evidence budget",
        "What more evidence brings, and what it costs; the band is the 95 % interval.",
        plots(drawn),
        table(headers, rows, "Quality and TTFT by evidence budget", "", (0, 1, 2, 3)),
    )


# --- sanity, versions --------------------------------------------------------------------------


def sanity(rows: Sequence[SanityRow]) -> Markup:
    broken = sum(not one.holds for one in rows)
    told = (
        f"{broken} of {len(rows)} do not hold: trust no figure above." if broken else f"All {len(rows)} hold."
    )
    cells = [
        (
            one.attempts,
            one.figure,
            one.expected,
            share(one.value),
            _holds(one.holds),
            ", ".join(worth_a_look(one)),
        )
        for one in rows
    ]
    return section(
        "sanity",
        "Sanity",
        "Attempts made up from the set itself, whose figures are known before.",
        element("p", told, class_="broken" if broken else None) if rows else nothing("None were made up."),
        table(("Attempts", "Figure", "Must be", "Is", "So it", "Worth a look"), cells, "Sanity", "", (3,))
        if rows
        else None,
    )


def worth_a_look(row: SanityRow) -> tuple[str, ...]:
    """Questions that may tell why a figure is not what it must be."""
    return () if row.holds else row.cases


def _holds(holds: bool) -> Markup:
    return element("span", "✓ holds" if holds else "✗ does not hold", class_="yes" if holds else "no")


def versions(report: Report) -> Markup:
    return section(
        "versions",
        "Versions and how to reproduce",
        "What made the answers. The same versions, set and seed give the same figures, short of timings.",
        pairs(
            [
                ("set", report.case_set),
                *((name, foreign(said, "code")) for name, said in report.versions.items()),
            ]
        ),
        element("pre", "\n".join(report.commands)) if report.commands else None,
    )
