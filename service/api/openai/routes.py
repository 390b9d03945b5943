"""Models, chat completions and responses for clients of OpenAI's API, over the one way of a question."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from anyio import to_thread
from fastapi import Request, Response

from ingest.corpus.collections import CollectionInfo, get_collection, list_collections
from ingest.corpus.ids import new_id
from ingest.corpus.types import Principal
from service.api.door import Asker
from service.api.edge import REQUEST_ID
from service.api.errors import to_json
from service.api.openai.asked import EVERYTHING, asked_of, collections_of, model_of, question_of
from service.api.openai.chat import Chunks, chat_frames, completion
from service.api.openai.head import Head, head_of
from service.api.openai.refused import openai_routes, told_as_errors
from service.api.openai.responses import ResponseEvents, response, response_frames
from service.api.openai.sent import ChatRequest, Compatible, ResponseRequest, SentMessage, ignored_of
from service.api.questions import CLIENT_HAS_GONE, counted, last_answer
from service.api.shown import answer_shown
from service.api.state import Service, Serving
from service.api.stream import EventStream, while_client_stays
from service.api.traced import sends_trace
from service.releases.in_force import parts_for
from service.types import Done, Event, Question

ANSWERS = {
    200: {"content": {"application/json": {}, "text/event-stream": {"schema": {"type": "string"}}}},
    **told_as_errors(404, 413, 422, 429, 502, 503, 504),
}
routes = openai_routes()


@dataclass(frozen=True, slots=True)
class Asking:
    """A question about to be answered."""

    question: Question
    head: Head
    events: AsyncGenerator[Event]  # answers as their reader may see them


@routes.get("/v1/models", summary="List models")
def list_models(asker: Asker, service: Serving) -> dict[str, Any]:
    """One for each collection that you may read, and one for all of them together."""
    with service.parts.database.reading() as session:
        found = list_collections(session, asker)
    return {"object": "list", "data": [everything(), *map(of_collection, found)]}


@routes.get("/v1/models/{model_id:path}", summary="Show a model", responses=told_as_errors(404))
def show_model(model_id: str, asker: Asker, service: Serving) -> dict[str, Any]:
    named = collections_of(model_id)
    if named is None:
        return everything()
    with service.parts.database.reading() as session:
        return of_collection(get_collection(session, asker, named[0]))


def everything() -> dict[str, Any]:
    return _model(EVERYTHING, "All that you may read", 0)


def of_collection(info: CollectionInfo) -> dict[str, Any]:
    created = int(datetime.fromisoformat(info.created_at).timestamp())
    return _model(model_of(info.id), info.title, created)


def _model(model_id: str, name: str, created: int) -> dict[str, Any]:
    """:param created: seconds since 1970; 0 of what was always there."""
    return {"id": model_id, "object": "model", "created": created, "owned_by": "citeward", "name": name}


@routes.post(
    "/v1/chat/completions", summary="Ask in OpenAI's words", response_class=Response, responses=ANSWERS
)
async def chat(body: ChatRequest, request: Request, asker: Asker, service: Serving) -> Response:
    """The last message is the question; by those before it is understood. The same answer as `/v1/ask`'s."""
    asking = await asking_of(body, body.messages, "messages", request, asker, service)
    if body.stream:
        include_usage = bool(body.stream_options and body.stream_options.include_usage)
        chunks = Chunks(asking.head, include_usage)
        return EventStream(chat_frames(asking.events, chunks, request.scope[REQUEST_ID]))
    async with while_client_stays(request.receive):
        return in_json(completion(await last_answer(asking.events), asking.head))
    return Response(status_code=CLIENT_HAS_GONE)


@routes.post(
    "/v1/responses",
    summary="Ask in the words of the Responses API",
    response_class=Response,
    responses=ANSWERS,
)
async def respond(body: ResponseRequest, request: Request, asker: Asker, service: Serving) -> Response:
    """The last message is the question; by those before it is understood. The same answer as `/v1/ask`'s."""
    previous = body.previous_response_id
    asking = await asking_of(body, body.input, "input", request, asker, service, previous)
    if body.stream:
        made = ResponseEvents(asking.head, previous)
        return EventStream(response_frames(asking.events, made, request.scope[REQUEST_ID]))
    async with while_client_stays(request.receive):
        return in_json(response(await last_answer(asking.events), asking.head, previous))
    return Response(status_code=CLIENT_HAS_GONE)


async def asking_of(
    body: Compatible,
    messages: list[SentMessage],
    field: str,
    request: Request,
    asker: Principal,
    service: Service,
    previous: str | None = None,
) -> Asking:
    """:raises CitewardError: whatever can be told before any work, and so before a stream begins."""
    ignored = ignored_of(body.model_extra)
    asked = asked_of(messages, field)
    parts = await to_thread.run_sync(parts_for, asker, service.parts)
    question = await to_thread.run_sync(question_of, asked, body.model, previous, asker, parts)
    answer_id = new_id("ans")
    events = counted(question, asker, service, sends_trace(request, service), answer_id)
    head = head_of(answer_id, body.model, parts.versions(), (*ignored, *asked.ignored))
    return Asking(question, head, shown(events, question, asker))


async def shown(events: AsyncGenerator[Event], question: Question, asker: Principal) -> AsyncGenerator[Event]:
    """The events, the answer at their end as `asker` may see it."""
    async with aclosing(events):
        async for event in events:
            yield (
                replace(event, answer=answer_shown(event.answer, question, asker))
                if isinstance(event, Done)
                else event
            )


def in_json(body: dict[str, Any]) -> Response:
    return Response(to_json(body), media_type="application/json")
