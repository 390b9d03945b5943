"""What the report of an evaluation run says. How it looks is for `page`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from service.evaluation.asking.attempts import Attempt
from service.evaluation.failing.failures import Failure
from service.evaluation.scoring.compare import Difference
from service.evaluation.scoring.figures import Figure, Phase, Total
from service.evaluation.scoring.sanity import SanityRow
from service.evaluation.sets.cases import Case


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, what came of it, and where it went wrong."""

    case: Case
    attempt: Attempt
    slices: Mapping[str, str]  # way to slice -> the slice it is in
    failure: Failure | None = None  # None: right


@dataclass(frozen=True, slots=True)
class Comparison:
    baseline: str  # the run before, in words
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class AtBudget:
    """A run with this many tokens for evidence."""

    evidence_tokens: int
    quality: float
    low: float
    high: float
    ttft_ms: float | None  # median; None: no engine told it


@dataclass(frozen=True, slots=True)
class Sweep:
    figure: str  # what quality is
    points: tuple[AtBudget, ...]


@dataclass(frozen=True, slots=True)
class Report:
    case_set: str  # name and version
    versions: Mapping[str, str]  # of all that made the answers, and of the set
    figures: tuple[Figure, ...]  # overall and by slice, as they are to be shown
    phases: tuple[Phase, ...]
    asked: tuple[Asked, ...]  # every question, in the set's order
    sanity: tuple[SanityRow, ...]
    totals: tuple[Total, ...] = ()
    commands: tuple[str, ...] = ()  # that make this report again
    comparison: Comparison | None = None
    sweep: Sweep | None = None

    @property
    def failed(self) -> tuple[Asked, ...]:
        return tuple(one for one in self.asked if one.failure is not None)

    @property
    def right(self) -> tuple[Asked, ...]:
        return tuple(one for one in self.asked if one.failure is None)
