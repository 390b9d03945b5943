"""Passages scored token by token with the embedder that is there anyway, as ColBERT does it.

Each token of the question takes its likest token of the passage; the score is the mean of these likenesses
(MaxSim, Khattab and Zaharia 2020, arXiv:2004.12832).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ingest.corpus.arrays import FloatMatrix
from ingest.corpus.seams import Embedder
from service.windows import token_windows

LATE_INTERACTION = "late-interaction"  # as the setting names it
SHARE = 0.5  # of it in the new order; the rest is the fused scores'. Not fitted: .3 and .7 do no better
TOKENS_AROUND = 16  # prefix and special tokens that the embedder adds
PASSAGES_AT_ONCE = 5  # a deadline is looked at after each


class LateInteraction:
    """Meets `PassageScorer`. Threads may share it."""

    version = "late-interaction-1"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def scores(self, question: str, passages: Sequence[str]) -> Iterator[list[tuple[int, float]]]:
        asked = self._vectors([question])[0]
        like_lengths_together = sorted(range(len(passages)), key=lambda place: len(passages[place]))
        for start in range(0, len(passages), PASSAGES_AT_ONCE):
            places = like_lengths_together[start : start + PASSAGES_AT_ONCE]
            read = self._vectors([passages[place] for place in places])
            yield [(place, max_sim(asked, vectors)) for place, vectors in zip(places, read, strict=True)]

    def _vectors(self, texts: Sequence[str]) -> list[FloatMatrix]:
        heads = [self._fitting_head(text) for text in texts]
        return [one.vectors for one in self._embedder.embed_tokens(heads)]

    def _fitting_head(self, text: str) -> str:
        """A chunk fits whole; a question may not."""
        room = max(self._embedder.max_tokens - TOKENS_AROUND, 1)
        _, end = next(token_windows(text, room, self._embedder.tokenizer))
        return text[:end]


def max_sim(question: FloatMatrix, passage: FloatMatrix) -> float:
    """Mean over the question's tokens of the likeness of each to its likest token of the passage, -1 to 1.

    :param question: shape (m, D), rows of length 1; `passage` shape (n, D). 0 where one of them has none.
    """
    if not len(question) or not len(passage):
        return 0.0
    return float((question @ passage.T).max(axis=1).mean())
