"""How often a judge is right about claims: over each set and language, with intervals.

What a judge was fitted on is left out: of a set of which a half was, the other half is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np

from service.evaluation.scoring.classification import (
    Bin,
    accuracy,
    auroc,
    balanced_accuracy,
    brier,
    ece,
    f1,
    reliability,
)
from service.evaluation.scoring.figures import INTERVAL, SEED
from service.evaluation.sets.claims import Claim, ClaimSet, other_half
from service.seams import Judge
from service.watch import Watch

Kind = Literal["rules", "llm", "both", "nli"]
Interval = tuple[float, float]
RESAMPLES = 1_000
Said = TypeVar("Said", bool, float)


@dataclass(frozen=True, slots=True)
class JudgeRow:
    set: str
    lang: str
    judge: Kind
    items: int
    supported: float  # share of the claims
    auroc: float | None
    auroc_ci: Interval | None  # 95 %, by bootstrap over claims, as the others
    accuracy: float | None
    accuracy_ci: Interval | None
    balanced_accuracy: float | None
    balanced_accuracy_ci: Interval | None
    f1: float | None
    f1_ci: Interval | None
    threshold: float
    ece: float | None
    brier: float | None
    fitted_on: str  # what the judge was fitted on
    part: str  # of the set that the figures are over
    reliability: tuple[Bin, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """Claims with what a judge said of each, in one order."""

    truth: tuple[bool, ...]
    scores: tuple[float, ...]  # 0 where it could not tell

    def decided(self, threshold: float) -> list[bool]:
        return [score >= threshold for score in self.scores]


def evaluate_judge(
    sets: Sequence[ClaimSet],
    kind: Kind,
    judge: Judge,
    fitted_on: str,
    fitted_sets: Sequence[str],
    watch: Watch,
) -> tuple[JudgeRow, ...]:
    """:param fitted_sets: names of the sets of which half was used for fitting."""
    rows: list[JudgeRow] = []
    for one in sets:
        fitted = one.name in fitted_sets
        claims = other_half(one.claims) if fitted else one.claims
        part = "the half that nothing was fitted on" if fitted else "all"
        judged = _judge_each(claims, judge, one.name, watch)
        for language, among in _by_language(claims):
            some = Judged(_at(among, judged.truth), _at(among, judged.scores))
            rows.append(_row(one.name, language, kind, judge.threshold, fitted_on, part, some))
    return tuple(rows)


def _at(places: Sequence[int], values: Sequence[Said]) -> tuple[Said, ...]:
    return tuple(values[place] for place in places)


def _judge_each(claims: Sequence[Claim], judge: Judge, name: str, watch: Watch) -> Judged:
    scores = []
    for done, claim in enumerate(claims, start=1):
        scores.append(judge.support(claim.evidence, claim.text).score or 0.0)
        watch(f"{name}: claims judged", done, len(claims))
    return Judged(tuple(claim.supported for claim in claims), tuple(scores))


def _by_language(claims: Sequence[Claim]) -> Iterator[tuple[str, list[int]]]:
    for language in sorted({claim.language for claim in claims}):
        yield language, [n for n, claim in enumerate(claims) if claim.language == language]


def _row(
    name: str, language: str, kind: Kind, threshold: float, fitted_on: str, part: str, some: Judged
) -> JudgeRow:
    truth, decided = some.truth, some.decided(threshold)
    return JudgeRow(
        set=name,
        lang=language,
        judge=kind,
        items=len(truth),
        supported=sum(truth) / len(truth),
        auroc=auroc(truth, some.scores),
        auroc_ci=_resampled(auroc, truth, some.scores),
        accuracy=accuracy(truth, decided),
        accuracy_ci=_resampled(accuracy, truth, decided),
        balanced_accuracy=balanced_accuracy(truth, decided),
        balanced_accuracy_ci=_resampled(balanced_accuracy, truth, decided),
        f1=f1(truth, decided),
        f1_ci=_resampled(f1, truth, decided),
        threshold=threshold,
        ece=ece(truth, some.scores),
        brier=brier(truth, some.scores),
        fitted_on=fitted_on,
        part=part,
        reliability=reliability(truth, some.scores),
    )


def _resampled(
    figure: Callable[[Sequence[bool], Sequence[Said]], float | None],
    truth: Sequence[bool],
    said: Sequence[Said],
) -> Interval | None:
    """The middle 95 % of the figure over resamples (percentile bootstrap); None where it has no value."""
    draws = np.random.default_rng(SEED).integers(0, len(truth), (RESAMPLES, len(truth))).tolist()
    values = [figure(_at(places, truth), _at(places, said)) for places in draws]
    found = [value for value in values if value is not None]
    if not found:
        return None
    low, high = np.quantile(found, INTERVAL)
    return float(low), float(high)
