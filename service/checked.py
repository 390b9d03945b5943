"""Drafts to statements that were checked: the first draft, one more if some failed, and what disagrees.

Only what passed is handed on; all of it is kept in the trace.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from ingest.corpus.errors import ModelFailed, Overloaded
from service.assemble import AnswerInProgress
from service.checking.both import unasked
from service.checking.check import check_statement
from service.disagreement import find_disagreements
from service.fit import fits
from service.look_up import still_readable
from service.pack import first_of
from service.parts import Parts
from service.repair import both, is_new, to_mend
from service.types import (
    DraftStatement,
    Generated,
    GenerationTask,
    Statement,
)


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
    async with (
        aclosing(parts.generator.draft(task)) as drafts,
        aclosing(making.clock.each("generate", drafts)) as timed,
    ):
        async for drafted in timed:
            if isinstance(drafted, Generated):
                making.drafts.append(drafted)
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
