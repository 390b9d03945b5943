"""Conversations: answers that one user was given one after the other, and what may still be shown of them.

A conversation has no row of its own: it is the answers that carry its id, and ends with the last of them.
Nobody reads or continues another's, an admin neither.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, delete, func, select
from sqlalchemy.orm import Session

from ingest.corpus.errors import NotFound
from ingest.corpus.lookup import readable_versions
from ingest.corpus.types import Principal
from service.history import ANSWER, RECORD, AnswerRow, withhold
from service.types import Answer, Turn

MOST_TURNS = 50  # read of one conversation, the newest


@dataclass(frozen=True, slots=True)
class ListedConversation:
    conversation_id: str
    turns: int
    began_at: str
    last_at: str
    question: str  # the first


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """One question of a conversation with its answer as the reader may see it now."""

    answer_id: str
    created_at: str
    question: str
    answer: Answer | None  # None: it was cancelled or failed


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question asked before and what was said to it, as a client that keeps its conversations tells it."""

    question: str
    answer: str  # "": none came


def list_conversations(session: Session, principal: Principal, most: int) -> tuple[ListedConversation, ...]:
    """His own, the one spoken in last first."""
    last = func.max(AnswerRow.created_at)
    rows = session.execute(
        select(AnswerRow.conversation_id, func.count(), func.min(AnswerRow.created_at), last)
        .where(_own(principal), AnswerRow.conversation_id.is_not(None))
        .group_by(AnswerRow.conversation_id)
        .order_by(last.desc(), AnswerRow.conversation_id)
        .limit(most)
    )
    return tuple(
        ListedConversation(str(one), turns, began_at, last_at, _first_question(session, principal, str(one)))
        for one, turns, began_at, last_at in rows
    )


def show_conversation(session: Session, principal: Principal, conversation_id: str) -> tuple[ShownTurn, ...]:
    """Its newest turns, oldest first; of each answer what the reader may still read.

    :raises NotFound: for a missing conversation and for somebody else's alike.
    """
    rows = session.execute(
        select(AnswerRow.id, AnswerRow.created_at, AnswerRow.answer, AnswerRow.record)
        .where(_own(principal), AnswerRow.conversation_id == conversation_id)
        .order_by(AnswerRow.created_at.desc(), AnswerRow.id.desc())
        .limit(MOST_TURNS)
    ).all()
    if not rows:
        raise NotFound("There is no such conversation.", next_step="Leave conversation_id out to begin one.")
    return tuple(
        ShownTurn(
            row.id,
            row.created_at,
            RECORD.validate_json(row.record).question,
            None if row.answer is None else _readable(session, principal, ANSWER.validate_json(row.answer)),
        )
        for row in reversed(rows)
    )


def turns_of(session: Session, principal: Principal, conversation_id: str) -> tuple[Turn, ...]:
    """What a follow-up may be understood by: the turns that came to an answer or a refusal, oldest first.

    :raises NotFound: as `show_conversation`.
    """
    shown = show_conversation(session, principal, conversation_id)
    return tuple(_turn(one.answer, one.question) for one in shown if one.answer is not None)


def turns_told(
    session: Session, principal: Principal, exchanges: Sequence[Exchange]
) -> tuple[tuple[Turn, ...], str]:
    """The same of a conversation that a client tells of, and the id under which it is kept here, or "".

    A client can say what it likes: its questions are its own, and what it has for an answer counts for one if
    it is word for word what `principal` was told, and then as far as he may still read it. Of all others it
    is only known what was asked.
    """
    told = {(one.question.strip(), one.answer.strip()) for one in exchanges if one.answer.strip()}
    kept = _kept(session, principal, told) if told else {}
    turns: list[Turn] = []
    conversation_id = ""
    for one in exchanges[-MOST_TURNS:]:
        found = kept.get((one.question.strip(), one.answer.strip()))
        conversation_id = found.conversation_id or "" if found else ""
        if found:
            turns.append(_turn(_readable(session, principal, found), one.question))
        else:
            turns.append(Turn("", one.question, one.question, "", ()))
    return tuple(turns), conversation_id


def _kept(
    session: Session, principal: Principal, told: Collection[tuple[str, str]]
) -> dict[tuple[str, str], Answer]:
    """Those of them that are among the newest answers that `principal` was given; the newest of each."""
    rows = session.execute(
        select(AnswerRow.answer, AnswerRow.record)
        .where(_own(principal), AnswerRow.answer.is_not(None))
        .order_by(AnswerRow.created_at.desc(), AnswerRow.id.desc())
        .limit(MOST_TURNS)
    )
    kept: dict[tuple[str, str], Answer] = {}
    for row in rows:
        answer = ANSWER.validate_json(row.answer)
        said = answer.refusal.text if answer.refusal else answer.answer
        asked = RECORD.validate_json(row.record).question
        if (asked.strip(), said.strip()) in told:
            kept.setdefault((asked.strip(), said.strip()), answer)
    return kept


def conversation_of(session: Session, principal: Principal, answer_id: str) -> str:
    """The id of the conversation in which `principal` was given this answer.

    :raises NotFound: for a missing answer and for somebody else's alike.
    """
    found = session.scalar(
        select(AnswerRow.conversation_id).where(_own(principal), AnswerRow.id == answer_id)
    )
    if found is None:
        raise NotFound("There is no such answer.", next_step="Check the id.")
    return found


def delete_conversation(session: Session, principal: Principal, conversation_id: str) -> None:
    """With its answers and their records.

    :raises NotFound: as `show_conversation`.
    """
    show_conversation(session, principal, conversation_id)
    session.execute(delete(AnswerRow).where(_own(principal), AnswerRow.conversation_id == conversation_id))


def _own(principal: Principal) -> ColumnElement[bool]:
    return and_(AnswerRow.tenant_id == principal.tenant_id, AnswerRow.user_id == principal.user_id)


def _first_question(session: Session, principal: Principal, conversation_id: str) -> str:
    record = session.scalars(
        select(AnswerRow.record)
        .where(_own(principal), AnswerRow.conversation_id == conversation_id)
        .order_by(AnswerRow.created_at, AnswerRow.id)
        .limit(1)
    ).one()
    return RECORD.validate_json(record).question


def _readable(session: Session, principal: Principal, answer: Answer) -> Answer:
    cited = {(citation.document_id, citation.version) for citation in answer.citations}
    return withhold(answer, readable_versions(session, principal, cited))


def _turn(answer: Answer, question: str) -> Turn:
    shown = [one.text for one in answer.statements if one.verdict.status == "supported"]
    return Turn(
        answer_id=answer.answer_id,
        question=question,
        understood_as=answer.understood_as or question,
        said=" ".join(shown),
        cited=tuple(dict.fromkeys(one.title for one in answer.citations)),
        refused=answer.refusal.code if answer.refusal else None,
    )
