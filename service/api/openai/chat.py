"""An answer as a chat completion: whole, or in chunks that hold a checked statement each."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi.sse import format_sse_event

from service.api.errors import Problem, to_json
from service.api.openai.cited import cited_in, last_piece
from service.api.openai.head import Head, ours, shown_text, was_cut_off
from service.api.openai.refused import error_of
from service.api.stream import framed
from service.types import Answer, Done, Event, Refusal, Refused, Statement, StatementPassed, Usage

END = format_sse_event(data_str="[DONE]")


def completion(answer: Answer, head: Head) -> dict[str, Any]:
    """The whole. `answer` is as its reader may see it.

    A refusal finishes with "stop": it is a result, and no filter took anything away.
    """
    message = {
        "role": "assistant",
        "content": shown_text(answer),
        "refusal": answer.refusal.text if answer.refusal else None,
        "annotations": [one.nested() for one in cited_in(answer)],
    }
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason(answer)}
    return {
        "id": head.id,
        "object": "chat.completion",
        "created": head.created,
        "model": head.model,
        "system_fingerprint": head.fingerprint,
        "choices": [choice],
        "usage": usage_of(answer.usage),
        **ours(answer, head),
    }


def finish_reason(answer: Answer) -> str:
    return "length" if was_cut_off(answer.finish_reason) else "stop"


def usage_of(usage: Usage) -> dict[str, int]:
    """What a language model read and wrote; nothing where none was asked."""
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


@dataclass(slots=True)
class Chunks:
    """The chunks of one answer, event by event."""

    head: Head
    include_usage: bool
    said: list[Statement] = field(default_factory=list)
    cited: int = 0

    def of(self, event: Event) -> Iterator[dict[str, Any]]:
        match event:
            case StatementPassed():
                yield self._chunk(self._stated(event))
            case Refused():
                yield self._chunk(_refused(event.refusal))
            case Done():
                yield self._chunk({}, finish_reason(event.answer), ours(event.answer, self.head))
                if self.include_usage:
                    yield self._around([], {"usage": usage_of(event.answer.usage)})

    def opening(self) -> dict[str, Any]:
        return self._chunk({"role": "assistant", "content": ""})

    def _stated(self, passed: StatementPassed) -> dict[str, Any]:
        """Annotations are numbered, as whoever joins the pieces of a list needs it."""
        self.said.append(passed.statement)
        piece = last_piece(self.said, passed.citations)
        cited = [{"index": self.cited + n, **one.nested()} for n, one in enumerate(piece.citations)]
        self.cited += len(cited)
        return {"content": piece.text, "annotations": cited}

    def _chunk(
        self, delta: Mapping[str, Any], reason: str | None = None, more: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        usage = {"usage": None} if self.include_usage else {}
        return self._around([choice], {**usage, **(more or {})})

    def _around(self, choices: list[dict[str, Any]], more: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "id": self.head.id,
            "object": "chat.completion.chunk",
            "created": self.head.created,
            "model": self.head.model,
            "system_fingerprint": self.head.fingerprint,
            "choices": choices,
            **more,
        }


def _refused(refusal: Refusal) -> dict[str, Any]:
    return {"content": refusal.text, "refusal": refusal.text}


def chat_frames(events: AsyncGenerator[Event], chunks: Chunks, request_id: str) -> AsyncGenerator[bytes]:
    """Server-sent events. After an error, the last of them, there is no [DONE]."""

    def frames_of(event: Event) -> Iterator[bytes]:
        yield from map(_frame, chunks.of(event))
        if isinstance(event, Done):
            yield END

    return framed([_frame(chunks.opening())], events, frames_of, _failed, request_id)


def _failed(problem: Problem) -> list[bytes]:
    return [_frame({"error": error_of(problem)})]


def _frame(data: Mapping[str, Any]) -> bytes:
    return format_sse_event(data_str=to_json(data).decode())
