"""What can be seen of an answer, in the words of the set instead of the database's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from service.evaluation.asking.attempts import Attempt, CandidateSeen, CitationSeen, Passage, StatementSeen
from service.evaluation.asking.install import Installed
from service.evaluation.sets.cases import Case
from service.history import AnswerRecord
from service.trace import TracedCandidate
from service.types import Answer


def attempt_of(
    case: Case,
    answer: Answer,
    record: AnswerRecord,
    candidates: Sequence[TracedCandidate],
    installed: Installed,
) -> Attempt:
    """:param answer: as the asker was given it.
    :param record: with its candidates, as somebody is shown it who may read all documents of the set.
    """
    given = {(one.text, one.citations) for one in answer.statements}
    return Attempt(
        case.id,
        ended=answer.outcome,
        answer=answer.answer,
        language=answer.language,
        refusal=answer.refusal.code if answer.refusal else None,
        finish_reason=answer.finish_reason,
        generator=answer.generator,
        degraded=answer.degraded,
        candidates=tuple(_candidates(candidates, installed)),
        statements=tuple(
            StatementSeen(
                one.text,
                one.citations,
                one.verdict.status,
                one.verdict.level,
                one.verdict.reason,
                one.verdict.score,
                shown=(one.text, one.citations) in given,
            )
            for one in record.statements
        ),
        citations=tuple(
            CitationSeen(one.marker, installed.names.get(one.document_id, ""), one.start, one.end, one.quote)
            for one in answer.citations
        ),
        timings_ms=answer.timings_ms,
        input_tokens=answer.usage.input_tokens,
        output_tokens=answer.usage.output_tokens,
        evidence_tokens=answer.usage.evidence_tokens,
    )


def _candidates(traced: Sequence[TracedCandidate], installed: Installed) -> Iterator[CandidateSeen]:
    for one in traced:
        name = installed.names[one.document_id]
        text = installed.texts[name][one.start : one.end]
        yield CandidateSeen(
            Passage(name, one.start, one.end, text),
            fused_rank=one.fused_rank,
            words_rank=one.words_rank,
            meaning_rank=one.meaning_rank,
            given=one.reranked_rank is not None,
            reranked_rank=one.reranked_rank,
            marker=one.marker,
            left_out=one.left_out,
        )
