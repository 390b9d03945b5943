"""Does a passage carry a statement? A judge by a model of entailment or consistency, named by a setting.

It takes the place of the judge by words and meaning, not of the levels before it. Whole sentences of the
passage are supported outright here too.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ingest.corpus.arrays import FloatMatrix, Scores
from ingest.corpus.errors import InvalidInput
from ingest.corpus.keywords import words
from service.checking.judge import told_at_once
from service.deadline import all_within
from service.seams import PairModel, Support
from service.windows import Window, room_beside, sentence_windows

LOG = logging.getLogger("citeward.judge")
THRESHOLD = 0.5  # more likely than not: what a model's own probability means
PAIRS_AT_ONCE = 8  # a deadline is looked at after each
MOST_WINDOWS = 64  # read by the model: some twenty sentences have as many tokens as a chunk
SUPPORTS = frozenset({"entailment", "supported", "consistent", "faithful", "factual", "grounded"})
INFERENCE = frozenset({"neutral", "contradiction"})  # the other two of natural language inference
DENIES = frozenset(
    {"unsupported", "inconsistent", "unfaithful", "nonfactual", "ungrounded", "hallucinated", "contradiction"}
    | {f"not{name}" for name in SUPPORTS}
)


class EntailmentJudge:
    """Meets `Judge`. Threads may share it: claims are read one at a time, and the wait counts."""

    threshold = THRESHOLD

    def __init__(self, model: PairModel, seconds: float) -> None:
        """:param seconds: after which the judge could not tell.
        :raises InvalidInput: if the model's labels do not say which of them is support.
        """
        self._model = model
        self._supporting = supporting_label(model)
        self._seconds = seconds
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="judge")
        self.version = model.version

    def support(self, premise: str, claim: str) -> Support:
        """The best window's probability, with the narrowest window that supports, else the best."""
        if (told := told_at_once(premise, claim)) is not None:
            return told
        try:
            windows, scores = self._read(premise, claim)
        except TimeoutError:
            return self._unknown("judge_timeout", f"{self._seconds} s")
        except Exception as error:  # a model's library has its own for whatever it may be
            return self._unknown("judge_failed", type(error).__name__)
        if not np.isfinite(scores).all():
            return self._unknown("judge_not_finite", self.version)
        best = float(scores.max())
        start, end = _shown(windows, scores)
        return Support(best, start, end, f"That the passage says so has a probability of {best:.0%}.")

    def _read(self, premise: str, claim: str) -> tuple[list[Window], Scores]:
        """Windows with the probability that each supports the claim."""
        room = room_beside(claim, self._model)
        windows = _likeliest(sentence_windows(premise, room, self._model.tokenizer), premise, claim)
        windows.sort(key=lambda window: window[1] - window[0])  # like lengths together: little padding
        logits = all_within(self._seconds, self._logits(windows, premise, claim), self._worker)
        return windows, self._probabilities(np.concatenate(logits))

    def _logits(self, windows: Sequence[Window], premise: str, claim: str) -> Iterator[FloatMatrix]:
        for first in range(0, len(windows), PAIRS_AT_ONCE):
            some = windows[first : first + PAIRS_AT_ONCE]
            yield self._model.logits([(premise[start:end], claim) for start, end in some])

    def _probabilities(self, logits: FloatMatrix) -> Scores:
        if logits.shape[1] == 1:  # as if the other label had 0
            logits = np.hstack([np.zeros_like(logits), logits])
        shares = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
        return np.asarray(shares[:, self._supporting] / shares.sum(axis=1))

    def _unknown(self, code: str, detail: str) -> Support:
        LOG.warning(json.dumps({"event": "judge", "code": code, "detail": detail}))
        return Support(None, 0, 0, "The judge could not tell.")


def supporting_label(model: PairModel) -> int:
    """The place of the label that means support; 1 for a model that only scores.

    :raises InvalidInput: if the labels' names do not tell.
    """
    names = [re.sub(r"[^a-z]", "", label.casefold()) for label in model.labels]
    if len(names) == 1:
        return 1
    supporting = [place for place, name in enumerate(names) if name in SUPPORTS]
    others = frozenset(names) - SUPPORTS
    told = others == INFERENCE if len(names) == len(INFERENCE) + 1 else len(names) == 2 and others <= DENIES
    if len(supporting) == 1 and told:
        return supporting[0]
    raise InvalidInput(
        f"{model.version} cannot be used as a judge.",
        why=f"Its labels are {', '.join(model.labels)}: which of them means support cannot be told.",
        next_step="Name them in id2label of its config.json: entailment, neutral and contradiction, "
        "or supported and not_supported.",
        field="judge",
    )


def _likeliest(windows: list[Window], premise: str, claim: str) -> list[Window]:
    """All, or of too many those that hold most of the claim's words."""
    if len(windows) <= MOST_WINDOWS:
        return windows
    claimed = frozenset(words(claim))
    held = [len(claimed.intersection(words(premise[start:end]))) for start, end in windows]
    order = np.argsort(-np.array(held), kind="stable")[:MOST_WINDOWS]
    return [windows[place] for place in order]


def _shown(windows: Sequence[Window], scores: Scores) -> Window:
    """The first window in order of length that supports by itself; else the best."""
    supporting = np.flatnonzero(scores >= THRESHOLD)
    return windows[int(supporting[0]) if len(supporting) else int(scores.argmax())]
