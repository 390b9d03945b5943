"""A fitted judgement: weights on what can be told of a statement and a passage, to a probability.

A file beside this one holds weights and a threshold with what they were fitted on, and is named for its
version; a change is a new version. Fitting is `citeward eval judge DIR... --fit FILE`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from math import exp

SHIPPED = "words-and-meaning-2.json"
COMBINATION = "both-0.json"  # of the judge by that and a language model


@dataclass(frozen=True, slots=True)
class Fitted:
    """A logistic regression (Cox 1958)."""

    version: str
    fitted_on: str
    sets: tuple[str, ...]  # names of those
    threshold: float  # the lowest probability that counts as supported
    intercept: float
    weights: Mapping[str, float]  # name of a feature -> its weight

    def probability(self, features: Mapping[str, float]) -> float:
        """:raises KeyError: for a feature that is weighed and was not told."""
        total = self.intercept + sum(weight * features[name] for name, weight in self.weights.items())
        return 1 / (1 + exp(-max(min(total, 30.0), -30.0)))


def shipped_judgement() -> Fitted:
    return _beside(SHIPPED)


def shipped_combination() -> Fitted:
    return _beside(COMBINATION)


def _beside(name: str) -> Fitted:
    return read_fitted(files("service.checking").joinpath(name).read_text("utf-8"))


def read_fitted(text: str) -> Fitted:
    read = json.loads(text)
    return Fitted(**{**read, "sets": tuple(read["sets"])})
