"""A question the whole way, to its end."""

from __future__ import annotations

from ingest.corpus.types import Principal
from service.answer import answer_question
from service.parts import Parts
from service.types import Done, Question


async def ask_through(question: Question, asker: Principal, parts: Parts) -> Done:
    """The answer with its trace."""
    async for event in answer_question(question, asker, parts):
        if isinstance(event, Done):
            return event
    raise AssertionError("an answer ends with Done")
