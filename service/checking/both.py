"""Two judges of one statement: by words and meaning, then a language model, which may only reject.

What the first does not uphold is not asked about, and nothing that the second says can lift it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import log, nextafter

from service.checking.asked import AskedJudge
from service.checking.fitted import Fitted, shipped_combination
from service.seams import Judge, Support

NEAREST = 1e-6  # of a probability to 0 and 1
CERTAIN = 1.0  # what only a sentence of the passage, word for word, has


@dataclass(frozen=True, slots=True)
class BothJudges:
    """Meets `Judge`. Threads may share it."""

    rules: Judge
    asked: AskedJudge
    fitted: Fitted = field(default_factory=shipped_combination)

    @property
    def version(self) -> str:
        return f"{self.fitted.version}({self.rules.version}, {self.asked.version})"

    @property
    def threshold(self) -> float:
        return self.fitted.threshold

    def support(self, premise: str, claim: str) -> Support:
        ruled = self.rules.support(premise, claim)
        if ruled.score is None or ruled.score == CERTAIN:
            return ruled
        if ruled.score < self.rules.threshold:
            return replace(ruled, score=self._rejected(ruled.score))
        return self.combined(ruled, self.asked.support(premise, claim))

    def combined(self, ruled: Support, asked: Support) -> Support:
        """What both come to, at the place that the rules found; supported only if the rules uphold it.

        If either could not tell, neither can this.
        """
        if ruled.score is None or ruled.score == CERTAIN:
            return ruled
        if asked.score is None:
            return Support(None, ruled.start, ruled.end, asked.reason)
        score = self.fitted.probability(logits(ruled.score, asked.score))
        if ruled.score < self.rules.threshold:
            score = self._rejected(score)
        return Support(score, ruled.start, ruled.end, f"{ruled.reason} {asked.reason}")

    def salted(self, salt: str) -> BothJudges:
        """That reads one tenant's passages apart from all others'."""
        return replace(self, asked=replace(self.asked, salt=salt))

    def _rejected(self, score: float) -> float:
        return min(score, nextafter(self.threshold, 0.0))


def unasked(judge: Judge) -> Judge:
    """The part of it that asks no language model: for when no room in the engine is held."""
    return judge.rules if isinstance(judge, BothJudges) else judge


def logits(ruled: float, asked: float) -> dict[str, float]:
    """What is weighed."""
    return {"rules": _logit(ruled), "asked": _logit(asked)}


def _logit(probability: float) -> float:
    within = min(max(probability, NEAREST), 1 - NEAREST)
    return log(within / (1 - within))
