"""The whole way of a question: a fixed workflow that retrieves once, generates once and checks.

    release       prompt and policy as they are in force for who asks, if a language model is asked
    understand    a follow-up becomes a question by itself; what a language model is told of the turns before
    retrieve      permitted chunks by meaning and by words, fused into one order
    look up       the one read of the database: text, version, permission asked again from the truth
    rerank        a better order
    pack          what was in force and fits the token budget becomes evidence C1 … Cn; every candidate gets
                  a reason; for a language model the prompt that shows it is made, and counted in the
                  model's own tokens
    sufficiency   too little evidence: refuse, without generating
    generate      drafted statements, one by one
    check         each statement against the passages that it cites; only what passed is shown, and what
                  other documents say otherwise; where some did not pass, one more draft that is told which
    keep          the record of all this, before the answer is handed out

Nothing here knows of HTTP, and no stage knows of the next.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from ingest.corpus.ids import new_id
from ingest.corpus.types import Principal
from service.assemble import AnswerInProgress, cite
from service.checked import checked_statements, statements_that_disagree
from service.clock import fault_of
from service.fit import pack_evidence, recalled
from service.follow_up import is_unclear, understood
from service.look_up import look_up
from service.parts import Parts
from service.refuse import refuse
from service.releases.in_force import parts_for
from service.retrieve import retrieve
from service.types import (
    Done,
    Event,
    EvidenceFound,
    Progress,
    Question,
    RefusalCode,
    Refused,
    StatementPassed,
)


async def answer_question(
    question: Question,
    principal: Principal,
    parts: Parts,
    ended: Callable[[AnswerInProgress], None] | None = None,
    answer_id: str | None = None,
) -> AsyncGenerator[Event, None]:
    """Events in order, the last one `Done` with the whole answer; a refusal is an answer too.

    :param ended: told of the question once it has ended, whichever way; must not fail, nor wait.
    :param answer_id: a new one, of who must know it before there is an answer; None: one is made here.
    """
    making = AnswerInProgress(question, principal, parts, answer_id or new_id("ans"))
    try:
        async with making.kept_whatever_happens(parts.database), aclosing(stages(making, parts)) as events:
            async for event in events:
                yield event
    except BaseException as error:
        making.fault = fault_of(error)
        raise
    finally:
        if ended is not None:
            ended(making)
    assert making.answer is not None  # a block that failed has raised
    yield Done(making.answer, making.trace())


async def stages(making: AnswerInProgress, parts: Parts) -> AsyncGenerator[Event, None]:
    """The stages up to `check`; what each finds is left in `making`."""
    principal = making.principal
    if parts.prompting is not None:
        making.parts = parts = await making.timed("release", parts_for, principal, parts)

    if making.question.turns:
        yield Progress("understand")
        making.question = await making.timed("understand", understood, making.question)
        making.question = await making.timed("understand", recalled, making.question, parts)
    question = making.question

    yield Progress("retrieve")
    making.fused, making.generation = await making.timed("retrieve", retrieve, question, principal, parts)

    yield Progress("look_up")
    making.ranked = await making.timed("look_up", look_up, making.fused, principal, parts)

    yield Progress("rerank")
    reranked = await making.timed("rerank", parts.reranker.rerank, question.text, making.ranked)
    making.ranked, making.rerank_fault = reranked.chunks, reranked.fault

    yield Progress("pack")
    making.packed, prompt = await making.timed(
        "pack", pack_evidence, question, making.ranked, making.boundary, parts
    )
    yield EvidenceFound(len(making.packed.evidence))

    enough = await making.timed(
        "sufficiency", parts.sufficiency.decide, question, making.fused, making.packed
    )
    making.answerable, code = enough.answerable, enough.code
    if code is None:
        making.prompt = prompt
        yield Progress("generate")
        async with aclosing(checked_statements(making, parts)) as passed:
            async for statement in passed:
                yield StatementPassed(statement, tuple(cite([statement], making.packed.evidence)))
        for statement in await making.timed("disagreements", statements_that_disagree, making, parts):
            yield StatementPassed(statement, tuple(cite([statement], making.packed.evidence)))
        code = why_nothing_is_shown(making)

    if code is not None:
        unclear = code == "insufficient_evidence" and is_unclear(question)
        making.refusal = refuse("question_unclear" if unclear else code, question.language)
        yield Refused(making.refusal)


def why_nothing_is_shown(making: AnswerInProgress) -> RefusalCode | None:
    """Why the generation left nothing to show, or none."""
    if making.shown:
        return None
    return "unsupported_answer" if making.statements else "insufficient_evidence"
