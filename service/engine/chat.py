"""vLLM's chat interface without HTTP: a task to a request, and the events of its stream to text and figures.

The events may hold anything. No error and no log line repeats what was asked or answered.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import AsyncGenerator, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

from anyio import fail_after

from ingest.corpus.errors import ModelBadOutput, ModelFailed, ModelUnavailable
from service.drafting import (
    MOST_STATEMENTS,
    DraftReader,
    ProseReader,
    StatementsReader,
    statements_schema,
)
from service.percentile import percentile
from service.types import DraftStatement, FinishReason, Generated, GenerationTask

LOG = logging.getLogger("citeward.engine")
REQUEST_REFUSED = frozenset({400, 413, 422})  # statuses for what was sent; others are for whom or when
MOST_COUNTED = 10**9  # tokens, milliseconds
LONGEST_DRAFT = 40_000  # characters of one answer, were the engine to forget its limit
WORDS = re.compile(r"[A-Za-z0-9_ .-]{1,40}")
FINGERPRINT = re.compile(r"[\w.+-]{1,80}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds, each from the start of a draft but for the connection's."""

    connect: float
    first_token: float
    total: float


# --- what is sent ------------------------------------------------------------------------------


def request_body(model: str, task: GenerationTask) -> dict[str, Any]:
    """Every value is said: what is left open, the engine would fill in."""
    assert task.prompt is not None, "a language model must be given a prompt"
    assert task.policy is not None, "a language model must be given a policy"
    body: dict[str, Any] = {
        "model": model,
        "messages": [asdict(message) for message in task.prompt.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
        **task.policy.sampling(),
    }
    if task.tenant_salt:
        body["cache_salt"] = task.tenant_salt
    if task.question.output == "statements":
        body["structured_outputs"] = {"json": statements_schema([one.marker for one in task.evidence])}
    return body


def reader_for(task: GenerationTask) -> DraftReader:
    if task.question.output == "text":
        return ProseReader()
    return StatementsReader(frozenset(one.marker for one in task.evidence))


# --- what is heard -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Chunk:
    """One event of the stream."""

    content: str = ""
    is_token: bool = False  # also one that is not shown, of a model that thinks first
    finish_reason: str | None = None
    usage: dict[str, Any] | None = None
    metrics: dict[str, Any] | None = None
    engine: str | None = None


@dataclass(slots=True)
class Heard:
    """What one stream has told so far, besides its text."""

    task: GenerationTask
    deadlines: Deadlines
    began: float = field(default_factory=time.perf_counter)
    tokens_at: list[float] = field(default_factory=list)
    characters: int = 0
    finish_reason: FinishReason | None = None
    usage: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, Any] = field(default_factory=dict)
    engine: str | None = None
    said: set[DraftStatement] = field(default_factory=set)

    @property
    def seconds_left(self) -> float:
        most = self.deadlines.total if self.tokens_at else self.deadlines.first_token
        return max(self.began + min(most, self.deadlines.total) - time.perf_counter(), 0.0)

    async def in_time(self, events: AsyncGenerator[bytes]) -> bytes:
        """The next event.

        :raises TimeoutError: if it is late.
        :raises ModelBadOutput: if there is none, because the stream ended without saying so.
        """
        with fail_after(self.seconds_left):
            try:
                return await anext(events)
            except StopAsyncIteration:
                raise bad_stream("Its stream ended before its end.") from None

    def take(self, chunk: Chunk) -> str:
        """The text of this chunk; the rest is kept.

        :raises ModelBadOutput: if the text gets too long, or ends in a way that is no end of an answer.
        """
        if chunk.is_token:
            self.tokens_at.append(time.perf_counter())
        self.characters += len(chunk.content)
        if self.characters > LONGEST_DRAFT:
            raise bad_stream(f"It wrote more than {LONGEST_DRAFT:,} characters.")
        if chunk.finish_reason is not None:
            self.finish_reason = as_finish_reason(chunk.finish_reason)
        self.usage, self.metrics = chunk.usage or self.usage, chunk.metrics or self.metrics
        self.engine = chunk.engine or self.engine
        return chunk.content

    def anew(self, statements: Iterable[DraftStatement]) -> Iterator[DraftStatement]:
        """Those that were not said before, `MOST_STATEMENTS` at most: a model may go in circles."""
        for statement in statements:
            if statement not in self.said and len(self.said) < MOST_STATEMENTS:
                self.said.add(statement)
                yield statement

    def generated(self) -> Generated:
        """The end, logged.

        :raises ModelBadOutput: if the stream never said why it ended.
        """
        if self.finish_reason is None:
            raise bad_stream("Its stream does not say why it ended.")
        read, written = _count(self.usage, "prompt_tokens"), _count(self.usage, "completion_tokens")
        details = _object(self.usage.get("prompt_tokens_details")) or {}
        end = Generated(
            finish_reason=self.finish_reason,
            input_tokens=read or 0,
            output_tokens=written or 0,
            timings_ms=self._timings_ms(),
            tokens_per_second=self._tokens_per_second(),
            faults=tuple(self._faults(read, written)),
            engine=self.engine,
        )
        cached = _count(details, "cached_tokens")
        LOG.info(json.dumps({"event": "generated", "cached_tokens": cached, **asdict(end)}))
        return end

    def _faults(self, read: int | None, written: int | None) -> Iterator[str]:
        """Our count must be the engine's; max_tokens is lowered without a word where there is no room."""
        assert self.task.prompt is not None
        assert self.task.policy is not None
        if read is None or written is None:
            yield "usage_missing"
            return
        if read != self.task.prompt.tokens:
            LOG.error(
                json.dumps({"event": "prompt_tokens_differ", "ours": self.task.prompt.tokens, "engine": read})
            )
            yield "prompt_tokens_differ"
        if self.finish_reason == "length" and written < self.task.policy.max_new_tokens:
            LOG.error(json.dumps({"event": "max_tokens_lowered", "to": written}))
            yield "max_tokens_lowered"

    def _timings_ms(self) -> dict[str, float]:
        """`ttft` from the request to the first token, `decode` from there to the last one, `itl` between two.

        What the checks of a statement take lies between two tokens as well. `queue` and `prefill` are the
        engine's own, where it tells them.
        """
        told = {"queue": "queue_time_ms", "prefill": "time_to_first_token_ms"}
        timings = {
            name: milliseconds
            for name, given in told.items()
            if (milliseconds := _amount(self.metrics.get(given))) is not None
        }
        if self.tokens_at:
            first, last = self.tokens_at[0], self.tokens_at[-1]
            timings |= {"ttft": (first - self.began) * 1000, "decode": (last - first) * 1000}
        gaps = [(after - before) * 1000 for before, after in pairwise(self.tokens_at)]
        if gaps:
            timings |= {"itl_p50": percentile(gaps, 50), "itl_p95": percentile(gaps, 95)}
        return {name: round(value, 3) for name, value in timings.items()}

    def _tokens_per_second(self) -> float | None:
        written = _count(self.usage, "completion_tokens") or 0
        seconds = self.tokens_at[-1] - self.tokens_at[0] if self.tokens_at else 0.0
        return round((written - 1) / seconds, 3) if written > 1 and seconds > 0 else None


