"""One figure of two models in one slice, and what the interval of its change allows to say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev
from typing import Literal

from service.evaluation.scoring.figures import interval

Finding = Literal["no worse", "worse", "cannot tell", "not measured"]
Figure = Literal["perplexity", "task quality", "stability"]
SEEN = 2.8  # standard errors: what a two-sided test at 5 % finds four times out of five (1.96 + .84)


@dataclass(frozen=True, slots=True)
class Row:
    """`loss` is how much worse the candidate is, in the figure's own terms; below 0 it is better."""

    figure: Figure
    slice: str
    finding: Finding
    items: int  # pairs
    least: int  # pairs that it takes
    margin: float  # a loss as large as this is one
    before: float | None = None
    after: float | None = None
    loss: float | None = None
    low: float | None = None  # of the loss, 95 %
    high: float | None = None
    smallest_seen: float | None = None  # loss that these pairs would show in four cases of five


@dataclass(frozen=True, slots=True)
class Served:
    """A figure of the machine, told and not judged: what slower or larger costs is for people to weigh."""

    figure: str
    unit: str
    before: float | None = None  # None: not measured
    after: float | None = None

    @property
    def is_measured(self) -> bool:
        return self.before is not None and self.after is not None


def finding(loss: float, low: float, high: float, margin: float) -> Finding:
    """No worse: the interval excludes a loss of the margin. Worse: excludes 0, and the loss is as large."""
    if high < margin:
        return "no worse"
    return "worse" if low > 0 and loss >= margin else "cannot tell"


def judged(
    figure: Figure,
    part: str,
    losses: Sequence[float],
    least: int,
    margin: float,
    before: float | None,
    after: float | None,
) -> Row:
    """A row of paired losses: their mean with its bootstrap interval; too few of them are not measured."""
    if len(losses) < least:
        return Row(figure, part, "not measured", len(losses), least, margin)
    loss = fmean(losses)
    low, high = interval(losses)
    seen = SEEN * stdev(losses) / sqrt(len(losses))
    found = finding(loss, low, high, margin)
    return Row(figure, part, found, len(losses), least, margin, before, after, loss, low, high, seen)
