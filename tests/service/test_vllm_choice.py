"""A word chosen by a model behind HTTP: what is sent, how likely it was, and all that is no answer."""

from __future__ import annotations

import json
from math import exp, log
from typing import Any

import pytest

from ingest.corpus.errors import ModelBadOutput, ModelFailed, ModelTimeout, ModelUnavailable
from service.adapters.vllm_choice import MOST_BYTES, VllmChooser
from service.engine.choice import LISTED
from service.types import Message
from tests.scripted_engine import MODEL, Do, Reply, scripted_engine

ASKED = (Message("system", "Judge."), Message("user", "Is it so?"))
YES_OR_NO = ("yes", "no")
TOLD = [("yes", log(0.6)), ("no", log(0.2)), ("Yes", log(0.1)), (" no", log(0.05)), ("maybe", log(0.01))]


def tokens(*told: tuple[Any, Any]) -> list[dict[str, Any]]:
    return [{"token": text, "logprob": logarithm, "bytes": []} for text, logarithm in told]


def answer(
    content: Any = "yes", listed: Any = None, reason: Any = "stop", model: str = MODEL, **choice: Any
) -> dict[str, Any]:
    listed = tokens(*TOLD) if listed is None else listed
    one = {
        "index": 0,
        "message": {"role": "assistant", "content": content},
        "finish_reason": reason,
        "logprobs": {"content": [{"token": "yes", "logprob": log(0.6), "top_logprobs": listed}]},
        **choice,
    }
    return {"id": "x", "model": model, "choices": [one]}


def chosen(*replies: Reply, seconds: float = 20.0) -> dict[str, float]:
    with scripted_engine(*replies) as engine:
        found = VllmChooser(engine.url, MODEL, seconds, 5.0).choose(ASKED, YES_OR_NO)
        assert engine.is_idle()
    return dict(found)


def said(body: object) -> Reply:
    return Reply([json.dumps(body).encode()], content_type="application/json")


# --- what is sent ------------------------------------------------------------------------------


def test_one_of_the_answers_is_asked_for_with_every_value_and_the_salt() -> None:
    with scripted_engine(said(answer())) as engine:
        chooser = VllmChooser(engine.url, MODEL, 20.0, 5.0, revision="abc")
        chooser.choose(ASKED, YES_OR_NO, "5a17")
        chooser.choose(ASKED, YES_OR_NO)
        salted, plain = engine.asked
    assert chooser.version == f"vllm:{MODEL}@abc"
    assert salted.pop("cache_salt") == "5a17"
    assert salted == plain
    assert plain == {
        "model": MODEL,
        "messages": [{"role": "system", "content": "Judge."}, {"role": "user", "content": "Is it so?"}],
        "stream": False,
        "structured_outputs": {"choice": ["yes", "no"]},
        "logprobs": True,
        "top_logprobs": 20,
        "max_tokens": 8,
        "temperature": 0.0,
        "top_p": 1.0,
        "top_k": 0,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "seed": 0,
        "stop": [],
    }


# --- how it is read ----------------------------------------------------------------------------


def test_ways_to_write_an_answer_count_together() -> None:
    found = chosen(said(answer()))
    assert {word: round(exp(one), 6) for word, one in found.items()} == {"yes": 0.7, "no": 0.25}


def test_an_answer_that_is_not_listed_is_as_likely_as_the_least_that_is() -> None:
    listed = tokens(("yes", log(0.9)), ("Sure", log(0.05)), ("The", log(0.02)))
    assert chosen(said(answer(listed=listed))) == {"yes": log(0.9), "no": log(0.02)}


def test_what_cannot_be_is_told_as_a_very_small_logarithm_and_certainty_as_0() -> None:
    assert chosen(said(answer(listed=tokens(("yes", 0.0), ("no", -9999.0))))) == {"yes": 0.0, "no": -9999.0}
    twice = tokens(("yes", -9999.0), ("Yes", -9999.0), ("no", 0))
    assert chosen(said(answer("no", twice))) == {"yes": pytest.approx(log(2) - 9999), "no": 0.0}


def test_the_chosen_token_may_be_listed_beside_the_twenty_likeliest() -> None:
    others = [(f"word {number}", -10.0) for number in range(LISTED - 1)]
    assert chosen(said(answer(listed=tokens(("yes", -0.1), ("no", -4.0), *others))))["no"] == -4.0


# --- what is no answer -------------------------------------------------------------------------

