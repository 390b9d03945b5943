"""Figures of a run: means of scores with intervals, over all questions and by slice; times, tokens and cost.

Nothing is made up: a mean over nothing is left out, a percentile that the attempts are too few for is None.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np

from service.evaluation.asking.attempts import Attempt
from service.evaluation.sets.cases import Case
from service.percentile import percentile_if_enough

Scored = Mapping[str, Mapping[str, float | None]]  # case id -> name of a score -> its value
Ways = Mapping[str, Mapping[str, str]]  # case id -> way to slice -> slice, as `Case.slices` tells it
ALL = "all"

RESAMPLES = 2_000
SEED = 20_26
INTERVAL = (0.025, 0.975)  # quantiles of the resampled means: 95 %

# In the order in which they happen; milliseconds.
PHASES = (
    "retrieve",
    "look_up",
    "rerank",
    "pack",
    "sufficiency",
    "queue",
    "prefill",
    "ttft",
    "itl_p50",
    "decode",
    "generate",
    "check",
    "check_longest",
    "first_statement",
    "e2e",
)
REJECTIONS = frozenset({"over_budget", "queue_full", "no_capacity", "rate"})  # codes, before any work
MILLION, SECONDS_AN_HOUR = 1_000_000, 3_600


@dataclass(frozen=True, slots=True)
class Figure:
    """The mean of one score over questions, with its 95 % interval."""

    name: str
    by: str  # "all", or a way to slice
    slice: str
    value: float
    low: float
    high: float
    items: int  # questions that it is the mean of


@dataclass(frozen=True, slots=True)
class Phase:
    """Percentiles of the milliseconds that one phase took; None where the attempts are too few for one."""

    name: str
    p50: float | None
    p95: float | None
    p99: float | None
    attempts: int  # that have it


@dataclass(frozen=True, slots=True)
class Total:
    """One number about the whole run; None: not known."""

    name: str
    value: float | None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class PriceTable:
    """What is paid for tokens, where they are bought, and for the machine, by the hour."""

    currency: str
    per_million_input: float = 0.0
    per_million_output: float = 0.0
    per_hour: float = 0.0


# --- means -------------------------------------------------------------------------------------


def figures(cases: Sequence[Case], scores: Scored, ways: Ways) -> tuple[Figure, ...]:
    """The mean of every score over the questions that have it: over all, then for each slice of each way.

    Scores come in the order in which they are first met, ways and slices too.

    :raises KeyError: for a case without scores: one that was not asked has them as well.
    """
    names = dict.fromkeys(name for case in cases for name in scores[case.id])
    parts = members(cases, ways)
    return tuple(
        _figure(name, by, part, values)
        for name in names
        for (by, part), ids in parts.items()
        if (values := [value for one in ids if (value := scores[one].get(name)) is not None])
    )


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The middle 95 % of the means of resamples (percentile bootstrap), whatever the order of values.

    Instead of questions, how often each different value is drawn is drawn: the same distribution.
    """
    different, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    drawn = np.random.default_rng(SEED).multinomial(len(values), counts / len(values), RESAMPLES)
    means = np.clip(drawn @ different / len(values), different[0], different[-1])
    low, high = np.quantile(means, INTERVAL)
    return float(low), float(high)


def members(cases: Sequence[Case], ways: Ways) -> dict[tuple[str, str], list[str]]:
    """(way, slice) -> ids of its cases, way by way."""
    found: dict[tuple[str, str], list[str]] = {(ALL, ALL): [case.id for case in cases]}
    for by in dict.fromkeys(by for case in cases for by in ways[case.id]):
        for case in cases:
            if by in ways[case.id]:
                found.setdefault((by, ways[case.id][by]), []).append(case.id)
    return found


def _figure(name: str, by: str, part: str, values: Sequence[float]) -> Figure:
    low, high = interval(values)
    return Figure(name, by, part, fsum(values) / len(values), low, high, len(values))


# --- times, tokens, cost -----------------------------------------------------------------------


def percentiles(attempts: Sequence[Attempt]) -> tuple[Phase, ...]:
    """A row for each of PHASES, over the attempts that have it, failed ones too."""
    return tuple(
        _phase(name, [one.timings_ms[name] for one in attempts if name in one.timings_ms]) for name in PHASES
    )


def totals(
    attempts: Sequence[Attempt], seconds: float, prices: PriceTable | None = None
) -> tuple[Total, ...]:
    """Attempts by their end, tokens, throughput and cost.

    :param attempts: those that were made in these seconds, and no others.
    :param seconds: of asking, wall clock; 0: not measured.
    :param prices: None: the cost is not known.
    """
    return tuple(_totals(attempts, seconds, prices))


def _totals(attempts: Sequence[Attempt], seconds: float, prices: PriceTable | None) -> Iterator[Total]:
    codes = Counter(one.error or "unknown" for one in attempts if one.ended == "error")
    rejected = sum(count for code, count in codes.items() if code in REJECTIONS)
    came_back = sum(one.ended in ("answered", "refused") for one in attempts)
    read, written = sum(one.input_tokens for one in attempts), sum(one.output_tokens for one in attempts)
    yield Total("attempts", len(attempts))
    yield Total("missing", sum(one.ended == "missing" for one in attempts))
    yield Total("errors", codes.total() - rejected)
    yield Total("rejections", rejected)
    for code, count in sorted(codes.items()):
        yield Total(f"error {code}", count)
    yield Total("input tokens", read)
    yield Total("output tokens", written)
    yield Total("answers a second", came_back / seconds if seconds else None)
    yield Total("output tokens a second", written / seconds if seconds else None)
    cost = _cost(read, written, seconds, prices) if prices else None
    unit = prices.currency if prices else ""
    yield Total("cost", cost, unit)
    yield Total(
        "cost of 1,000 answers", cost / came_back * 1_000 if cost is not None and came_back else None, unit
    )


def _cost(read: int, written: int, seconds: float, prices: PriceTable) -> float | None:
    """None if the machine costs something and its time is not known."""
    if prices.per_hour and not seconds:
        return None
    tokens = read * prices.per_million_input + written * prices.per_million_output
    return tokens / MILLION + seconds / SECONDS_AN_HOUR * prices.per_hour


def _phase(name: str, values: Sequence[float]) -> Phase:
    p50, p95, p99 = (percentile_if_enough(values, percent) for percent in (50, 95, 99))
    return Phase(name, p50, p95, p99, len(values))
