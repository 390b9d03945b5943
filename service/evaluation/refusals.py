"""How often the service refuses what the documents do not answer, and what they do.

Each question goes the whole way of `answer_question`, with the quoting generator: whether a passage is near
enough is decided before anything is drafted, and whether a sentence answers while it is.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ingest.corpus.seams import Embedder
from service.answer import answer_question
from service.evaluation.asking.cached import CACHE, CachedEmbedder
from service.evaluation.asking.indexed import Indexed, counter, index_documents
from service.evaluation.asking.scratch import ASKER, scratch_installation
from service.evaluation.sets.answerable import AnswerableSet, Asked, Kind
from service.parts import Parts
from service.question import language_of
from service.settings import ServiceSettings
from service.types import Answer, Done, Question
from service.watch import Watch

# The thresholds of `service/sufficiency.py` and `service/quoting.py` were set on these questions, which are
# therefore no part of any figure.
FITTED_ON = "the half of xquad whose query id has an even first byte of sha256"
FITTED_SETS = frozenset({"xquad"})


@dataclass(frozen=True, slots=True)
class Decision:
    """What came of one question."""

    asked: Asked
    refused: bool
    before_drafting: bool  # because no passage was near enough


@dataclass(frozen=True, slots=True)
class RefusalRow:
    """Figures of one language and kind of a set; None where there is nothing of it."""

    set: str
    lang: str
    kind: Kind
    unanswerable: int
    refused_rate: float | None
    answerable: int  # of the same set and language
    over_refusal_rate: float | None
    refused_before_drafting_rate: float | None  # of the unanswerable
    over_refused_before_drafting_rate: float | None  # of the answerable
    fitted_on: str


def evaluate_refusals(
    sets: Sequence[AnswerableSet], settings: ServiceSettings, embedder: Embedder, watch: Watch
) -> tuple[tuple[RefusalRow, ...], dict[str, str]]:
    """A row for each set, language and kind of unanswerable question, and the versions that made them.

    Noise is compared with the answerable questions of the whole set.
    """
    cached = CachedEmbedder(embedder, settings.corpus.home / CACHE)
    with scratch_installation(replace(settings, llm=""), cached) as parts:
        decided: dict[str, list[Decision]] = {}
        for number, one in enumerate(sets):
            decided.setdefault(one.name, []).extend(
                _decide(f"{one.name} {number}", one, parts, cached, watch)
            )
        rows = [row for name, decisions in decided.items() for row in refusal_rows(name, decisions)]
        return tuple(rows), parts.versions()


def refusal_rows(name: str, decisions: Sequence[Decision]) -> Iterator[RefusalRow]:
    for language in dict.fromkeys(one.asked.language for one in decisions):
        spoken = [one for one in decisions if one.asked.language == language]
        answerable = [one for one in spoken if one.asked.unanswerable is None]
        for kind in dict.fromkeys(one.asked.unanswerable for one in spoken):
            if kind is None:
                continue
            unanswerable = [one for one in spoken if one.asked.unanswerable == kind]
            yield RefusalRow(
                name,
                language,
                kind,
                len(unanswerable),
                _share([one.refused for one in unanswerable]),
                len(answerable),
                _share([one.refused for one in answerable]),
                _share([one.before_drafting for one in unanswerable]),
                _share([one.before_drafting for one in answerable]),
                FITTED_ON,
            )


def is_reported(name: str, asked: Asked) -> bool:
    """Whether no threshold has seen it."""
    return name not in FITTED_SETS or hashlib.sha256(asked.id.encode()).digest()[0] % 2 == 1


def _decide(
    label: str, one: AnswerableSet, parts: Parts, cached: CachedEmbedder, watch: Watch
) -> list[Decision]:
    questions = [asked for asked in one.questions if is_reported(one.name, asked)]
    indexed = index_documents(label, one.documents, parts, cached, watch)
    texts = [asked.text for asked in questions]
    cached.remember_queries(texts, counter(watch, f"{label}: questions embedded", len(texts)))
    return asyncio.run(_ask(label, questions, indexed, parts, watch))


async def _ask(
    label: str, questions: Sequence[Asked], indexed: Indexed, parts: Parts, watch: Watch
) -> list[Decision]:
    decisions = []
    for done, asked in enumerate(questions, start=1):
        answer = await _answer(as_question(asked, indexed.collection_id), parts)
        refused = answer.outcome == "refused"
        decisions.append(Decision(asked, refused, refused and "generate" not in answer.timings_ms))
        watch(f"{label}: questions asked", done, len(questions))
    return decisions


def as_question(asked: Asked, collection_id: str) -> Question:
    return Question(asked.text, language_of(asked.text), collections=(collection_id,), turns=asked.before)


async def _answer(question: Question, parts: Parts) -> Answer:
    async for event in answer_question(question, ASKER, parts):
        if isinstance(event, Done):
            return event.answer
    raise AssertionError("an answer ends with Done")


def _share(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None
