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
from service.evaluation.sets.claims import Claim, ClaimSet, first_of, other_half
from service.seams import Judge, Support
from service.watch import Watch

Kind = Literal["rules", "llm", "both", "nli"]
Interval = tuple[float, float]
RESAMPLES = 1_000
Said = TypeVar("Said")


@dataclass(frozen=True, slots=True)
class JudgeRow:
    set: str
    lang: str
    judge: Kind
    items: int
    unknown: int  # claims of which it could not tell: these count as not supported
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
    # Of both judges together, in AUROC over the same claims; None for a judge alone.
    gain_over_rules: float | None = None
    gain_over_rules_ci: Interval | None = None
    gain_over_llm: float | None = None
    gain_over_llm_ci: Interval | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """Claims with what a judge said of each, in one order."""

    truth: tuple[bool, ...]
    told: tuple[float | None, ...]  # None: it could not tell

    @classmethod
    def of(cls, claims: Sequence[Claim], supports: Sequence[Support], among: Sequence[int]) -> Judged:
        """:param among: places of the claims that it is of."""
        return cls(
            tuple(claims[place].supported for place in among), tuple(supports[place].score for place in among)
        )

    @property
    def scores(self) -> tuple[float, ...]:
        """0 where it could not tell, which is not supported."""
        return tuple(score or 0.0 for score in self.told)

    def decided(self, threshold: float) -> list[bool]:
        return [score >= threshold for score in self.scores]


def evaluate_judge(
    sets: Sequence[ClaimSet],
    kind: Kind,
    judge: Judge,
    fitted_on: str,
    fitted_sets: Sequence[str],
    watch: Watch,
    most: int | None = None,
) -> tuple[JudgeRow, ...]:
    """:param fitted_sets: names of the sets of which half was used for fitting.
    :param most: claims of a set; None: all that are reported.
    """
    rows: list[JudgeRow] = []
    for one in sets:
        claims, part = reported(one, fitted_sets, most)
        supports = judge_each(claims, judge, one.name, watch)
        for language, among in by_language(claims):
            some = Judged.of(claims, supports, among)
            rows.append(row_of(one.name, language, kind, judge.threshold, fitted_on, part, some))
    return tuple(rows)


def reported(one: ClaimSet, fitted_sets: Sequence[str], most: int | None) -> tuple[Sequence[Claim], str]:
    """The claims that figures are over, and which part of the set these are."""
    fitted = one.name in fitted_sets
    claims = other_half(one.claims) if fitted else one.claims
    part = "the half that nothing was fitted on" if fitted else "all"
    if most is None or most >= len(claims):
        return claims, part
    return first_of(claims, most), f"{part}, the first {most:,} by sha256 of the id"


def judge_each(claims: Sequence[Claim], judge: Judge, name: str, watch: Watch) -> list[Support]:
    supports = []
    for done, claim in enumerate(claims, start=1):
        supports.append(judge.support(claim.evidence, claim.text))
        watch(f"{name}: claims judged", done, len(claims))
    return supports


def by_language(claims: Sequence[Claim]) -> Iterator[tuple[str, list[int]]]:
    """Each language with the places of its claims."""
    for language in sorted({claim.language for claim in claims}):
        yield language, [n for n, claim in enumerate(claims) if claim.language == language]


def row_of(
    name: str, language: str, kind: Kind, threshold: float, fitted_on: str, part: str, some: Judged
) -> JudgeRow:
    truth, decided = some.truth, some.decided(threshold)
    return JudgeRow(
        set=name,
        lang=language,
        judge=kind,
        items=len(truth),
        unknown=some.told.count(None),
        supported=sum(truth) / len(truth),
        auroc=auroc(truth, some.scores),
        auroc_ci=resampled(auroc, truth, some.scores),
        accuracy=accuracy(truth, decided),
        accuracy_ci=resampled(accuracy, truth, decided),
        balanced_accuracy=balanced_accuracy(truth, decided),
        balanced_accuracy_ci=resampled(balanced_accuracy, truth, decided),
        f1=f1(truth, decided),
        f1_ci=resampled(f1, truth, decided),
        threshold=threshold,
        ece=ece(truth, some.scores),
        brier=brier(truth, some.scores),
        fitted_on=fitted_on,
        part=part,
        reliability=reliability(truth, some.scores),
    )


def resampled(
    figure: Callable[[Sequence[bool], Sequence[Said]], float | None],
    truth: Sequence[bool],
    said: Sequence[Said],
) -> Interval | None:
    """The middle 95 % of the figure over resamples (percentile bootstrap); None where it has no value."""
    draws = np.random.default_rng(SEED).integers(0, len(truth), (RESAMPLES, len(truth))).tolist()
    values = [
        figure([truth[place] for place in places], [said[place] for place in places]) for places in draws
    ]
    found = [value for value in values if value is not None]
    if not found:
        return None
    low, high = np.quantile(found, INTERVAL)
    return float(low), float(high)
