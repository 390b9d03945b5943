"""How much less likely the candidate finds the same texts, document by document.

Texts are given to the weights themselves, in float32 and without an engine: what is seen is what changing the
weights did. A document's perplexity is per token of the baseline, so that models with different tokenizers
can be compared; where both have the same one it is the usual one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, expm1, isfinite, log1p
from statistics import fmean
from typing import Protocol

from ingest.corpus.errors import InvalidInput
from service.evaluation.releasing.enough import LEAST_DOCUMENTS, PERPLEXITY_MARGIN
from service.evaluation.releasing.excerpts import SLICES, Excerpt
from service.evaluation.releasing.rows import Row, judged
from service.watch import Watch


@dataclass(frozen=True, slots=True)
class Likelihood:
    nats: float  # minus the logarithm of the text's probability; not finite: the model computes no number
    tokens: int  # at least 1


class LanguageModel(Protocol):
    """Weights that tell how likely a text is."""

    def likelihood(self, text: str, scored_from: int = 0) -> Likelihood:
        """Of what follows the first `scored_from` code points, given these. Same text, same number."""
        ...


def likelihoods(
    model: LanguageModel, excerpts: Sequence[Excerpt], watch: Watch, name: str
) -> tuple[Likelihood, ...]:
    """In the order of the excerpts."""
    found: list[Likelihood] = []
    for done, one in enumerate(excerpts, start=1):
        found.append(model.likelihood(one.text, one.scored_from))
        watch(f"{name}: texts read", done, len(excerpts))
    return tuple(found)


def perplexity_rows(
    excerpts: Sequence[Excerpt], before: Sequence[Likelihood], after: Sequence[Likelihood]
) -> tuple[Row, ...]:
    """A row for each of SLICES. A loss is by how much perplexity grew, its geometric mean: .05 is 5 % more.

    :raises InvalidInput: if the baseline itself computes no numbers.
    """
    broken = next(
        (one.document for one, of in zip(excerpts, before, strict=True) if not isfinite(of.nats)), None
    )
    if broken is not None:
        raise InvalidInput(
            f"The baseline does not compute a likelihood of {broken}.",
            why="What it computes is no finite number: its weights are damaged, or not for this program.",
            next_step="Give the unquantised model that the candidate was made from.",
        )
    return tuple(_row(part, excerpts, before, after) for part in SLICES)


def _row(
    part: str, excerpts: Sequence[Excerpt], before: Sequence[Likelihood], after: Sequence[Likelihood]
) -> Row:
    pairs = [
        (old.nats / old.tokens, new.nats / old.tokens)
        for one, old, new in zip(excerpts, before, after, strict=True)
        if one.slice == part
    ]
    if any(not isfinite(new) for _, new in pairs):
        return Row("perplexity", part, "worse", len(pairs), LEAST_DOCUMENTS, PERPLEXITY_MARGIN)
    means = [exp(fmean(one)) for one in zip(*pairs, strict=True)] if pairs else [None, None]
    losses = [new - old for old, new in pairs]
    margin = log1p(PERPLEXITY_MARGIN)
    row = judged("perplexity", part, losses, LEAST_DOCUMENTS, margin, means[0], means[1])
    return replace(
        row,
        margin=PERPLEXITY_MARGIN,
        loss=_grown(row.loss),
        low=_grown(row.low),
        high=_grown(row.high),
        smallest_seen=_grown(row.smallest_seen),
    )


def _grown(logarithm: float | None) -> float | None:
    return None if logarithm is None else expm1(logarithm)
