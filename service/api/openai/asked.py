"""The messages of a client to the question that they ask, and to the conversation before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ingest.corpus.errors import InvalidInput, NotFound, OverBudget
from ingest.corpus.types import Principal
from service.api.openai.sent import SentMessage
from service.api.questions import permitted, to_question
from service.api.schemas import AskRequest
from service.conversations import Exchange, conversation_of, turns_told
from service.parts import Parts
from service.question import require_searchable
from service.types import Question

EVERYTHING = "citeward"  # the model of all that its caller may read
INSTRUCTIONS = ("system", "developer")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request asks, in our words."""

    text: str
    place: str  # the field that holds it
    exchanges: tuple[Exchange, ...]  # before it, oldest first
    ignored: tuple[str, ...]  # messages that are no part of either


def asked_of(messages: Sequence[SentMessage], field: str) -> Asked:
    """The last message is the question. Those of system and developer are read by nothing: a client's text
    instructs no model here, only released prompts do.

    :raises InvalidInput: if the last message is not the user's.
    """
    last = len(messages) - 1
    if messages[last].role != "user":
        raise InvalidInput(
            f"The last message is of the role {messages[last].role}.",
            why="The question is the last message, and has the role user.",
            next_step="Send the question last.",
            field=f"{field}.{last}.role",
        )
    ignored = (f"{field}.{n}" for n, one in enumerate(messages) if one.role in INSTRUCTIONS)
    return Asked(
        text=messages[last].text,
        place=f"{field}.{last}.content",
        exchanges=tuple(exchanges(messages[:last])),
        ignored=tuple(ignored),
    )


def exchanges(messages: Sequence[SentMessage]) -> Iterator[Exchange]:
    """Each question with what was said to it, "" where nothing was."""
    question: str | None = None
    for one in messages:
        if one.role == "assistant" and question is not None:
            yield Exchange(question, one.text)
            question = None
        elif one.role == "user":
            if question is not None:
                yield Exchange(question, "")
            question = one.text
    if question is not None:
        yield Exchange(question, "")


def model_of(collection_id: str) -> str:
    return f"{EVERYTHING}/{collection_id}"


def collections_of(model: str) -> list[str] | None:
    """Those that a model is of; None: all that its caller may read. Whether he may is not asked here.

    :raises NotFound: if no model is called so.
    """
    if model == EVERYTHING:
        return None
    prefix, _, collection_id = model.partition("/")
    if prefix != EVERYTHING or not collection_id:
        raise NotFound(f"There is no model {model!r}.", next_step="GET /v1/models lists them.")
    return [collection_id]


def question_of(asked: Asked, model: str, previous: str | None, asker: Principal, parts: Parts) -> Question:
    """As `/v1/ask` would have it, decided before any work.

    :param previous: id of an answer that `asker` was given, in whose conversation this is asked.
    :raises CitewardError: as `to_question` and `permitted`, naming the field that the client knows.
    """
    body = AskRequest(question=asked.text, collections=collections_of(model))
    try:
        question = to_question(body, parts)
    except (InvalidInput, OverBudget) as error:
        error.field = asked.place
        raise
    if previous is not None:
        with parts.database.reading() as session:
            question = replace(question, conversation_id=conversation_of(session, asker, previous))
    return heard(permitted(question, asker, parts), asked.exchanges, asker, parts)


def heard(question: Question, told: Sequence[Exchange], asker: Principal, parts: Parts) -> Question:
    """With the conversation that the client tells of. What could not have been asked is not heard: a client
    keeps sending a message that was refused once."""
    askable = [one for one in told if _is_askable(one.question, parts)]
    if not askable:
        return question
    with parts.database.reading() as session:
        turns, conversation_id = turns_told(session, asker, askable)
    return replace(
        question,
        turns=(*question.turns, *turns),
        conversation_id=question.conversation_id or conversation_id,
    )


def _is_askable(text: str, parts: Parts) -> bool:
    try:
        require_searchable(text, "question", parts)
    except (InvalidInput, OverBudget):
        return False
    return True
