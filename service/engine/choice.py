"""vLLM's chat interface for one word out of a few, without HTTP: what is sent, and how sure the model was.

What comes back may be anything, and is taken only if it is exactly what was asked for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import exp, fsum, log
from typing import Any

from service.engine.chat import bad_stream
from service.types import GenerationPolicy, Message

LISTED = 20  # likeliest tokens of the first place that are told: the most that vLLM tells unless it is set
POLICY = GenerationPolicy("choice", max_new_tokens=8)  # a word, in a tokenizer that cuts it to letters too
LEAST = -1e6  # a logarithm; vLLM writes -9999 for a token that cannot be
MOST_SUM = 1.01  # of their probabilities; beyond rounding they are none


def choice_body(model: str, messages: Sequence[Message], answers: Sequence[str], salt: str) -> dict[str, Any]:
    """Every value is said, as in `request_body`."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [asdict(message) for message in messages],
        "stream": False,
        **POLICY.sampling(),
        "structured_outputs": {"choice": list(answers)},
        "logprobs": True,
        "top_logprobs": LISTED,
    }
    if salt:
        body["cache_salt"] = salt
    return body


def read_choice(body: bytes, model: str, answers: Sequence[str]) -> dict[str, float]:
    """Each answer to its natural-log probability as the first token; see `Chooser.choose`.

    The engine tells how likely tokens were before its grammar left only the answers. So "Yes" and " yes" are
    among them, and count as "yes".

    :raises ModelBadOutput: for anything but one of the answers, with probabilities, from this model.
    """
    try:
        given = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise bad_stream("It is no JSON.") from error
    if not isinstance(given, dict) or given.get("model") != model:
        raise bad_stream("It is not this model's answer.")
    choice = _only(given.get("choices"))
    message = choice.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if content not in answers or choice.get("finish_reason") != "stop":
        raise bad_stream("It is none of the answers that it could choose from.")
    return _of_answers(_first_tokens(choice), answers)


def _first_tokens(choice: Mapping[str, Any]) -> list[tuple[str, float]]:
    """What it could have begun with, and the natural logarithm of how likely each was."""
    told = choice.get("logprobs")
    places = told.get("content") if isinstance(told, dict) else None
    first = places[0] if isinstance(places, list) and places else None
    listed = first.get("top_logprobs") if isinstance(first, dict) else None
    if not isinstance(listed, list) or not 0 < len(listed) <= LISTED + 1:  # the chosen one may be another
        raise bad_stream("It does not tell how likely its answer was.")
    tokens = [_token(one) for one in listed]
    if fsum(exp(logarithm) for _, logarithm in tokens) > MOST_SUM:
        raise bad_stream("It tells probabilities that are more than all.")
    return tokens


def _token(given: object) -> tuple[str, float]:
    text, logarithm = (given.get("token"), given.get("logprob")) if isinstance(given, dict) else (None, None)
    if not isinstance(text, str) or isinstance(logarithm, bool) or not isinstance(logarithm, int | float):
        raise bad_stream("It does not tell how likely its answer was.")
    if not LEAST <= logarithm <= 0:  # so no NaN either
        raise bad_stream("It tells a probability that is none.")
    return text, float(logarithm)


def _of_answers(tokens: Sequence[tuple[str, float]], answers: Sequence[str]) -> dict[str, float]:
    likely: dict[str, list[float]] = {answer: [] for answer in answers}
    for text, logarithm in tokens:
        likely.get(text.strip().casefold(), []).append(logarithm)
    if not any(likely.values()):
        raise bad_stream("None of the answers is among the likeliest tokens.")
    least = min(logarithm for _, logarithm in tokens)
    return {answer: _together(found) if found else least for answer, found in likely.items()}


def _together(logarithms: Sequence[float]) -> float:
    """The logarithm of the sum; against the largest, as each of them may be too small to be written out."""
    largest = max(logarithms)
    return min(largest + log(fsum(exp(one - largest) for one in logarithms)), 0.0)


def _only(choices: object) -> Mapping[str, Any]:
    if isinstance(choices, list) and len(choices) == 1 and isinstance(choices[0], dict):
        return choices[0]
    raise bad_stream("It has not the form of an answer.")