def read_chunk(data: bytes, model: str) -> Chunk:
    """:raises ModelFailed: for an error, which comes with status 200 once a stream is asked for.
    :raises ModelBadOutput: for what is no chunk, or one of another model.
    """
    try:
        event = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise bad_stream("An event of its stream is no JSON.") from error
    if not isinstance(event, dict):
        raise bad_stream("An event of its stream is no object.")
    if event.get("error") is not None:
        raise _given_up(event)
    choices = event.get("choices")
    if not isinstance(choices, list) or len(choices) > 1:
        raise bad_stream("An event of its stream has not the form of a chunk.")
    if event.get("model") != model:
        raise bad_stream("Another model answered.")
    parts = _chunk_of(choices[0]) if choices else {}
    return Chunk(
        usage=_object(event.get("usage")),
        metrics=_object(event.get("metrics")),
        engine=_fingerprint(event.get("system_fingerprint")),
        **parts,
    )


def _chunk_of(choice: object) -> dict[str, Any]:
    delta = choice.get("delta") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(delta, dict):
        raise bad_stream("An event of its stream has not the form of a chunk.")
    content, thought = delta.get("content") or "", delta.get("reasoning") or delta.get("reasoning_content")
    reason = choice.get("finish_reason")
    if not isinstance(content, str) or not isinstance(reason, str | None):
        raise bad_stream("An event of its stream has not the form of a chunk.")
    whole = content.encode("utf-8", "replace").decode()  # half a surrogate pair can be escaped in JSON
    return {"content": whole, "is_token": bool(content or thought), "finish_reason": reason}


def as_finish_reason(given: str) -> FinishReason:
    """:raises ModelBadOutput: for an end that is none of an answer, such as a tool's call."""
    if given == "stop":
        return "stop"
    if given == "length":
        return "length"
    raise bad_stream("It ended otherwise than an answer does.")


# --- errors ------------------------------------------------------------------------------------


def turned_away(status: int, body: bytes) -> ModelFailed:
    """For a request that the engine refused before it began.

    Where the request itself is what it refuses, it is there, and asking again later does not help.
    """
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        given = None
    why = f"Its server answered {status}: {_error_words(given)}."
    return refused(why) if status in REQUEST_REFUSED else unavailable(why)


def _given_up(event: dict[str, Any]) -> ModelFailed:
    """For an error within a stream, whose status was sent before."""
    error = event["error"]
    code = error.get("code") if isinstance(error, dict) else None
    why = f"Its server gave up: {_error_words(event)}."
    return refused(why) if isinstance(code, int) and code in REQUEST_REFUSED else unavailable(why)


def refused(why: str) -> ModelBadOutput:
    return ModelBadOutput(
        "The language model's server does not take this question.",
        why=why,
        next_step="Ask otherwise; operators: compare the settings of the service and the server.",
    )


def unavailable(why: str) -> ModelUnavailable:
    return ModelUnavailable(
        "The language model cannot be asked now.",
        why=why,
        next_step="Ask again later; operators: `citeward engine status` tells whether it is there.",
    )


def bad_stream(why: str) -> ModelBadOutput:
    return ModelBadOutput(
        "What the language model sent cannot be used.", why=why, next_step="Ask again, or ask otherwise."
    )


def _error_words(body: object) -> str:
    """Kind and parameter of vLLM's error, never its message: that may repeat what was sent."""
    error = body.get("error") if isinstance(body, dict) else None
    given = [error.get(name) for name in ("type", "param")] if isinstance(error, dict) else []
    words = [one for one in given if isinstance(one, str) and WORDS.fullmatch(one)]
    return ", ".join(words) or "no reason given"


# --- small things ------------------------------------------------------------------------------


def _count(usage: dict[str, Any], name: str) -> int | None:
    value = usage.get(name)
    return value if type(value) is int and 0 <= value < MOST_COUNTED else None


def _amount(value: object) -> float | None:
    """A number that is finite and not absurd: it goes into records and sums."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < MOST_COUNTED else None


def _fingerprint(value: object) -> str | None:
    return value if isinstance(value, str) and FINGERPRINT.fullmatch(value) else None


def _object(value: object) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None
