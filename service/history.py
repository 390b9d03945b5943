"""Answers as they were given, with the record of how they were made, and what of them may be shown now."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

from pydantic import TypeAdapter
from sqlalchemy import Index, String, Text, insert, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from ingest.corpus.access import readable_collections
from ingest.corpus.clock import now_utc
from ingest.corpus.errors import NotFound
from ingest.corpus.lookup import look_up, readable_versions
from ingest.corpus.tables import Base
from ingest.corpus.types import Principal
from service.checking.cite import render
from service.safety import SafetyResult
from service.trace import RetrievedChunk, TracedCandidate, trace_candidates
from service.types import Answer, AnswerLanguage, Citation, RememberedKind, Statement, Verdict

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
class RememberedFrom:
    """That a piece of this kind was told, and of which answer it is; see `memory`."""

    kind: RememberedKind
    answer_id: str  # "": of a question that only the client told of


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
    answerable: float | None = None  # probability that the evidence answers
    repair: str = ""  # "tried", or a code: why a second draft came to nothing; empty: none was called for
    retrieved: tuple[RetrievedChunk, ...] = ()
    denied: tuple[ScoredChunk, ...] = ()  # found by an index, not given out by the look-up
    ranked: tuple[int, ...] = ()  # chunk ids of those given out, as the reranker had them
    used: tuple[ScoredChunk, ...] = ()  # in the evidence, in the order of its markers
    left_out: dict[str, str] = field(default_factory=dict)  # chunk id -> why it is not in the evidence
    tool_calls: tuple[str, ...] = ()
    timings_ms: dict[str, float] = field(default_factory=dict)
    finish_reason: str = "error"
    statements: tuple[Statement, ...] = ()  # dropped ones included, with their verdicts
    refusal_code: str | None = None
    safety: SafetyResult | None = None  # of the text shown; None where there is none
    conversation_id: str | None = None
    understood_as: str | None = None  # the follow-up as a question by itself; None: answered as it was asked
    remembered: tuple[RememberedFrom, ...] = ()  # what the language model was told of them; not in words
    heard: tuple[str, ...] = ()  # ids of the answers before it that it was understood by


ANSWER = TypeAdapter(Answer)
RECORD = TypeAdapter(AnswerRecord)


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """`candidates` are what became of what was found; None: record and candidates are not for this viewer."""

    answer: Answer | None
    record: AnswerRecord
    created_at: str
    candidates: tuple[TracedCandidate, ...] | None = None


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
    """The asker's own answer, or any whose making `principal` may see, without what he may not read now.

    :raises NotFound: for a missing answer and for one that is not for him alike.
    """
    row = session.get(AnswerRow, answer_id)
    if row is None or row.tenant_id != principal.tenant_id:
        raise _missing()
    record = RECORD.validate_json(row.record)
    heard = tuple(_heard(session, record))
    traced = _may_trace(session, principal, (record, *heard))
    if not traced and row.user_id != principal.user_id:
        raise _missing()
    answer = None if row.answer is None else ANSWER.validate_json(row.answer)
    if answer is not None:
        cited = {(citation.document_id, citation.version) for citation in answer.citations}
        answer = withhold(answer, readable_versions(session, principal, cited))
    if not traced:
        return StoredAnswer(answer, record, row.created_at)
    known = look_up(session, principal, {one for each in (record, *heard) for one in _chunks(each)})
    seen = _without_lost_texts(record, heard, known.keys())
    candidates = trace_candidates(
        record.retrieved,
        [one.chunk_id for one in record.denied],
        record.ranked,
        [one.chunk_id for one in record.used],
        record.left_out,
        known,
    )
    if answer is not None:
        answer = replace(answer, understood_as=seen.understood_as)
    if principal.role != "admin":
        seen = _only_known(seen, known.keys())
    return StoredAnswer(answer, seen, row.created_at, tuple(candidates))


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


def lengths_of_answers(session: Session, most: int) -> tuple[tuple[int, int], ...]:
    """(input, output) tokens of the newest answers that a language model wrote, whatever the tenant.

    Without those of two drafts, whose tokens are added up: they were two sequences.
    """
    records = session.scalars(
        select(AnswerRow.record)
        .where(AnswerRow.answer.is_not(None))
        .order_by(AnswerRow.created_at.desc(), AnswerRow.id.desc())
        .limit(most)
    )
    read = (RECORD.validate_json(one) for one in records)
    return tuple(
        (one.input_tokens, one.output_tokens) for one in read if one.output_tokens and not one.repair
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
        disagreements=tuple(
            one for one in answer.disagreements if gone.isdisjoint((one.marker, one.other_marker))
        ),
    )


def _may_trace(session: Session, principal: Principal, records: Collection[AnswerRecord | None]) -> bool:
    """How they were made: an admin may see it, and an evaluator who may read every collection searched."""
    if principal.role == "admin":
        return True
    if principal.role != "evaluator" or None in records:
        return False
    searched = [_searched(one) for one in records if one]
    places = {place for each in searched for place in each}
    return all(searched) and places == readable_collections(session, principal, places)


def _searched(record: AnswerRecord) -> tuple[str, ...]:
    """The collections asked, from "handbook=17, rules=20"; none if it ended before anything was sought."""
    generation = record.versions.get("index_generation", "")
    return tuple(one.partition("=")[0] for one in generation.split(", ") if one)


def _heard(session: Session, record: AnswerRecord) -> Iterator[AnswerRecord | None]:
    """The records of the answers that a follow-up was understood by; None for one that is gone."""
    for answer_id in record.heard:
        row = session.get(AnswerRow, answer_id)
        yield RECORD.validate_json(row.record) if row else None


def _chunks(record: AnswerRecord | None) -> Iterator[int]:
    for each in (record.retrieved, record.denied, record.used) if record else ():
        yield from (one.chunk_id for one in each)


def _without_lost_texts(
    record: AnswerRecord, heard: Collection[AnswerRecord | None], known: Collection[int]
) -> AnswerRecord:
    """The record without what was drafted or understood from passages of which one can no longer be read.

    A dropped statement may cite a passage that it does not come from, so its markers do not tell which. What
    was decided of each stays: it is what the record is for.
    """
    notice = WITHHELD[record.language]
    if not _rests_on(record, known):
        statements = tuple(
            replace(one, text=notice, verdict=replace(one.verdict, spans=(), reason=""))
            for one in record.statements
        )
        record = replace(record, statements=statements)
    if record.understood_as and not all(one and _rests_on(one, known) for one in heard):
        record = replace(record, understood_as=notice)
    return record


def _rests_on(record: AnswerRecord, known: Collection[int]) -> bool:
    return all(one.chunk_id in known for one in record.used)


def _only_known(record: AnswerRecord, known: Collection[int]) -> AnswerRecord:
    """Without chunks that the viewer may not read, and without numbers that count changes elsewhere."""
    return replace(
        record,
        versions={name: value for name, value in record.versions.items() if name != "index_generation"},
        retrieved=tuple(one for one in record.retrieved if one.chunk_id in known),
        denied=tuple(one for one in record.denied if one.chunk_id in known),
        ranked=tuple(one for one in record.ranked if one in known),
        used=tuple(one for one in record.used if one.chunk_id in known),
        left_out={one: reason for one, reason in record.left_out.items() if int(one) in known},
    )


def _missing() -> NotFound:
    return NotFound("There is no such answer.", next_step="Check the id.")
