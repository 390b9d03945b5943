"""Asking: answers with checked citations, and passages without an answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace

from anyio import to_thread
from fastapi import Request, Response

from ingest.corpus.collections import get_collection
from ingest.corpus.errors import InvalidInput, ModelFailed
from ingest.corpus.types import Principal
from service.answer import answer_question
from service.api.door import Asker, reader_routes
from service.api.edge import REQUEST_ID
from service.api.errors import problems
from service.api.schemas import AskRequest, SearchRequest, SearchResult
from service.api.shown import answer_shown, passage_shown
from service.api.state import Service, Serving
from service.api.stream import EventStream, answer_frames, while_client_stays
from service.api.traced import sends_trace
from service.assemble import AnswerInProgress
from service.conversations import turns_of
from service.fit import require_fitting
from service.parts import Parts
from service.question import language_of, require_searchable
from service.releases.in_force import parts_for
from service.search import search
from service.types import Answer, Done, Event, Question

CLIENT_HAS_GONE = 499  # nginx's word for it; nobody reads it but the log
EVENTS = {
    "text/event-stream": {
        "schema": {"type": "string"},
        "example": 'event: progress\ndata: {"stage":"pack"}\n\n',
    }
}
routes = reader_routes("questions")


@routes.post(
    "/v1/ask",
    summary="Ask a question",
    response_model=Answer,
    responses={200: {"content": EVENTS}, **problems(404, 413, 422, 429, 502, 503, 504)},
)
async def ask(body: AskRequest, request: Request, asker: Asker, service: Serving) -> Answer | Response:
    """An answer with checked citations, or a refusal; with `Accept: text/event-stream` as it is made."""
    parts = await to_thread.run_sync(parts_for, asker, service.parts)
    question = to_question(body, parts)
    question = await to_thread.run_sync(permitted, question, asker, service.parts)
    events = counted(question, asker, service, sends_trace(request, service))
    if "text/event-stream" in request.headers.get("accept", ""):
        return EventStream(answer_frames(events, question, asker, request.scope[REQUEST_ID]))
    async with while_client_stays(request.receive):
        return answer_shown(await last_answer(events), question, asker)
    return Response(status_code=CLIENT_HAS_GONE)


@routes.post("/v1/search", summary="Find passages", responses=problems(404, 413, 422, 503))
def find(body: SearchRequest, asker: Asker, service: Serving) -> SearchResult:
    """The passages that an answer would be made of, best first."""
    require_searchable(body.query, "query", service.parts)
    question = Question(body.query, language_of(body.query), as_tuple(body.collections))
    found = search(question, asker, service.parts, body.top_k)
    return SearchResult(tuple(passage_shown(rank, one, asker) for rank, one in enumerate(found, start=1)))


def to_question(body: AskRequest, parts: Parts) -> Question:
    """:raises InvalidInput: for what the fields alone do not tell.
    :raises OverBudget: as `require_searchable`; or if it does not fit the language model's window.
    """
    settings = parts.settings
    if body.max_citations is not None and body.max_citations > settings.max_evidence:
        raise InvalidInput(
            f"max_citations is {body.max_citations}.",
            why=f"An answer is built on {settings.max_evidence} passages at most.",
            next_step="Ask for fewer.",
            field="max_citations",
        )
    require_searchable(body.question, "question", parts)
    question = Question(
        text=body.question,
        language=language_of(body.question),
        collections=as_tuple(body.collections),
        max_citations=body.max_citations,
        include_citations=body.include_citations,
        output=body.output,
        priority=body.priority,
        conversation_id=body.conversation_id or "",
    )
    require_fitting(question, parts)
    return question


def as_tuple(collections: Sequence[str] | None) -> tuple[str, ...] | None:
    """None, all that the asker may read, is not (), none."""
    return None if collections is None else tuple(dict.fromkeys(collections))


def permitted(question: Question, asker: Principal, parts: Parts) -> Question:
    """With the turns before it; decided before a stream begins.

    :raises NotFound: if a collection asked for by name, or the conversation, is missing or not `asker`'s.
    """
    with parts.database.reading() as session:
        for collection_id in question.collections or ():
            get_collection(session, asker, collection_id)
        if not question.conversation_id:
            return question
        return replace(question, turns=turns_of(session, asker, question.conversation_id))


async def counted(
    question: Question,
    asker: Principal,
    service: Service,
    ended: Callable[[AnswerInProgress], None] | None,
    answer_id: str | None = None,
) -> AsyncGenerator[Event]:
    """The events of an answer, its outcome, stages and faults counted at the end."""
    try:
        async with aclosing(answer_question(question, asker, service.parts, ended, answer_id)) as events:
            async for event in events:
                if isinstance(event, Done):
                    service.metrics.count_answer(event.answer)
                    service.metrics.count_engine_faults(event.trace.faults)
                yield event
    except ModelFailed as error:
        service.metrics.count_engine_faults([error.code])
        raise


async def last_answer(events: AsyncGenerator[Event]) -> Answer:
    """The answer at the end of the events."""
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Done):
                return event.answer
    raise AssertionError("an answer ends with Done")
