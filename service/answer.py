"""The whole way of a question: a fixed workflow that retrieves once, generates once and checks.

    release       prompt and policy as they are in force for who asks, if a language model is asked
    understand    a follow-up becomes a question by itself
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

from collections.abc import AsyncGenerator
from contextlib import aclosing

from ingest.corpus.errors import ModelFailed, Overloaded
from ingest.corpus.types import Principal
from service.assemble import AnswerInProgress, cite
from service.checking.both import unasked
from service.checking.check import check_statement
from service.disagreement import find_disagreements
from service.fit import fits, pack_evidence
from service.follow_up import is_unclear, understood
from service.look_up import look_up, still_readable
from service.pack import first_of
from service.parts import Parts
from service.refuse import refuse
from service.releases.in_force import parts_for
from service.repair import both, is_new, to_mend
from service.retrieve import retrieve
from service.types import (
    Done,
    DraftStatement,
    Event,
    EvidenceFound,
    Generated,
    GenerationTask,
    Progress,
    Question,
    RefusalCode,
    Refused,
    Statement,
    StatementPassed,
)


async def answer_question(
    question: Question, principal: Principal, parts: Parts
) -> AsyncGenerator[Event, None]:
    """Events in order, the last one `Done` with the whole answer; a refusal is an answer too."""
    making = AnswerInProgress(question, principal, parts)
    async with making.kept_whatever_happens(parts.database), aclosing(stages(making, parts)) as events:
        async for event in events:
            yield event
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


async def checked_statements(making: AnswerInProgress, parts: Parts) -> AsyncGenerator[Statement, None]:
    """Drafted statements as they pass their checks; those that do not are kept in the trace and not shown.

    Where some did not, the language model is asked once more.
    """
    async with aclosing(checked_draft(making.task(), making, parts)) as passed:
        async for statement in passed:
            yield statement
    again = await making.timed("repair", second_task, making, parts)
    if again is None:
        return
    try:
        async with aclosing(checked_draft(again, making, parts)) as passed:
            async for statement in passed:
                yield statement
    except (ModelFailed, Overloaded) as error:  # what the first draft brought stands
        making.repair = error.code


async def checked_draft(
    task: GenerationTask, making: AnswerInProgress, parts: Parts
) -> AsyncGenerator[Statement, None]:
    async with aclosing(parts.generator.draft(task)) as drafts:
        async for drafted in making.clock.each("generate", drafts):
            if isinstance(drafted, Generated):
                making.generated = both(making.generated, drafted) if making.generated else drafted
                making.packed = first_of(making.packed, drafted.passages)
            elif is_new(drafted, making.statements):
                statement = await making.timed("check", check, drafted, making, parts)
                making.statements.append(statement)
                if statement.verdict.status == "supported":
                    making.clock.mark("first_statement")
                    yield statement


def second_task(making: AnswerInProgress, parts: Parts) -> GenerationTask | None:
    """The draft once more, with what did not pass; None if all did, or where there is no room for it."""
    prompting = parts.prompting
    if prompting is None or prompting.repairs is None or making.generated is None:
        return None
    failed = to_mend(making.statements, making.generated)
    if not failed:
        return None
    note = prompting.repairs[making.question.language].note(failed, prompting.chat.control_tokens)
    task = making.task(note)
    if task.prompt is None or not fits(task.prompt, prompting, parts.settings):
        making.repair = "over_budget"
        return None
    making.repair = "tried"
    return task


def check(drafted: DraftStatement, making: AnswerInProgress, parts: Parts) -> Statement:
    """All checks of one statement; whether its passages may be read is asked of the database once more."""
    evidence = making.packed.evidence
    cited = [one for one in evidence if one.marker in drafted.citations]
    permitted = still_readable(cited, making.principal, parts)
    return check_statement(drafted, evidence, permitted, parts.judge)


def statements_that_disagree(making: AnswerInProgress, parts: Parts) -> list[Statement]:
    """What other documents say of the same in other figures, quoted and checked as all statements are."""
    question, shown, evidence = making.question, making.shown, making.packed.evidence
    if not shown:
        return []
    weighed = parts.sufficiency.weigher.weigh(question.text, evidence)
    judge = unasked(parts.judge)  # the draft is over; and what disagrees is quoted
    found = find_disagreements(question.text, question.language, shown, evidence, weighed, judge)
    added = []
    for sentence, disagreement in found:
        quoted = DraftStatement(sentence.with_lead, (disagreement.other_marker,))
        if any(disagreement.other_marker in one.citations for one in making.shown):
            making.disagreements.append(disagreement)  # it is said already
            continue
        statement = check(quoted, making, parts)
        if statement.verdict.status == "supported":
            making.statements.append(statement)
            making.disagreements.append(disagreement)
            added.append(statement)
    return added


def why_nothing_is_shown(making: AnswerInProgress) -> RefusalCode | None:
    """Why the generation left nothing to show, or none."""
    if making.shown:
        return None
    return "unsupported_answer" if making.statements else "insufficient_evidence"
