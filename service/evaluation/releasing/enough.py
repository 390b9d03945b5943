"""How much evidence it takes: what is allowed to be lost, and from how many pairs on that can be told.

The least number of pairs is that at which the 95 % interval of the mean change is as narrow as the margin,
for changes that scatter as is usual: with fewer, even a model that lost nothing could not be told from one
that lost the margin. One question, or one language, is no evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil

from ingest.corpus.errors import InvalidInput
from service.evaluation.releasing.excerpts import LANGUAGES, Excerpt
from service.evaluation.sets.cases import CaseSet

NORMAL_95 = 1.96
# Of perplexity: 5 % more. From document to document its logarithm's change scatters, for SmolLM2, by .005 at
# 8 bits a weight, where nothing is lost, and by .09 at 4, where perplexity is half as much again.
PERPLEXITY_MARGIN, PERPLEXITY_SCATTER = 0.05, 0.08
# Of the share of right answers: a tenth, where a tenth of the answers turn from right to wrong or back. If
# none of 39 turned, up to 3 / 39 of all may still turn (rule of three), which is under the margin too.
QUALITY_MARGIN, QUALITY_TURNS = 0.10, 0.10

LEAST_DOCUMENTS = ceil((NORMAL_95 * PERPLEXITY_SCATTER / PERPLEXITY_MARGIN) ** 2)
LEAST_QUESTIONS = ceil(NORMAL_95**2 * QUALITY_TURNS / QUALITY_MARGIN**2)


def require_documents(excerpts: Sequence[Excerpt]) -> None:
    """:raises InvalidInput: if a language has too few documents to tell a loss of perplexity by."""
    _require("documents in plain text", Counter(one.slice for one in excerpts), LEAST_DOCUMENTS)


def require_questions(case_set: CaseSet) -> None:
    """:raises InvalidInput: if a language has too few questions, or all must end alike."""
    _require("questions", Counter[str](case.language for case in case_set.cases), LEAST_QUESTIONS)
    outcomes = {case.outcome for case in case_set.cases}
    if len(outcomes) == 1:
        raise InvalidInput(
            f"{case_set.label} is one-sided: every question must be {outcomes.pop()}.",
            why="A model that answers everything, or refuses everything, would look perfect.",
            next_step="Take a set with questions to be answered and questions to be refused.",
        )


def _require(what: str, counts: Counter[str], least: int) -> None:
    few = [f"{language}: {counts[language]}" for language in LANGUAGES if counts[language] < least]
    if few:
        raise InvalidInput(
            f"The set is too small or too one-sided to tell: {', '.join(few)} {what}.",
            why=f"It takes at least {least} in each of {' and '.join(LANGUAGES)}: with fewer, the 95 % "
            "interval of the paired difference is wider than the loss that must be seen.",
            next_step="Take a larger set, as eval_sets/company_handbook/v1.",
        )
