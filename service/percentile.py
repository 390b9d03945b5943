"""Percentiles by nearest rank: each is one of the values, never a number between two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Number = TypeVar("Number", int, float)


def percentile(values: Sequence[Number], percent: int) -> Number:
    """The least of `values` that at least `percent` per cent of them do not exceed; of at least one value."""
    return sorted(values)[max(-(-len(values) * percent // 100) - 1, 0)]


def percentile_if_enough(values: Sequence[Number], percent: int) -> Number | None:
    """None for fewer than 1 / (1 - percent/100) values: then it would be the greatest, whatever that is."""
    return None if len(values) * (100 - percent) < 100 else percentile(values, percent)
