"""Two runs of one set, question by question: what changed, where, and whether chance could have done it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ingest.corpus.errors import InvalidInput
from service.evaluation.scoring.figures import RESAMPLES, SEED, Scored, interval, members
from service.evaluation.sets.cases import CaseSet


@dataclass(frozen=True, slots=True)
class Difference:
    """Means over the questions that both runs have a value of, and the mean difference with its interval."""

    name: str
    by: str  # "all", or a way to slice
    slice: str
    before: float
    after: float
    low: float  # of after - before, 95 %
    high: float
    chance: float  # two-sided: how often exchanging the runs at random gives as much
    items: int

    @property
    def change(self) -> float:
        return self.after - self.before


def compare(before: Scored, after: Scored, case_set: CaseSet) -> tuple[Difference, ...]:
    """Every score, over all and in each slice of what was asked.

    The interval is a percentile bootstrap over questions, the chance a sign-flip permutation test.

    :raises InvalidInput: if the runs are not of the same questions.
    """
    if before.keys() != after.keys():
        raise InvalidInput(
            "The two runs are not of the same questions.",
            why=f"{len(before.keys() ^ after.keys())} questions are in one of them only.",
            next_step="Run both on the same version of the set, with the same --every.",
        )
    names = dict.fromkeys(name for scores in after.values() for name in scores)
    parts = members([case for case in case_set.cases if case.id in after], case_set.ways)
    return tuple(
        difference
        for name in names
        for by, ids in parts.items()
        if (difference := _difference(name, by, ids, before, after))
    )


def _difference(
    name: str, by: tuple[str, str], ids: Sequence[str], before: Scored, after: Scored
) -> Difference | None:
    pairs = [(before[one].get(name), after[one].get(name)) for one in ids]
    both = np.array([pair for pair in pairs if None not in pair], dtype=np.float64)
    if not len(both):
        return None
    changes = both[:, 1] - both[:, 0]
    low, high = interval(list(changes))
    return Difference(
        name,
        *by,
        before=float(both[:, 0].mean()),
        after=float(both[:, 1].mean()),
        low=low,
        high=high,
        chance=chance_of(changes),
        items=len(both),
    )


def chance_of(changes: NDArray[np.float64]) -> float:
    """Share of random sign patterns whose mean is as far from zero; counts the one that was seen."""
    if not changes.any():
        return 1.0
    signs = np.random.default_rng(SEED).choice((-1.0, 1.0), (RESAMPLES, len(changes)))
    extreme = np.abs((signs * changes).mean(axis=1)) >= abs(changes.mean()) - 1e-12
    return float((extreme.sum() + 1) / (RESAMPLES + 1))
