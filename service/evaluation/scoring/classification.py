"""Figures of a yes-or-no decision: a judge's, or whether there is evidence enough.

Truth and decision are given item by item, in the same order. None: there is nothing to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BINS = 10  # of equal width over 0..1


@dataclass(frozen=True, slots=True)
class Bin:
    """Items whose probabilities lie near each other."""

    probability: float  # their mean
    share: float  # of them that are true
    items: int


def accuracy(truth: Sequence[bool], decided: Sequence[bool]) -> float | None:
    return _mean([true == said for true, said in zip(truth, decided, strict=True)])


def balanced_accuracy(truth: Sequence[bool], decided: Sequence[bool]) -> float | None:
    """The mean of the shares decided rightly among yes and among no; None unless there are both."""
    pairs = list(zip(truth, decided, strict=True))
    yes, no = [said for true, said in pairs if true], [not said for true, said in pairs if not true]
    return (sum(yes) / len(yes) + sum(no) / len(no)) / 2 if yes and no else None


def f1(truth: Sequence[bool], decided: Sequence[bool]) -> float | None:
    """Of yes. None if yes is neither true nor decided anywhere."""
    pairs = list(zip(truth, decided, strict=True))
    both, either = sum(true and said for true, said in pairs), sum(true or said for true, said in pairs)
    return 2 * both / (both + either) if either else None


def auroc(truth: Sequence[bool], scores: Sequence[float]) -> float | None:
    """How often a yes has a higher score than a no; a tie counts half (Hanley and McNeil 1982).

    None unless there are both.
    """
    is_true, score = _aligned(truth, scores)
    positive = int(is_true.sum())
    negative = len(is_true) - positive
    if not positive or not negative:
        return None
    _, place, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2  # of tied scores the middle of theirs, from 1
    above = ranks[place][is_true].sum() - positive * (positive + 1) / 2
    return float(above / (positive * negative))


def ece(truth: Sequence[bool], probabilities: Sequence[float]) -> float | None:
    """Expected calibration error (Guo et al. 2017): probability against share of yes in ten bins.

    The mean of how far they are apart, each bin weighing as many as its items. A bin holds its upper edge,
    the first one 0 as well.

    :raises ValueError: for a probability outside of 0..1.
    """
    is_true, probability = _probable(truth, probabilities)
    if not len(is_true):
        return None
    bins = _bins(probability)
    gaps = np.bincount(bins, weights=probability - is_true, minlength=BINS)
    return float(np.abs(gaps).sum() / len(is_true))


def reliability(truth: Sequence[bool], probabilities: Sequence[float]) -> tuple[Bin, ...]:
    """What `ece` compares, bin by bin from low to high without empty ones: the points of a reliability plot.

    :raises ValueError: for a probability outside of 0..1.
    """
    is_true, probability = _probable(truth, probabilities)
    bins = _bins(probability)
    members = [bins == number for number in range(BINS)]
    return tuple(
        Bin(float(probability[among].mean()), float(is_true[among].mean()), int(among.sum()))
        for among in members
        if among.any()
    )


def brier(truth: Sequence[bool], probabilities: Sequence[float]) -> float | None:
    """The mean squared distance of probability and outcome (Brier 1950), 0 is best.

    :raises ValueError: for a probability outside of 0..1.
    """
    is_true, probability = _probable(truth, probabilities)
    return float(np.mean((probability - is_true) ** 2)) if len(is_true) else None


def _bins(probability: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.digitize(probability, np.linspace(0, 1, BINS + 1)[1:-1], right=True)


def _probable(
    truth: Sequence[bool], probabilities: Sequence[float]
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    is_true, probability = _aligned(truth, probabilities)
    outside = probability[~((probability >= 0) & (probability <= 1))]
    if len(outside):
        raise ValueError(f"A probability lies between 0 and 1, was: {outside[0]}.")
    return is_true, probability


def _aligned(truth: Sequence[bool], values: Sequence[float]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    if len(truth) != len(values):
        raise ValueError(f"There are {len(truth)} truths and {len(values)} values.")
    return np.asarray(truth, dtype=np.bool_), np.asarray(values, dtype=np.float64)


def _mean(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None
