"""Curves over all questions of a run: how wrong the surest answers are, how deep documents are found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from service.evaluation.asking.attempts import Attempt
from service.evaluation.report.content import Asked
from service.evaluation.report.plots import Point
from service.evaluation.sets.cases import Case

DEPTH = 10  # documents


def risk_coverage(asked: Iterable[Asked]) -> tuple[Point, ...]:
    """(coverage, risk) at each score that an answer could be asked to have, the highest first.

    Coverage is the share of the answers that have it, risk the share of those that are wrong (El-Yaniv and
    Wiener 2010). An answer's score is the best of its statements that were shown; one without is left out.
    """
    scored = sorted(
        ((score, one.failure is not None) for one in asked if (score := confidence(one.attempt)) is not None),
        reverse=True,
    )
    points: list[Point] = []
    kept = wrong = 0
    for _, ties in groupby(scored, key=lambda pair: pair[0]):
        outcomes = [is_wrong for _, is_wrong in ties]
        kept, wrong = kept + len(outcomes), wrong + sum(outcomes)
        points.append((kept / len(scored), wrong / kept))
    return tuple(points)


def confidence(attempt: Attempt) -> float | None:
    """The best score of a shown statement; None if nothing was answered, or nothing shown has one."""
    if attempt.ended != "answered":
        return None
    return max((one.score for one in attempt.statements if one.shown and one.score is not None), default=None)


def recall_by_k(asked: Iterable[Asked]) -> tuple[Point, ...]:
    """(k, mean share of a question's documents among the first k), for k from 1 to DEPTH.

    A document stands where the best of its chunks does that were given, in the fused order. Questions without
    evidence are left out; () if all are.
    """
    pairs = [
        (wanted, found_documents(one.attempt)) for one in asked if (wanted := wanted_documents(one.case))
    ]
    if not pairs:
        return ()
    return tuple(
        (
            float(k),
            sum(len(wanted.intersection(found[:k])) / len(wanted) for wanted, found in pairs) / len(pairs),
        )
        for k in range(1, DEPTH + 1)
    )


def wanted_documents(case: Case) -> frozenset[str]:
    return frozenset(quote.document for group in case.evidence for quote in group)


def found_documents(attempt: Attempt) -> Sequence[str]:
    """Different ones, best first."""
    return list(dict.fromkeys(one.passage.document for one in attempt.candidates if one.given))
