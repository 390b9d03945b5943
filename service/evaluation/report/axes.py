"""Axes of plots: from where to where, with ticks at round numbers. Knows nothing of drawing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10

ROUND = (1, 2, 5, 10)  # a tick's step, or an axis's end, is one of these times a power of ten
MOST_TICKS = 6
SLACK = 1e-9  # what a division may be off by


@dataclass(frozen=True, slots=True)
class Axis:
    title: str
    low: float
    high: float  # above low
    log: bool = False  # then low > 0
    show: Callable[[float], str] = "{:g}".format  # how a tick is written

    def share(self, value: float) -> float:
        """Where `value` lies between low and high, 0..1; what lies outside is put at the end."""
        within = min(max(value, self.low), self.high)
        low, high, at = (log10(one) if self.log else one for one in (self.low, self.high, within))
        return (at - low) / (high - low)

    def ticks(self) -> tuple[float, ...]:
        return decades(self.low, self.high) if self.log else steps(self.low, self.high)


def shares(title: str) -> Axis:
    return Axis(title, 0, 1)


def up_to(title: str, values: Iterable[float], show: Callable[[float], str] = "{:g}".format) -> Axis:
    """From 0 to a round number that all of `values` stay below or reach; 1 where none is above 0."""
    highest = max(filter(isfinite, values), default=0)
    if highest <= 0:
        return Axis(title, 0, 1, show=show)
    power = 10.0 ** floor(log10(highest))
    return Axis(title, 0, next(one * power for one in ROUND if one * power >= highest), show=show)


def whole_decades(
    title: str, values: Iterable[float], at_least: float, show: Callable[[float], str] = "{:g}".format
) -> Axis:
    """A logarithmic axis between two powers of ten that hold all of `values` from `at_least` on."""
    kept = [one for one in values if isfinite(one) and one >= at_least] or [at_least]
    low, high = floor(log10(min(kept))), ceil(log10(max(kept)))
    return Axis(title, 10.0**low, 10.0 ** max(high, low + 1), log=True, show=show)


def steps(low: float, high: float) -> tuple[float, ...]:
    """Multiples of a round step within `low` and `high`: as many as there can be up to MOST_TICKS."""
    power = 10.0 ** floor(log10((high - low) / MOST_TICKS))
    ticks = (_multiples(low, high, one * power) for one in ROUND)
    return next(found for found in ticks if len(found) <= MOST_TICKS)


def decades(low: float, high: float) -> tuple[float, ...]:
    """The powers of ten within `low` and `high`."""
    return tuple(10.0**power for power in range(ceil(log10(low) - SLACK), floor(log10(high) + SLACK) + 1))


def _multiples(low: float, high: float, step: float) -> tuple[float, ...]:
    first, last = ceil(low / step - SLACK), floor(high / step + SLACK)
    return tuple(round(number * step, 12) for number in range(first, last + 1))
