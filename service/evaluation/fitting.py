"""Fits the judge by rules: a logistic regression over what `compare` tells of claims and their evidence.

And how it is weighed against a language model that judges, by the same regression over what both say.

A feature keeps its weight only if it points where reason says: sets of claims have habits of their own, such
as that true claims are longer, and what was learnt of these would be held against honest statements.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from ingest.corpus.errors import InvalidInput
from service.checking.both import CERTAIN, BothJudges, logits
from service.checking.fitted import Fitted
from service.checking.judge import LexicalSemanticJudge
from service.evaluation.judging import judge_each
from service.evaluation.judging_both import MeasuredJudge
from service.evaluation.scoring.classification import balanced_accuracy
from service.evaluation.sets.claims import Claim, ClaimSet, first_of, fitting_half
from service.watch import Watch

Matrix = NDArray[np.float64]
PENALTY = 3.0  # L2, on standardised features: some hundred claims must not be learnt by heart
STEPS = 50  # of Newton's method; it settles within ten
FOLDS = 5


@dataclass(frozen=True, slots=True)
class Examples:
    signs: tuple[int, ...]  # of each feature
    features: Matrix  # shape (claims, features)
    truth: NDArray[np.bool_]
    groups: tuple[str, ...]  # claims about one text are never on both sides of a fold


def fit_judge(
    sets: Sequence[ClaimSet],
    judge: LexicalSemanticJudge,
    features: Mapping[str, int],
    version: str,
    watch: Watch,
) -> Fitted:
    """:param judge: its comparisons are weighed, its own weights left aside.
    :param features: names of those that may be weighed, with the signs that their weights may have.
    """
    examples = gather(sets, judge, features, watch)
    threshold = best_threshold(examples.truth, cross_validated(examples))
    of = "the even half (sha256 of the id)"
    return _fitted(examples, threshold, list(features), sets, version, of)


def fit_combination(
    sets: Sequence[ClaimSet], both: BothJudges, version: str, watch: Watch, most: int | None = None
) -> Fitted:
    """How the judge by rules and the language model are weighed; claims that either cannot tell are left out.

    The threshold is that of both as they decide: what the rules reject is rejected.

    :param most: claims of a set; None: its whole half.
    :raises ModelUnavailable: if the engine is not there.
    :raises InvalidInput: if no claim is left.
    """
    halves = [fitting_half(one.claims) for one in sets]
    claims = [claim for half in halves for claim in (half if most is None else first_of(half, most))]
    ruled = judge_each(claims, both.rules, "Rules", watch)
    told = judge_each(claims, MeasuredJudge(both.asked), "Language model", watch)
    rows = [
        (claim, one.score, other.score)
        for claim, one, other in zip(claims, ruled, told, strict=True)
        if one.score is not None and one.score != CERTAIN and other.score is not None
    ]
    if not rows:
        raise InvalidInput(
            "There is nothing to fit on.",
            why=f"Of {len(claims):,} claims there is none that both judges could tell.",
            next_step="Give more claims, and see that the language model's server serves this model.",
        )
    examples = Examples(
        (1, 1),
        np.array([list(logits(one, other).values()) for _, one, other in rows]),
        np.array([claim.supported for claim, _, _ in rows]),
        tuple(_group(claim) for claim, _, _ in rows),
    )
    upheld = np.array([one >= both.rules.threshold for _, one, _ in rows])
    threshold = best_threshold(examples.truth, np.where(upheld, cross_validated(examples), 0.0))
    of = "the even half (sha256 of the id)" + ("" if most is None else f", the first {most:,} by it,")
    return _fitted(examples, threshold, list(logits(0.5, 0.5)), sets, version, of)


def _fitted(
    examples: Examples,
    threshold: float,
    names: Sequence[str],
    sets: Sequence[ClaimSet],
    version: str,
    of: str,
) -> Fitted:
    intercept, weights = fit_signed(examples.features, examples.truth, examples.signs)
    return Fitted(
        version=version,
        fitted_on=f"{len(examples.truth):,} claims: {of} of " + ", ".join(one.name for one in sets),
        sets=tuple(one.name for one in sets),
        threshold=threshold,
        intercept=round(intercept, 4),
        weights={
            name: round(float(weight), 4) for name, weight in zip(names, weights, strict=True) if weight
        },
    )


def written(fitted: Fitted) -> str:
    return json.dumps(asdict(fitted), ensure_ascii=False, indent=2) + "\n"


# --- examples ----------------------------------------------------------------------------------


def gather(
    sets: Sequence[ClaimSet], judge: LexicalSemanticJudge, features: Mapping[str, int], watch: Watch
) -> Examples:
    claims = [claim for one in sets for claim in fitting_half(one.claims)]
    rows = []
    for done, claim in enumerate(claims, start=1):
        told: Mapping[str, float] = judge.compare(claim.evidence, claim.text).features
        rows.append([told[name] for name in features])
        watch("Claims compared", done, len(claims))
    truth = np.array([claim.supported for claim in claims])
    return Examples(tuple(features.values()), np.array(rows), truth, tuple(_group(claim) for claim in claims))


def _group(claim: Claim) -> str:
    return claim.id.partition("/")[0]


# --- fitting -----------------------------------------------------------------------------------


def fit_signed(features: Matrix, truth: NDArray[np.bool_], signs: Sequence[int]) -> tuple[float, Matrix]:
    """As `fit_logistic`, without the features whose weight would have the other sign; those get the weight 0.

    :param signs: for each feature 1, -1, or 0 for either.
    """
    wanted = np.asarray(signs)
    kept = np.arange(features.shape[1])
    while True:
        intercept, weights = fit_logistic(features[:, kept], truth)
        against = weights * wanted[kept]
        if not len(kept) or against.min() >= 0:
            break
        kept = np.delete(kept, int(np.argmin(against * features[:, kept].std(axis=0))))
    whole = np.zeros(features.shape[1])
    whole[kept] = weights
    return intercept, whole


def fit_logistic(features: Matrix, truth: NDArray[np.bool_]) -> tuple[float, Matrix]:
    """Intercept and weights, of the features as they are, by Newton's method with an L2 penalty.

    Every feature counts by its standard deviation in the penalty; one that never changes gets the weight 0.
    """
    mean, spread = features.mean(axis=0), features.std(axis=0)
    spread[spread == 0] = np.inf
    design = np.column_stack([np.ones(len(features)), (features - mean) / spread])
    penalty = np.diag([0.0, *[PENALTY] * features.shape[1]])
    found = np.zeros(design.shape[1])
    for _ in range(STEPS):
        probability = 1 / (1 + np.exp(-design @ found))
        slope = design.T @ (probability - truth) + penalty @ found
        curve = (design * (probability * (1 - probability))[:, None]).T @ design + penalty
        found -= np.linalg.solve(curve + 1e-9 * np.eye(len(found)), slope)
    scaled: Matrix = found[1:] / spread
    return float(found[0] - scaled @ mean), scaled


def cross_validated(examples: Examples) -> Matrix:
    """For each claim the probability by weights that were fitted on the other folds; groups stay whole."""
    numbers = {name: n % FOLDS for n, name in enumerate(sorted(set(examples.groups)))}
    fold = np.array([numbers[name] for name in examples.groups])
    found = np.zeros(len(fold))
    for one in range(FOLDS):
        out, rest = fold == one, fold != one
        intercept, weights = fit_signed(examples.features[rest], examples.truth[rest], examples.signs)
        found[out] = 1 / (1 + np.exp(-(intercept + examples.features[out] @ weights)))
    return found


def best_threshold(truth: NDArray[np.bool_], probabilities: Matrix) -> float:
    """Of the hundredths that with the best balanced accuracy; of equals the highest: doubt is no support."""
    candidates = [number / 100 for number in range(5, 96)]
    balanced = [balanced_accuracy(truth.tolist(), (probabilities >= one).tolist()) for one in candidates]
    return max(zip(balanced, candidates, strict=True), key=lambda pair: (pair[0] or 0.0, pair[1]))[1]
