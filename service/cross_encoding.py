"""Passages scored by a cross-encoder, which reads question and passage together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ingest.corpus.errors import InvalidInput
from service.seams import PairModel
from service.windows import room_beside, token_windows

PAIRS_AT_ONCE = 8  # a deadline is looked at after each


class CrossEncoderScorer:
    """Meets `PassageScorer`: a passage longer than fits beside the question counts as its best window."""

    def __init__(self, model: PairModel) -> None:
        """:raises InvalidInput: if the model tells more than one number of a pair."""
        if len(model.labels) != 1:
            raise InvalidInput(
                f"{model.version} is no reranker.",
                why=f"It has {len(model.labels)} labels; a reranker has one, how well a passage answers.",
                next_step="Name another model.",
                field="reranker",
            )
        self._model = model
        self.version = model.version

    def scores(self, question: str, passages: Sequence[str]) -> Iterator[list[tuple[int, float]]]:
        """:raises OverBudget: if the question leaves no room for a passage."""
        room = room_beside(question, self._model)
        windows = [
            (place, passage[start:end])
            for place, passage in enumerate(passages)
            for start, end in token_windows(passage, room, self._model.tokenizer)
        ]
        windows.sort(key=lambda window: len(window[1]))  # like lengths together: little padding
        for start in range(0, len(windows), PAIRS_AT_ONCE):
            some = windows[start : start + PAIRS_AT_ONCE]
            logits = self._model.logits([(question, text) for _, text in some])
            yield [(place, score) for (place, _), score in zip(some, np.ravel(logits).tolist(), strict=True)]
