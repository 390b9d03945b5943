"""What a running server answers: is it up, which model, how large is its KV cache, how does it count."""

from __future__ import annotations

import json
import logging
import re
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from http.client import HTTPException
from typing import Any

from service.seams import ChatTokenizer
from service.types import Message

LOG = logging.getLogger("citeward.engine")
ANSWER_SECONDS = 5.0  # for what costs the engine nothing
WARM_SECONDS = 300.0  # the first request after a start took 25 s on two busy cores
MOST_BYTES = 4 * 2**20  # of a page, its metrics among them
COUNTED = (
    Message("system", "Answer from the passages, and cite them: [C1]."),
    Message("user", 'How long is it?\n\n年假有几天？ 3.5 €, naïve, "x_1" — 🙂'),
)
NO_SUCH_ANSWER = (ValueError, KeyError, IndexError, TypeError, RecursionError)
# Straight to the engine: a proxy that the machine is set to use knows nothing of it.
HTTP = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def exchange(url: str, timeout_seconds: float, body: object = None) -> bytes:
    """:raises OSError: if nothing answers in time, with an error, or in another language than HTTP."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with HTTP.open(request, timeout=timeout_seconds) as response:
            content: bytes = response.read(MOST_BYTES)
    except HTTPException as error:
        raise OSError(f"{url} did not answer as a server does: {error!r}") from error
    return content


def is_healthy(url: str) -> bool:
    try:
        exchange(f"{url}/health", ANSWER_SECONDS)
    except OSError:
        return False
    return True


def served_model(url: str) -> Mapping[str, Any]:
    """The model that is served: `id` and `max_model_len`; empty if none is."""
    try:
        first = json.loads(exchange(f"{url}/v1/models", ANSWER_SECONDS))["data"][0]
    except (OSError, *NO_SUCH_ANSWER):  # nothing there, or something that is no such server
        return {}
    return first if isinstance(first, dict) else {}


def what_is_wrong(url: str, model: str, context_window: int) -> str | None:
    """Why this model cannot be asked there with so many tokens; None if it can."""
    served = served_model(url)
    if not served:
        return "not there"
    if served.get("id") != model:
        return "another model is served"
    holds = served.get("max_model_len")
    if isinstance(holds, int) and holds < context_window:
        return f"it holds {holds} tokens, {context_window} are set"
    return None


def ask_first(url: str, model: str, timeout_seconds: float) -> float:
    """Seconds that one token took: the first request takes many times as long as any later one, and no reader
    should be the one to wait.

    :raises OSError: if it is not answered in time, or with an error.
    """
    began = time.monotonic()
    body = {"model": model, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1}
    exchange(f"{url}/v1/chat/completions", timeout_seconds, body)
    return time.monotonic() - began


def warm_up(url: str, model: str, context_window: int) -> None:
    """Ask first whoever started the engine, if it is there: one that comes later, its first reader warms."""
    if what_is_wrong(url, model, context_window) is not None:
        return
    try:
        told = {"event": "engine_warm", "ms": round(ask_first(url, model, WARM_SECONDS) * 1000)}
        LOG.info(json.dumps(told))
    except OSError as error:
        LOG.warning(json.dumps({"event": "engine_not_warm", "error": type(error).__name__}))


def count_tokens(url: str, model: str, messages: Sequence[Message]) -> int | None:
    """Tokens of these messages in the model's chat template, as the server counts; None if it does not."""
    body = {"model": model, "messages": [asdict(message) for message in messages]}
    try:
        counted = json.loads(exchange(f"{url}/tokenize", ANSWER_SECONDS, body))["count"]
    except (OSError, *NO_SUCH_ANSWER):
        return None
    return counted if isinstance(counted, int) else None


def counting_faults(url: str, model: str, chat: ChatTokenizer) -> tuple[str, ...]:
    """`token_counts_differ` if the server counts otherwise than we do, and no budget can be relied on.

    Nothing where no server answers: each answer compares the counts again.
    """
    ours, theirs = len(chat.ids(COUNTED)), count_tokens(url, model, COUNTED)
    if theirs is None or theirs == ours:
        return ()
    LOG.error(json.dumps({"event": "token_counts_differ", "ours": ours, "engine": theirs}))
    return ("token_counts_differ",)


def cache_numbers(url: str) -> Mapping[str, int]:
    """The whole numbers among what the server says of its KV cache; empty if it says nothing."""
    try:
        metrics = exchange(f"{url}/metrics", ANSWER_SECONDS).decode("utf-8", "replace")
    except OSError:
        return {}
    return parse_cache_info(metrics)


def parse_cache_info(metrics: str) -> Mapping[str, int]:
    """The labels of `vllm:cache_config_info` that are whole numbers, of the first engine."""
    return {name: int(value) for name, value in cache_labels(metrics).items() if value.isdecimal()}


def cache_labels(metrics: str) -> Mapping[str, str]:
    """The labels of `vllm:cache_config_info`, of the first engine; empty if there are none."""
    info = re.search(r"^vllm:cache_config_info\{(.*)\}", metrics, re.MULTILINE)
    return dict(re.findall(r'(\w+)="([^"]*)"', info.group(1))) if info else {}


def sample(metrics: str, name: str) -> float | None:
    """The value of a series, of the first engine; None if it is not there."""
    found = re.search(rf"^{re.escape(name)}(?:\{{.*\}})? ([\d.e+-]+)$", metrics, re.MULTILINE)
    try:
        return float(found.group(1)) if found else None
    except ValueError:
        return None
