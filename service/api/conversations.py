"""Conversations: one's own, and nobody else's."""

from __future__ import annotations

from dataclasses import replace

from service.api.door import Asker, reader_routes
from service.api.errors import problems
from service.api.shown import past_answer_shown
from service.api.state import Serving
from service.conversations import (
    ListedConversation,
    ShownTurn,
    delete_conversation,
    list_conversations,
    show_conversation,
)

MOST_LISTED = 100
routes = reader_routes("conversations")


@routes.get("/v1/conversations", summary="List your conversations")
def show_conversations(asker: Asker, service: Serving) -> list[ListedConversation]:
    """The one spoken in last first."""
    with service.parts.database.reading() as session:
        return list(list_conversations(session, asker, MOST_LISTED))


@routes.get("/v1/conversations/{conversation_id}", summary="Show a conversation", responses=problems(404))
def show_turns(conversation_id: str, asker: Asker, service: Serving) -> list[ShownTurn]:
    """Its newest turns, oldest first; what you may no longer read is withheld."""
    with service.parts.database.reading() as session:
        turns = show_conversation(session, asker, conversation_id)
    return [replace(one, answer=one.answer and past_answer_shown(one.answer, asker)) for one in turns]


@routes.delete(
    "/v1/conversations/{conversation_id}",
    summary="Delete a conversation",
    status_code=204,
    responses=problems(404),
)
def forget(conversation_id: str, asker: Asker, service: Serving) -> None:
    """With its questions, answers and their records."""
    with service.parts.database.writing() as session:
        delete_conversation(session, asker, conversation_id)
