"""How much a language model adds to the judge by words and meaning: each alone and both, on the same claims.

Unlike in service, the model is asked about every claim, also what the rules reject: else its own figures and
what both come to could not be held against each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ingest.corpus.errors import ModelBadOutput, ModelTimeout, OverBudget
from service.checking.asked import AskedJudge
from service.checking.both import BothJudges
from service.evaluation.judging import (
    Interval,
    Judged,
    JudgeRow,
    Kind,
    by_language,
    judge_each,
    reported,
    resampled,
    row_of,
)
from service.evaluation.scoring.classification import auroc
from service.evaluation.sets.claims import ClaimSet
from service.seams import Support
from service.watch import Watch

Pair = tuple[float, float]


@dataclass(frozen=True, slots=True)
class MeasuredJudge:
    """Meets `Judge`: the language model's, which tells of an engine that is not there instead of not telling.

    Figures over claims that nobody was asked about would be none.
    """

    asked: AskedJudge

    @property
    def version(self) -> str:
        return self.asked.version

    @property
    def threshold(self) -> float:
        return self.asked.threshold

    def support(self, premise: str, claim: str) -> Support:
        """:raises ModelUnavailable: if it cannot be asked."""
        try:
            return self.asked.told(premise, claim)
        except (OverBudget, ModelBadOutput, ModelTimeout) as error:
            return Support(None, 0, 0, error.what)


def evaluate_both(
    sets: Sequence[ClaimSet],
    both: BothJudges,
    fitted_on: Mapping[Kind, str],
    fitted_sets: Sequence[str],
    watch: Watch,
    most: int | None = None,
) -> tuple[JudgeRow, ...]:
    """For each set and language a row of the rules, one of the model, and one of both with what it gains.

    :param fitted_sets: of the rules and of the combination; further as of `evaluate_judge`.
    :raises ModelUnavailable: if the engine is not there.
    """
    thresholds: dict[Kind, float] = {
        "rules": both.rules.threshold,
        "llm": both.asked.threshold,
        "both": both.threshold,
    }
    rows: list[JudgeRow] = []
    for one in sets:
        claims, part = reported(one, fitted_sets, most)
        ruled = judge_each(claims, both.rules, f"{one.name}, rules", watch)
        told = judge_each(claims, MeasuredJudge(both.asked), f"{one.name}, language model", watch)
        supports: dict[Kind, list[Support]] = {"rules": ruled, "llm": told}
        supports["both"] = [both.combined(*pair) for pair in zip(ruled, told, strict=True)]
        for language, among in by_language(claims):
            some = {kind: Judged.of(claims, each, among) for kind, each in supports.items()}
            of_each = {
                kind: row_of(one.name, language, kind, thresholds[kind], fitted_on[kind], part, judged)
                for kind, judged in some.items()
            }
            of_each["both"] = _with_gains(of_each["both"], some)
            rows += of_each.values()
    return tuple(rows)


def _with_gains(row: JudgeRow, judged: Mapping[Kind, Judged]) -> JudgeRow:
    over_rules, over_rules_ci = _gain(judged["both"], judged["rules"])
    over_llm, over_llm_ci = _gain(judged["both"], judged["llm"])
    return replace(
        row,
        gain_over_rules=over_rules,
        gain_over_rules_ci=over_rules_ci,
        gain_over_llm=over_llm,
        gain_over_llm_ci=over_llm_ci,
    )


def _gain(one: Judged, other: Judged) -> tuple[float | None, Interval | None]:
    """In AUROC, with an interval over resamples of the claims, each with both scores: they are paired."""
    pairs = tuple(zip(one.scores, other.scores, strict=True))
    return _difference(one.truth, pairs), resampled(_difference, one.truth, pairs)


def _difference(truth: Sequence[bool], pairs: Sequence[Pair]) -> float | None:
    first = auroc(truth, [pair[0] for pair in pairs])
    second = auroc(truth, [pair[1] for pair in pairs])
    return None if first is None or second is None else first - second
