"""An answer as a response of the Responses API: whole, or as its typed events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from typing import Any

from fastapi.sse import format_sse_event

from service.api.errors import Problem, to_json
from service.api.openai.cited import UrlCitation, cited_in, last_piece
from service.api.openai.head import Head, ours, shown_text, was_cut_off
from service.api.openai.refused import error_of
from service.api.stream import framed
from service.types import Answer, Done, Event, Refused, Statement, StatementPassed, Usage

CONSTANT: dict[str, Any] = {  # what there is no choice of
    "background": False,
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": False,
    "temperature": None,
    "text": {"format": {"type": "text"}},
    "tool_choice": "none",
    "tools": [],
    "top_p": None,
    "truncation": "disabled",
}


def response(answer: Answer, head: Head, previous: str | None) -> dict[str, Any]:
    """The whole. `answer` is as its reader may see it; a refusal is its text too."""
    part = _text(shown_text(answer), cited_in(answer))
    cut_off = was_cut_off(answer.finish_reason)
    status = "incomplete" if cut_off else "completed"
    return {
        **_around(head, previous, status, [_message(head, status, [part])]),
        "incomplete_details": {"reason": "max_output_tokens"} if cut_off else None,
        "usage": usage_of(answer.usage),
        **ours(answer, head),
    }


def usage_of(usage: Usage) -> dict[str, Any]:
    """What a language model read and wrote; nothing where none was asked. What of it a cache held is told to
    nobody: it would tell what others ask."""
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


@dataclass(slots=True)
class ResponseEvents:
    """The events of one answer, numbered, each as (type, fields)."""

    head: Head
    previous: str | None
    number: int = 0
    said: list[Statement] = field(default_factory=list)
    text: str = ""
    cited: list[UrlCitation] = field(default_factory=list)

    def opening(self) -> Iterator[dict[str, Any]]:
        begun = _around(self.head, self.previous, "in_progress", [])
        yield self._event("response.created", response=begun)
        yield self._event("response.in_progress", response=begun)
        yield self._event(
            "response.output_item.added", output_index=0, item=_message(self.head, "in_progress", [])
        )
        yield self._in_text("response.content_part.added", part=_text("", []))

    def of(self, event: Event) -> Iterator[dict[str, Any]]:
        match event:
            case StatementPassed():
                self.said.append(event.statement)
                piece = last_piece(self.said, event.citations)
                yield self._spoken(piece.text)
                for one in piece.citations:
                    yield self._in_text(
                        "response.output_text.annotation.added",
                        annotation_index=len(self.cited),
                        annotation=one.flat(),
                    )
                    self.cited.append(one)
            case Refused():
                yield self._spoken(event.refusal.text)
            case Done():
                yield from self._closing(event.answer)

    def failing(self, problem: Problem) -> Iterator[dict[str, Any]]:
        """No statement is taken back, and none is handed out once more as a part of something whole."""
        error = error_of(problem)
        told = {name: error[name] for name in ("code", "message", "param")}
        yield self._event("error", **told)
        failed = _around(self.head, self.previous, "failed", [])
        failed["error"] = {"code": told["code"], "message": told["message"]}
        yield self._event("response.failed", response=failed)

    def _spoken(self, text: str) -> dict[str, Any]:
        self.text += text
        return self._in_text("response.output_text.delta", delta=text, logprobs=[])

    def _closing(self, answer: Answer) -> Iterator[dict[str, Any]]:
        part = _text(self.text, self.cited)
        whole = response(answer, self.head, self.previous)
        yield self._in_text("response.output_text.done", text=self.text, logprobs=[])
        yield self._in_text("response.content_part.done", part=part)
        item = _message(self.head, whole["status"], [part])
        yield self._event("response.output_item.done", output_index=0, item=item)
        yield self._event(f"response.{whole['status']}", response=whole)

    def _in_text(self, kind: str, **fields: Any) -> dict[str, Any]:
        return self._event(kind, item_id=_item_id(self.head), output_index=0, content_index=0, **fields)

    def _event(self, kind: str, **fields: Any) -> dict[str, Any]:
        self.number += 1
        return {"type": kind, "sequence_number": self.number - 1, **fields}


def _around(head: Head, previous: str | None, status: str, output: list[Any]) -> dict[str, Any]:
    return {
        "id": head.id,
        "object": "response",
        "created_at": head.created,
        "model": head.model,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "output": output,
        "previous_response_id": previous,
        "system_fingerprint": head.fingerprint,
        "usage": None,
        **CONSTANT,
    }


def _message(head: Head, status: str, content: list[Any]) -> dict[str, Any]:
    return {
        "id": _item_id(head),
        "type": "message",
        "role": "assistant",
        "status": status,
        "content": content,
    }


def _item_id(head: Head) -> str:
    return f"msg_{head.id}"


def _text(text: str, cited: list[UrlCitation]) -> dict[str, Any]:
    return {
        "type": "output_text",
        "text": text,
        "annotations": [one.flat() for one in cited],
        "logprobs": [],
    }


def response_frames(
    events: AsyncGenerator[Event], made: ResponseEvents, request_id: str
) -> AsyncGenerator[bytes]:
    """Server-sent events; the last says that the answer is complete, incomplete, or failed."""
    return framed(
        map(_frame, made.opening()),
        events,
        lambda event: map(_frame, made.of(event)),
        lambda problem: map(_frame, made.failing(problem)),
        request_id,
    )


def _frame(event: dict[str, Any]) -> bytes:
    return format_sse_event(data_str=to_json(event).decode(), event=event["type"])
