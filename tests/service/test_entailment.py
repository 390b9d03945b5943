"""How a model's labels are read, which window is shown, and that a judge that fails supports nothing."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan
from threading import Event

import numpy as np
import pytest

from ingest.corpus.arrays import FloatMatrix
from ingest.corpus.errors import InvalidInput
from service.checking.entailment import MOST_WINDOWS, EntailmentJudge, supporting_label
from tests.fakes import SharedWords

PREMISE = (
    "Parking is free on Sundays. Goods go back within 30 days. Helmets are red. Doors shut at 10. Tea is in."
)
CLAIM = "goods within 30 days"


@pytest.mark.parametrize(
    ("labels", "place"),
    [
        (("entailment", "neutral", "contradiction"), 0),
        (("CONTRADICTION", "ENTAILMENT", "NEUTRAL"), 1),
        (("contradiction", "neutral", "Entailment"), 2),
        (("entailment", "not_entailment"), 0),
        (("Not Supported", "Supported"), 1),
        (("hallucinated", "consistent"), 1),
        (("LABEL_0",), 1),
    ],
)
def test_the_label_that_means_support_is_told_by_its_name(labels: Sequence[str], place: int) -> None:
    assert supporting_label(SharedWords(labels=labels)) == place


@pytest.mark.parametrize(
    "labels",
    [
        ("LABEL_0", "LABEL_1", "LABEL_2"),
        ("LABEL_0", "LABEL_1"),
        ("entailment", "neutral"),
        ("entailment", "neutral", "other"),
        ("entailment", "entailment", "contradiction"),
        ("supported", "consistent"),
        ("positive", "negative"),
        ("entailment", "neutral", "contradiction", "unsure"),
        (),
    ],
)
def test_labels_that_do_not_tell_are_refused_with_what_to_do(labels: Sequence[str]) -> None:
    with pytest.raises(InvalidInput, match="cannot be used as a judge") as refused:
        EntailmentJudge(SharedWords(labels=labels, supporting=0), 60)
    assert "id2label" in refused.value.next_step


@pytest.mark.parametrize(
    ("labels", "supporting", "probability"),
    [
        (("entailment", "neutral", "contradiction"), 0, np.exp(5) / (np.exp(5) + 2)),
        (("neutral", "contradiction", "entailment"), 2, np.exp(5) / (np.exp(5) + 2)),
        (("unsupported", "supported"), 1, 1 / (1 + np.exp(-5))),
        (("LABEL_0",), 0, 1 / (1 + np.exp(-5))),
    ],
)
def test_the_score_is_the_probability_of_support_and_the_narrowest_window_is_shown(
    labels: Sequence[str], supporting: int, probability: float
) -> None:
    found = EntailmentJudge(SharedWords(labels, supporting), 60).support(PREMISE, CLAIM)
    assert found.score == pytest.approx(probability)
    shown = PREMISE[found.start : found.end]
    assert "Goods go back within 30 days." in shown
    assert len(shown) < len(PREMISE)


def test_what_is_not_supported_is_shown_with_what_comes_nearest() -> None:
    found = EntailmentJudge(SharedWords(), 60).support(PREMISE, "helmets cost money in Rotterdam today")
    assert found.score is not None
    assert found.score < EntailmentJudge.threshold
    assert "Helmets" in PREMISE[found.start : found.end]


def test_a_sentence_of_the_passage_is_supported_whatever_the_model_says() -> None:
    model = SharedWords()
    found = EntailmentJudge(model, 60).support(PREMISE, "Helmets are red.")
    assert (found.score, PREMISE[found.start : found.end]) == (1.0, "Helmets are red.")
    assert not model.read


def test_of_a_long_passage_the_windows_are_read_that_hold_most_of_the_claims_words() -> None:
    long = " ".join(f"Rule {number} is about something." for number in range(300))
    model = SharedWords()
    found = EntailmentJudge(model, 60).support(f"{long} {PREMISE} {long}", CLAIM)
    assert len(model.read) == MOST_WINDOWS
    assert found.score is not None
    assert found.score > EntailmentJudge.threshold


class Broken(SharedWords):
    """Fails, or has the numbers that it is told to."""

    def __init__(self, fails: Exception | float) -> None:
        super().__init__()
        self._fails = fails

    def logits(self, pairs: Sequence[tuple[str, str]]) -> FloatMatrix:
        if isinstance(self._fails, Exception):
            raise self._fails
        found = super().logits(pairs)
        found[-1] = self._fails
        return found


@pytest.mark.parametrize(
    "fails", [RuntimeError("with the text of a passage"), TimeoutError(), MemoryError(), nan, inf], ids=repr
)
def test_a_judge_that_fails_could_not_tell(
    fails: Exception | float, caplog: pytest.LogCaptureFixture
) -> None:
    found = EntailmentJudge(Broken(fails), 60).support(PREMISE, CLAIM)
    assert (found.score, found.start, found.end) == (None, 0, 0)
    assert "judge_" in caplog.text
    assert "text of" not in caplog.text


def test_a_claim_too_long_to_be_read_with_a_passage_could_not_be_told() -> None:
    assert EntailmentJudge(SharedWords(max_tokens=40), 60).support(PREMISE, "tea " * 40).score is None


def test_after_its_deadline_it_could_not_tell() -> None:
    class Hanging(SharedWords):
        def logits(self, pairs: Sequence[tuple[str, str]]) -> FloatMatrix:
            assert goes_on.wait(60)
            return super().logits(pairs)

    goes_on = Event()
    found = EntailmentJudge(Hanging(), 0.05).support(PREMISE, CLAIM)
    goes_on.set()
    assert found.score is None
