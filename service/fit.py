"""How much evidence fits the window: everything else is counted, then passages, then the whole once more.

With a language model its own tokenizer counts, and what is counted last is the final sequence: the tokens of
parts do not add up to those of the whole. Without one nothing has to fit but what is quoted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from ingest.corpus.clock import today_utc
from ingest.corpus.errors import OverBudget
from ingest.corpus.types import StoredChunk
from service.capacity.budget import TokenBudget
from service.editions import find_superseded
from service.memory import recall
from service.neutral import inert
from service.pack import pack, passage_text, without_last
from service.parts import Parts, Prompting
from service.prompt import build_prompt, passage_block
from service.settings import ServiceSettings
from service.types import Evidence, Packed, Prompt, Question, RankedChunk

BOUNDARY_BYTES = 8  # random ones, two hex digits each
HISTORY_SHARE = 4  # a conversation has a quarter of the room for evidence at most
SAMPLE_BOUNDARY = "0123456789abcdef"  # of the same length, where no real one is there yet


def pack_evidence(
    question: Question, ranked: Sequence[RankedChunk], boundary: str, parts: Parts
) -> tuple[Packed, Prompt | None]:
    """As many of the best passages as the token budget, the settings and the question let in; of editions of
    one document those that were in force.

    With the prompt that shows them to a language model, counted; None where there is none.

    :raises OverBudget: as `budget_of`.
    """
    settings, superseded = parts.settings, find_superseded(question.text, ranked, today_utc())
    most = min(settings.max_evidence, question.max_citations or settings.max_evidence)
    if parts.prompting is None:
        room = evidence_room(quoting_budget(question, parts), settings)
        return pack(ranked, room, partial(_count_text, parts), most, superseded), None
    budget = budget_of(question, boundary, parts.prompting, settings)
    count = partial(_count_block, question, boundary, f"C{most}", parts.prompting)
    packed = pack(ranked, evidence_room(budget, settings), count, most, superseded)
    prompt = prompt_of(question, packed.evidence, boundary, parts.prompting)
    while prompt.tokens > budget.prompt:  # ends: without any evidence it fits, or there were no budget
        packed = without_last(packed)
        prompt = prompt_of(question, packed.evidence, boundary, parts.prompting)
    return packed, prompt


def prompt_of(
    question: Question, evidence: Sequence[Evidence], boundary: str, prompting: Prompting, note: str = ""
) -> Prompt:
    template = prompting.templates[question.language]
    notes = "\n\n".join(one for one in (prompting.told_before(question), note) if one)
    return build_prompt(question, evidence, template, prompting.chat, boundary, notes)


def recalled(question: Question, parts: Parts) -> Question:
    """With what the language model is told of its conversation: at most what is set for it, and a share of
    what evidence would have, so that no conversation pushes evidence out.

    :raises OverBudget: as `budget_of`.
    """
    prompting = parts.prompting
    if prompting is None or prompting.memories is None or not question.turns:
        return question
    room = budget_of(question, SAMPLE_BOUNDARY, prompting, parts.settings).evidence // HISTORY_SHARE
    memory = prompting.memories[question.language]
    told = recall(question.turns, memory, min(parts.settings.history_tokens, room), prompting.chat)
    return replace(question, remembered=tuple(told))


def fits(prompt: Prompt, prompting: Prompting, settings: ServiceSettings) -> bool:
    """Whether the window holds it, with the whole answer and the margin."""
    taken = prompt.tokens + prompting.policy.max_new_tokens + settings.safety_margin
    return taken <= settings.context_window


def budget_of(
    question: Question, boundary: str, prompting: Prompting, settings: ServiceSettings
) -> TokenBudget:
    """What is taken before any evidence, measured on a prompt without any.

    :raises OverBudget: if the question does not fit the window; says by how many tokens.
    """
    chat = prompting.chat
    system = chat.count(prompting.templates[question.language].system_text(question))
    asked = chat.count(inert(question.text, chat.control_tokens))
    whole = prompt_of(question, (), boundary, prompting).tokens
    told = chat.count(prompting.told_before(question))
    return TokenBudget(
        context_window=settings.context_window,
        reserved_output=prompting.policy.max_new_tokens,
        system=system,
        current_input=asked,
        history=told,
        template_overhead=max(whole - system - asked - told, 0),  # never less than the whole, all together
        safety_margin=settings.safety_margin,
    )


def quoting_budget(question: Question, parts: Parts) -> TokenBudget:
    """Quoting has no prompt: its window bounds how much is read."""
    return TokenBudget(
        context_window=parts.settings.context_window,
        reserved_output=parts.settings.reserved_output,
        system=0,
        current_input=parts.embedder.tokenizer.count(question.text),
        safety_margin=parts.settings.safety_margin,
    )


def evidence_room(budget: TokenBudget, settings: ServiceSettings) -> int:
    """Tokens: what the window leaves, and no more than is set."""
    return min(budget.evidence, settings.max_evidence_tokens or budget.evidence)


def require_fitting(question: Question, parts: Parts) -> None:
    """To be asked before any work.

    :raises OverBudget: if the question leaves no room in the window, or the engine can never hold it.
    """
    if parts.prompting is None:
        return
    try:
        budget = budget_of(question, SAMPLE_BOUNDARY, parts.prompting, parts.settings)
    except OverBudget as error:  # in the words of who asks: the window is not his to change
        raise OverBudget(
            error.what, why=error.why, next_step="Ask in fewer words.", field="question"
        ) from error
    if parts.admission is not None:
        prompt = budget.system + budget.current_input + budget.template_overhead
        parts.admission.room.last.require_holding(prompt, budget.reserved_output)


def _count_text(parts: Parts, stored: StoredChunk) -> int:
    return parts.embedder.tokenizer.count(passage_text(stored))


def _count_block(
    question: Question, boundary: str, marker: str, prompting: Prompting, stored: StoredChunk
) -> int:
    template = prompting.templates[question.language]
    return prompting.chat.count(passage_block(stored, marker, template, prompting.chat, boundary) + "\n")