MANY = [(f"word {number}", -10.0) for number in range(LISTED + 1)]
NO_ANSWER: dict[str, bytes | dict[str, Any] | list[Any]] = {
    "nothing": b"",
    "no JSON": b"yes",
    "half of it": json.dumps(answer()).encode()[:-9],
    "deep": b"[" * 100_000,
    "a list": [answer()],
    "another model": answer(model="other"),
    "no model": {"choices": answer()["choices"]},
    "no choices": {"model": MODEL},
    "no choice": {"model": MODEL, "choices": []},
    "two choices": {"model": MODEL, "choices": answer()["choices"] * 2},
    "a choice that is none": {"model": MODEL, "choices": ["yes"]},
    "a message that is none": answer(message="yes"),
    "no content": answer(None),
    "empty content": answer(""),
    "content that is no text": answer(["yes"]),
    "another word": answer("maybe"),
    "capitals": answer("Yes"),
    "a blank before it": answer(" yes"),
    "a stop behind it": answer("yes."),
    "both": answer("yes no"),
    "thinking": answer("<think>hm</think>yes"),
    "cut off": answer(reason="length"),
    "a call of a tool": answer(reason="tool_calls"),
    "no end": answer(reason=None),
    "no probabilities": answer(logprobs=None),
    "probabilities that are none": answer(logprobs=[1]),
    "of no token": answer(logprobs={"content": []}),
    "of a token that is none": answer(logprobs={"content": ["yes"]}),
    "nothing listed": answer(listed=[]),
    "no list": answer(listed={"yes": -1.0}),
    "too many listed": answer(listed=tokens(("yes", -1.0), *MANY)),
    "listed without a token": answer(listed=[{"logprob": -1.0}, *tokens(*TOLD)]),
    "listed without a logarithm": answer(listed=[{"token": "yes"}, *tokens(*TOLD)]),
    "a token that is a number": answer(listed=tokens((1, -1.0), *TOLD)),
    "a logarithm in words": answer(listed=tokens(("yes", "-1.0"), *TOLD)),
    "a logarithm that is true": answer(listed=tokens(("yes", False), *TOLD)),
    "no number": answer(listed=tokens(("yes", float("nan")), *TOLD)),
    "minus infinity": answer(listed=tokens(("yes", float("-inf")), *TOLD)),
    "an integer without end": answer(listed=tokens(("yes", -(10**400)), *TOLD)),
    "above certainty": answer(listed=tokens(("yes", 0.1), *TOLD)),
    "more than all": answer(listed=tokens(("yes", -0.01), ("no", -0.01))),
    "neither of them": answer(listed=tokens(("The", -0.1), ("y", -3.0), ("yesterday", -4.0))),
    "an error": {"error": {"message": "no", "type": "BadRequestError", "param": None, "code": 400}},
    "without end": b"x" * (MOST_BYTES + 1),
}


@pytest.mark.parametrize("body", NO_ANSWER.values(), ids=NO_ANSWER.keys())
def test_anything_else_is_no_answer_and_is_not_repeated(body: bytes | dict[str, Any] | list[Any]) -> None:
    with pytest.raises(ModelBadOutput) as failed:
        chosen(Reply([body]) if isinstance(body, bytes) and body else said(body) if body else Reply([]))
    assert "yesterday" not in str(failed.value)


@pytest.mark.parametrize(
    ("reply", "failure"),
    [
        (Reply([b'{"error": {"type": "BadRequestError", "param": "input_tokens"}}'], 400), ModelBadOutput),
        (Reply([b"{}"], 404), ModelUnavailable),
        (Reply([b"Service Unavailable"], 503), ModelUnavailable),
        (Reply([Do.RESET]), ModelUnavailable),
        (Reply([Do.RESET], None), ModelUnavailable),
        (Reply([b'{"model": ', Do.BREAK]), ModelUnavailable),
        (Reply([b"no HTTP at all\r\n\r\n"], None), ModelUnavailable),
    ],
    ids=["400", "404", "503", "reset", "reset before all", "broken off", "no HTTP"],
)
def test_each_failure_is_one_of_three_errors(reply: Reply, failure: type[ModelFailed]) -> None:
    with pytest.raises(failure):
        chosen(reply)


@pytest.mark.parametrize("pieces", [[Do.WAIT], [b'{"model"', Do.WAIT]], ids=["silent", "in the middle"])
def test_an_answer_that_is_late_is_given_up_and_not_asked_for_again(pieces: list[bytes | Do]) -> None:
    with scripted_engine(Reply(pieces)) as engine:
        with pytest.raises(ModelTimeout, match=r"0\.3 s"):
            VllmChooser(engine.url, MODEL, 0.3, 5.0).choose(ASKED, YES_OR_NO)
        assert engine.is_idle()
        assert len(engine.asked) == 1


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with scripted_engine(Reply([])) as engine:
        url = engine.url
    with pytest.raises(ModelUnavailable, match="connection"):
        VllmChooser(url, MODEL, 5.0, 5.0).choose(ASKED, YES_OR_NO)
