"""What of an answer leaves the service: scores and change numbers not for readers, citations if asked for."""

from __future__ import annotations

from dataclasses import replace

from ingest.corpus.types import Principal, Role
from service.api.schemas import AnswerShown, PassageShown, ScoresShown
from service.checking.cite import render
from service.equality import equality
from service.history import StoredAnswer
from service.types import Answer, Citation, Question, RankedChunk, Statement, StatementPassed

SEE_SCORES: frozenset[Role] = frozenset({"admin", "evaluator"})


def answer_shown(answer: Answer, question: Question, principal: Principal) -> Answer:
    if principal.role != "admin":
        answer = _without_generation(answer)
    statements = tuple(statement_shown(one, question, principal) for one in answer.statements)
    if question.include_citations:
        return replace(answer, statements=statements)
    text = render(answer.statements, include_citations=False)
    return replace(answer, answer=text, statements=statements, citations=(), disagreements=())


def statement_shown(statement: Statement, question: Question, principal: Principal) -> Statement:
    shown = statement if principal.role in SEE_SCORES else _without_score(statement)
    if question.include_citations:
        return shown
    return replace(shown, citations=(), verdict=replace(shown.verdict, spans=()))


def passed_shown(passed: StatementPassed, question: Question, principal: Principal) -> StatementPassed:
    citations: tuple[Citation, ...] = passed.citations if question.include_citations else ()
    return StatementPassed(statement_shown(passed.statement, question, principal), citations)


def passage_shown(rank: int, ranked: RankedChunk, principal: Principal) -> PassageShown:
    stored, chunk, candidate = ranked.stored, ranked.stored.chunk, ranked.candidate
    scores = ScoresShown(stored.id, ranked.score, candidate.meaning, candidate.words)
    return PassageShown(
        rank=rank,
        collection_id=stored.collection_id,
        document_id=stored.document_id,
        version=stored.version,
        title=stored.title,
        page=chunk.page,
        section=chunk.section,
        start=chunk.start,
        end=chunk.end,
        text=chunk.text,
        url=f"/v1/documents/{stored.document_id}/versions/{stored.version}#char={chunk.start},{chunk.end}",
        scores=scores if principal.role in SEE_SCORES else None,
    )


def stored_answer_shown(stored: StoredAnswer, principal: Principal) -> AnswerShown:
    record, candidates = stored.record, stored.candidates
    return AnswerShown(
        answer_id=record.answer_id,
        created_at=stored.created_at,
        finish_reason=record.finish_reason,
        question=record.question,
        answer=stored.answer and past_answer_shown(stored.answer, principal),
        equality=equality(record, stored.answer.degraded) if stored.answer else None,
        record=None if candidates is None else record,
        candidates=candidates,
    )


def past_answer_shown(answer: Answer, principal: Principal) -> Answer:
    if principal.role == "admin":
        return answer
    if principal.role not in SEE_SCORES:
        answer = replace(answer, statements=tuple(_without_score(one) for one in answer.statements))
    return _without_generation(answer)


def _without_score(statement: Statement) -> Statement:
    return replace(statement, verdict=replace(statement.verdict, score=None))


def _without_generation(answer: Answer) -> Answer:
    """Its numbers count every change in the tenant, also in collections that the reader may not read."""
    versions = {name: value for name, value in answer.versions.items() if name != "index_generation"}
    return replace(answer, versions=versions)
