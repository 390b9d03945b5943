"""An answer as it is made: server-sent events, and a watch on the client, so that work ends when he goes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import aclosing, asynccontextmanager

from anyio import create_task_group
from fastapi.responses import StreamingResponse
from fastapi.sse import format_sse_event
from pydantic import TypeAdapter
from starlette.types import Receive, Scope, Send

from ingest.corpus.types import Principal
from service.api.edge import problem_of_any
from service.api.errors import Problem
from service.api.shown import answer_shown, passed_shown
from service.types import (
    Answer,
    Done,
    Event,
    EvidenceFound,
    Progress,
    Question,
    Refusal,
    Refused,
    StatementPassed,
)

PROGRESS = TypeAdapter(Progress)
EVIDENCE = TypeAdapter(EvidenceFound)
PASSED = TypeAdapter(StatementPassed)
REFUSAL = TypeAdapter(Refusal)
ANSWER = TypeAdapter(Answer)


class EventStream(StreamingResponse):
    """Sends frames as they come and closes their source when the client goes, not only at the next frame."""

    media_type = "text/event-stream"

    def __init__(self, frames: AsyncGenerator[bytes]) -> None:
        super().__init__(frames, headers={"X-Accel-Buffering": "no"})  # nginx would hold the events back
        self.frames = frames

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        async with while_client_stays(receive), aclosing(self.frames) as frames:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async for frame in frames:
                await send({"type": "http.response.body", "body": frame, "more_body": True})
            await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def while_client_stays(receive: Receive) -> AsyncIterator[None]:
    """The block is cancelled as soon as the client has gone. The request's body must have been read."""
    try:
        async with create_task_group() as group:

            async def watch() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                group.cancel_scope.cancel()

            group.start_soon(watch)
            yield
            group.cancel_scope.cancel()
    except ExceptionGroup as wrapped:  # the block's own error, which the group has put into a box
        raise wrapped.exceptions[0] from None


async def framed(
    opening: Iterable[bytes],
    events: AsyncGenerator[Event],
    frames_of: Callable[[Event], Iterable[bytes]],
    failing: Callable[[Problem], Iterable[bytes]],
    request_id: str,
) -> AsyncGenerator[bytes]:
    """Each event in its frames. An error becomes the last ones: the status is sent already."""
    try:
        for frame in opening:
            yield frame
        async with aclosing(events):
            async for event in events:
                for frame in frames_of(event):
                    yield frame
    except Exception as error:  # the edge of the service: a crash must still end the stream in words
        for frame in failing(problem_of_any(error, request_id)):
            yield frame


def answer_frames(
    events: AsyncGenerator[Event], question: Question, principal: Principal, request_id: str
) -> AsyncGenerator[bytes]:
    return framed(
        (),
        events,
        lambda event: [to_frame(event, question, principal)],
        lambda problem: [_error_frame(problem)],
        request_id,
    )


def to_frame(event: Event, question: Question, principal: Principal) -> bytes:
    match event:
        case Progress():
            return _frame("progress", PROGRESS.dump_json(event))
        case EvidenceFound():
            return _frame("evidence", EVIDENCE.dump_json(event))
        case StatementPassed():
            return _frame("statement", PASSED.dump_json(passed_shown(event, question, principal)))
        case Refused():
            return _frame("refusal", REFUSAL.dump_json(event.refusal))
        case Done():
            return _frame("done", ANSWER.dump_json(answer_shown(event.answer, question, principal)))


def _error_frame(problem: Problem) -> bytes:
    return _frame("error", problem.model_dump_json(exclude_none=True).encode())


def _frame(name: str, data: bytes) -> bytes:
    return format_sse_event(data_str=data.decode(), event=name)
