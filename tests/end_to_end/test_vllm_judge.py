"""The judge over a real vLLM and a small real model: its questions are taken, its answers read and counted.

The model is too small to judge well, so nothing here looks at what it finds.
"""

from __future__ import annotations

from math import exp

import pytest

from ingest.corpus.errors import ModelBadOutput, ModelUnavailable
from service.adapters.vllm_choice import VllmChooser
from service.checking.asked import JUDGE_TOKENS, AskedJudge
from service.engine.server import EngineStatus
from service.types import Message
from tests.contracts.real_models import chat_tokenizer
from tests.vllm_server import MAX_MODEL_LEN, MODEL

pytestmark = pytest.mark.vllm

PREMISE = "Goods go back within 30 days of delivery. 安全帽是红色的。"
ANSWERS = ("yes", "no")


def chooser(engine: EngineStatus, model: str = "") -> VllmChooser:
    return VllmChooser(engine.url, model or str(engine.model), seconds=240.0, connect_seconds=10.0)


def asked(engine: EngineStatus) -> AskedJudge:
    return AskedJudge(chooser(engine), chat_tokenizer(MODEL.name), b"secret", salt="5a17")


def test_a_word_is_chosen_and_how_likely_each_was_is_told(engine_alone: EngineStatus) -> None:
    question = (Message("user", "Is Paris the capital of France? Answer yes or no."),)
    first = chooser(engine_alone).choose(question, ANSWERS)
    again = chooser(engine_alone).choose(question, ANSWERS, "c3")
    assert set(first) == set(ANSWERS)
    assert all(one <= 0 for one in first.values())
    assert sum(map(exp, first.values())) <= 1.001
    assert again == pytest.approx(first, abs=0.1)  # not to the bit: another batch, another order of sums


@pytest.mark.parametrize(
    "claim",
    [
        "头盔为红色。",
        pytest.param("One may return goods for a month.", marks=pytest.mark.slow),
    ],
    ids=["zh", "en"],
)
def test_statements_of_both_languages_are_judged(engine_alone: EngineStatus, claim: str) -> None:
    found = asked(engine_alone).support(PREMISE, claim)
    assert found.score is not None, found.reason
    assert 0 < found.score < 1


@pytest.mark.slow  # a core reads 1,500 tokens
def test_a_question_of_nearly_all_that_is_asked_about_is_taken(engine_alone: EngineStatus) -> None:
    judge, claim = asked(engine_alone), "All of it is said here."
    words = JUDGE_TOKENS - 500  # a token each, beside the rest of the question
    assert JUDGE_TOKENS < MAX_MODEL_LEN
    assert judge.support("word " * words + ".", claim).score is not None
    assert judge.support("word " * JUDGE_TOKENS + ".", claim).score is None


def test_another_model_or_a_question_beyond_the_window_is_refused_with_its_kind(
    engine_alone: EngineStatus,
) -> None:
    with pytest.raises(ModelUnavailable, match="404: NotFoundError"):
        chooser(engine_alone, "other").choose((Message("user", "Is it?"),), ANSWERS)
    long = (Message("user", "word " * (MAX_MODEL_LEN + 1)),)
    with pytest.raises(ModelBadOutput, match="400: BadRequestError") as beyond:
        chooser(engine_alone).choose(long, ANSWERS)
    assert "word" not in str(beyond.value)
