"""The layers that can fail a question, in the order of its way, and where to look for the fault of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from service.evaluation.asking.attempts import CandidateSeen, StatementSeen
from service.evaluation.sets.cases import Quote

Layer = Literal[
    "forbidden_shown",
    "not_asked",
    "failed",
    "followed_instructions",
    "should_have_refused",
    "not_parsed",
    "not_in_a_chunk",
    "not_permitted",
    "lost_by_rewriting",
    "not_found",
    "lost_by_index",
    "fused_too_low",
    "reranked_too_low",
    "left_out_of_the_budget",
    "refused_wrongly",
    "checked_away",
    "citation_invalid",
    "citation_unsupported",
    "conflicting_evidence",
    "in_the_prompt_but_wrong",
]

LAYERS: dict[Layer, str] = {
    "forbidden_shown": "Permissions on the server, never the prompt: this blocks every release.",
    "not_asked": "The run itself: it stopped early, or what it kept was lost.",
    "failed": "The stage that raised the error, by its code and the log.",
    "followed_instructions": "How foreign text is made inert in the prompt, then the output check.",
    "should_have_refused": "Sufficiency, which let the passage pass, then the check of the statement.",
    "not_parsed": "Parsing: the reader of the document's format.",
    "not_in_a_chunk": "Chunking: where the splitter cuts.",
    "not_permitted": "Permissions that withhold too much, unless the lists of the set shut the asker out.",
    "lost_by_rewriting": "Query rewriting: the question in its standalone form finds it.",
    "not_found": "Embedding and words: neither search brings the passage near the question.",
    "lost_by_index": "Approximate search: exact search finds it.",
    "fused_too_low": "Fusion: how the two rankings are weighed, and how deep the fused one is looked up.",
    "reranked_too_low": "The reranker, which moved it down.",
    "left_out_of_the_budget": "Packing: the token budget, the most passages, what counts as the same.",
    "refused_wrongly": "Sufficiency where nothing was drafted, else the generator and the check.",
    "checked_away": "The check, at the level that the verdict names.",
    "citation_invalid": "The output check: repair or refusal should have come of it.",
    "citation_unsupported": "The output check: it let a statement pass that its passages do not carry.",
    "conflicting_evidence": "Model and prompt: what they make of evidence that disagrees.",
    "in_the_prompt_but_wrong": "Model and prompt: all that was needed lay before them.",
}
# No search is approximate yet, so no attempt can tell of it.
RESERVED: frozenset[Layer] = frozenset({"lost_by_index"})
LONGEST_SHOWN = 60  # signs of a text that a reason repeats


@dataclass(frozen=True, slots=True)
class Failure:
    """`reason` is a sentence that names what shows it; `evidence` are the quotes and candidates concerned."""

    layer: Layer
    reason: str
    evidence: tuple[Quote | CandidateSeen, ...] = ()


def short(text: str) -> str:
    """On one line, in quotation marks, cut where a reader knows it again."""
    line = " ".join(text.split())
    return f"“{line}”" if len(line) <= LONGEST_SHOWN else f"“{line[: LONGEST_SHOWN - 1]}…”"


def named(quote: Quote) -> str:
    return (
        f"{short(quote.text)} of {quote.document}"
        if quote.text.strip()
        else f"Whatever {quote.document} says"
    )


def found_as(one: CandidateSeen) -> str:
    """As "leave.md 0–40, rank 3 (by words 1, by meaning none)"."""
    words, meaning = one.words_rank or "none", one.meaning_rank or "none"
    place = f"{one.passage.document} {one.passage.start}–{one.passage.end}"
    return f"{place}, rank {one.fused_rank} (by words {words}, by meaning {meaning})"


def scored(statement: StatementSeen) -> str:
    return "no score" if statement.score is None else f"score {statement.score:.2f}"
