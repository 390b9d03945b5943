"""Numbers as a report writes them: shares with three decimals, milliseconds with none, "–" for nothing."""

from __future__ import annotations

from math import isfinite

NONE = "–"
MINUS = "\u2212"


def share(value: float | None) -> str:
    return NONE if value is None or not isfinite(value) else f"{value:.3f}".replace("-", MINUS)


def difference(value: float | None) -> str:
    return NONE if value is None or not isfinite(value) else f"{value:+.3f}".replace("-", MINUS)


def interval(low: float, high: float) -> str:
    return f"{share(low)} to {share(high)}"


def milliseconds(value: float | None) -> str:
    if value is None or not isfinite(value):
        return NONE
    return "<1" if 0 < value < 0.5 else f"{value:,.0f}"


def seconds_or_less(value: float) -> str:
    """Milliseconds short enough for a tick: 100, 1 s, 10 s."""
    return f"{value / 1000:g} s" if value >= 1000 else f"{value:g}"


def amount(value: float | None) -> str:
    """Of tokens, errors, money: whole numbers as such, others with up to three decimals."""
    return NONE if value is None or not isfinite(value) else f"{round(value, 3):,}".removesuffix(".0")


def percent(value: float) -> str:
    return f"{value:.0%}"
