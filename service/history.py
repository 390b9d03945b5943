"""Answers as they were given, with the record of how they were made, and what of them may be shown now."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pydantic import TypeAdapter
from sqlalchemy import Index, String, Text, insert, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from ingest.corpus.clock import now_utc
from ingest.corpus.errors import NotFound
from ingest.corpus.lookup import look_up, readable_versions
from ingest.corpus.tables import Base
from ingest.corpus.types import Principal
from service.checking.cite import render
from service.safety import SafetyResult
from service.types import Answer, AnswerLanguage, Citation, Statement, Verdict

GONE = Verdict("not_supported", "permitted", "source no longer available")
WITHHELD: dict[AnswerLanguage, str] = {
    "en": "[withheld: source no longer available]",
    "zh": "[已隐去：来源已不可用]",
}


class AnswerRow(Base):
    __tablename__ = "answers"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(64))
    user_id: Mapped[str] = mapped_column(String(64))
    conversation_id: Mapped[str | None] = mapped_column(String(32))  # None: given before there were any
    created_at: Mapped[str] = mapped_column(String(32))
    finish_reason: Mapped[str] = mapped_column(String(16))
    answer: Mapped[str | None] = mapped_column(Text)  # JSON of Answer; None if it was cancelled or failed
    record: Mapped[str] = mapped_column(Text)  # JSON of AnswerRecord

    __table_args__ = (
        Index("answers_by_user", "tenant_id", "user_id", "created_at"),
        Index("answers_by_conversation", "tenant_id", "user_id", "conversation_id", "created_at"),
    )


@dataclass(frozen=True, slots=True)
class ScoredChunk:
    chunk_id: int
    score: float


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """The record of a question, also of one refused, cancelled or failed. Holds no document text."""

    answer_id: str
    trace_id: str
    tenant_id: str
    user_id: str
    question: str  # as it was asked
    collections: tuple[str, ...] | None
    # prompt, policy, model, embedder, reranker, judge, index generation, config hash, code
    versions: dict[str, str]
    sampling: dict[str, int | float | list[str] | None]  # as sent; empty where nothing is sampled
    language: AnswerLanguage = "en"
    input_tokens: int = 0
    output_tokens: int = 0
    evidence_tokens: int = 0
    words_weight: float | None = None
    words_reason: str = ""
    retrieved: tuple[ScoredChunk, ...] = ()
    denied: tuple[ScoredChunk, ...] = ()  # found by an index, not given out by the look-up
    used: tuple[ScoredChunk, ...] = ()  # in the evidence
    left_out: dict[str, str] = field(default_factory=dict)  # chunk id -> why it is not in the evidence
    tool_calls: tuple[str, ...] = ()
    timings_ms: dict[str, float] = field(default_factory=dict)
    finish_reason: str = "error"
    statements: tuple[Statement, ...] = ()  # dropped ones included, with their verdicts
    refusal_code: str | None = None
    safety: SafetyResult | None = None  # of the text shown; None where there is none
    conversation_id: str | None = None
    understood_as: str | None = None  # the follow-up as a question by itself; None: answered as it was asked
    heard: tuple[str, ...] = ()  # ids of the answers before it that it was understood by


ANSWER = TypeAdapter(Answer)
RECORD = TypeAdapter(AnswerRecord)


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    answer: Answer | None
    record: AnswerRecord
    created_at: str


@dataclass(frozen=True, slots=True)
class ListedAnswer:
    answer_id: str
    created_at: str
    finish_reason: str
    question: str


def keep_answer(session: Session, record: AnswerRecord, answer: Answer | None) -> None:
    session.execute(
        insert(AnswerRow).values(
            id=record.answer_id,
            tenant_id=record.tenant_id,
            user_id=record.user_id,
            conversation_id=record.conversation_id,
            created_at=now_utc(),
            finish_reason=record.finish_reason,
            answer=None if answer is None else ANSWER.dump_json(answer).decode(),
            record=RECORD.dump_json(record).decode(),
        )
    )


def get_answer(session: Session, principal: Principal, answer_id: str) -> StoredAnswer:
    """The asker's own answer, or any of the tenant for an admin, without what the reader may no longer read.

    :raises NotFound: for a missing answer and for somebody else's alike.
    """
    row = session.get(AnswerRow, answer_id)
    if row is None or not _may_see(principal, row):
        raise NotFound("There is no such answer.", next_step="Check the id.")
    answer = None if row.answer is None else ANSWER.validate_json(row.answer)
    record = _without_lost_texts(session, principal, RECORD.validate_json(row.record))
    if answer is None:
        return StoredAnswer(None, record, row.created_at)
    cited = {(citation.document_id, citation.version) for citation in answer.citations}
    readable = readable_versions(session, principal, cited)
    return StoredAnswer(withhold(answer, readable), record, row.created_at)


def list_answers(session: Session, principal: Principal, most: int) -> tuple[ListedAnswer, ...]:
    """The newest answers that `principal` himself was given, newest first."""
    rows = session.execute(
        select(AnswerRow.id, AnswerRow.created_at, AnswerRow.record)
        .where(AnswerRow.tenant_id == principal.tenant_id, AnswerRow.user_id == principal.user_id)
        .order_by(AnswerRow.created_at.desc(), AnswerRow.id)
        .limit(most)
    )
    records = ((row.created_at, RECORD.validate_json(row.record)) for row in rows)
    return tuple(
        ListedAnswer(one.answer_id, created_at, one.finish_reason, one.question)
        for created_at, one in records
    )


def withhold(answer: Answer, readable: set[tuple[str, int]]) -> Answer:
    """The answer without each statement that cites a document version outside `readable`."""

    def is_readable(citation: Citation) -> bool:
        return (citation.document_id, citation.version) in readable

    gone = {citation.marker for citation in answer.citations if not is_readable(citation)}
    if not gone:
        return answer
    withheld = Statement(WITHHELD[answer.language], (), GONE)
    statements = tuple(withheld if gone & set(one.citations) else one for one in answer.statements)
    return replace(
        answer,
        answer=render(statements),
        statements=statements,
        citations=tuple(citation for citation in answer.citations if is_readable(citation)),
    )


def _without_lost_texts(session: Session, principal: Principal, record: AnswerRecord) -> AnswerRecord:
    """The record without the texts of its statements, if any passage behind them can no longer be read.

    A dropped statement may cite a passage that it does not come from, so its markers do not tell which. What
    was decided of each stays: it is what the record is for.
    """
    used = {one.chunk_id for one in record.used}
    if used <= look_up(session, principal, used).keys():
        return record
    notice = WITHHELD[record.language]
    statements = tuple(
        replace(one, text=notice, verdict=replace(one.verdict, spans=(), reason=""))
        for one in record.statements
    )
    return replace(record, statements=statements)


def _may_see(principal: Principal, row: AnswerRow) -> bool:
    if row.tenant_id != principal.tenant_id:
        return False
    return principal.role == "admin" or row.user_id == principal.user_id
