"""How likely it is that evidence answers a question: a probability by weights that were fitted once.

Two ways to an answer are weighed apart, for each script of questions: a sentence in the question's own
script, by its strength and nearness, and a sentence of a passage in the other script, where words cannot be
met, by its nearness. The file beside this one holds weights and thresholds with what they were fitted on, and
is named for its version; a change is a new version. Fitting is `citeward eval refusal DIR... --fit FILE`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Literal

from ingest.corpus.script import HAN, OTHER, script_of
from service.checking.fitted import Fitted
from service.strength import Weighed

SHIPPED = "answerable-1.json"
Way = Literal["own", "abroad"]
# What may be weighed for each way, and which way reason says that each points.
FEATURES: Mapping[Way, Mapping[str, int]] = {
    "own": {"strength": 1, "nearness": 1},
    "abroad": {"nearness": 1},
}
WRITTEN = {OTHER: "en", HAN: "zh"}


@dataclass(frozen=True, slots=True)
class Answerability:
    """By way and script of the question: a logistic regression with the least probability that is enough."""

    version: str
    fitted: Mapping[str, Fitted]  # "own-en", "own-zh", "abroad-en", "abroad-zh"

    @property
    def sets(self) -> tuple[str, ...]:
        """Names of those of which half was fitted on."""
        return tuple(sorted({name for one in self.fitted.values() for name in one.sets}))

    def of(self, question: str, weighed: Weighed) -> tuple[float, bool]:
        """The probability that it is answered, 0..1, and whether that is enough by either way."""
        asked_in, best, enough = WRITTEN[script_of(question)], 0.0, False
        for way, features in features_of(weighed):
            fitted = self.fitted[f"{way}-{asked_in}"]
            probability = fitted.probability(features)
            best, enough = max(best, probability), enough or probability >= fitted.threshold
        return best, enough


def features_of(weighed: Weighed) -> Iterator[tuple[Way, dict[str, float]]]:
    """What each way has to say; a way without a sentence says nothing."""
    if weighed.own.any():
        strength, nearness = weighed.margins[weighed.own].max(), weighed.nearness[weighed.own].max()
        yield "own", {"strength": float(strength), "nearness": float(nearness)}
    if weighed.abroad.any():
        yield "abroad", {"nearness": float(weighed.nearness[weighed.abroad].max())}


def shipped_answerability() -> Answerability:
    return read_answerability(files("service").joinpath(SHIPPED).read_text("utf-8"))


def read_answerability(text: str) -> Answerability:
    read = json.loads(text)
    fitted = {
        name: Fitted(**{**values, "sets": tuple(values["sets"])}) for name, values in read["fitted"].items()
    }
    return Answerability(read["version"], fitted)


def written(answerability: Answerability) -> str:
    return json.dumps(asdict(answerability), ensure_ascii=False, indent=2) + "\n"
