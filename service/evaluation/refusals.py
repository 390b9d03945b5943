"""How often the service refuses what the documents do not answer, and what they do.

Each question goes the whole way of `answer_question`, with the quoting generator: whether a passage is near
enough is decided before anything is drafted, and whether a sentence answers while it is.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingest.corpus.seams import Embedder
from service.evaluation.asking.cached import CACHE, CachedEmbedder
from service.evaluation.asking.indexed import Indexed, counter, index_documents
from service.evaluation.asking.scratch import ASKER, scratch_installation
from service.evaluation.asking.through import ask_through
from service.evaluation.sets.answerable import AnswerableSet, Asked, Kind
from service.parts import Parts
from service.question import language_of
from service.settings import ServiceSettings
from service.types import Question
from service.watch import Watch

# `service/strength.py` has thresholds of its own, set on the same half of xquad.
FITTED_HALF = "the half whose query id has an even first byte of sha256"


@dataclass(frozen=True, slots=True)
class Decision:
    """What came of one question."""

    asked: Asked
    refused: bool
    before_drafting: bool  # because the evidence was not likely enough to answer it
    answerable: float  # probability that the evidence answers, as it was decided by


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


@dataclass(frozen=True, slots=True)
class Refusals:
    rows: tuple[RefusalRow, ...]
    decided: dict[str, list[Decision]]  # by set
    versions: dict[str, str]


def evaluate_refusals(
    sets: Sequence[AnswerableSet], settings: ServiceSettings, embedder: Embedder, watch: Watch
) -> Refusals:
    """Noise is compared with the answerable questions of the whole set."""
    cached = CachedEmbedder(embedder, settings.corpus.home / CACHE)
    with scratch_installation(settings.without_llm(), cached) as parts:
        fitted_sets = parts.sufficiency.answerability.sets
        decided: dict[str, list[Decision]] = {}
        for number, one in enumerate(sets):
            decided.setdefault(one.name, []).extend(
                _decide(f"{one.name} {number}", one, fitted_sets, parts, cached, watch)
            )
        rows = [
            row
            for name, decisions in decided.items()
            for row in refusal_rows(name, decisions, fitted_on(name, fitted_sets))
        ]
        return Refusals(tuple(rows), decided, parts.versions())


def refusal_rows(name: str, decisions: Sequence[Decision], fitted_on: str) -> Iterator[RefusalRow]:
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
                fitted_on,
            )


def risk_coverage(decisions: Sequence[Decision]) -> tuple[tuple[float, float], ...]:
    """(coverage, risk) at each probability that could be asked for, the highest first.

    Coverage is the share of the answerable questions that would be answered, risk the share of the
    unanswerable ones (El-Yaniv and Wiener 2010, with risk by kind of question); () where one kind lacks.
    """
    answerable = [one.answerable for one in decisions if one.asked.unanswerable is None]
    unanswerable = [one.answerable for one in decisions if one.asked.unanswerable is not None]
    if not answerable or not unanswerable:
        return ()
    return tuple(
        (
            sum(one >= least for one in answerable) / len(answerable),
            sum(one >= least for one in unanswerable) / len(unanswerable),
        )
        for least in sorted({one.answerable for one in decisions}, reverse=True)
    )


def fitted_on(name: str, fitted_sets: Sequence[str]) -> str:
    """What thresholds and weights were fitted on, and what of this set is reported."""
    reported = "the other half of this set is reported" if name in fitted_sets else "this set was not seen"
    return f"{', '.join(fitted_sets)}: {FITTED_HALF}; {reported}"


def is_fitting(asked: Asked) -> bool:
    return hashlib.sha256(asked.id.encode()).digest()[0] % 2 == 0


def _decide(
    label: str,
    one: AnswerableSet,
    fitted_sets: Sequence[str],
    parts: Parts,
    cached: CachedEmbedder,
    watch: Watch,
) -> list[Decision]:
    fitted = one.name in fitted_sets
    questions = [asked for asked in one.questions if not (fitted and is_fitting(asked))]
    indexed = index_documents(label, one.documents, parts, cached, watch)
    texts = [asked.text for asked in questions]
    cached.remember_queries(texts, counter(watch, f"{label}: questions embedded", len(texts)))
    return asyncio.run(_ask(label, questions, indexed, parts, watch))


async def _ask(
    label: str, questions: Sequence[Asked], indexed: Indexed, parts: Parts, watch: Watch
) -> list[Decision]:
    decisions = []
    for done, asked in enumerate(questions, start=1):
        done_with = await ask_through(as_question(asked, indexed.collection_id), ASKER, parts)
        refused = done_with.answer.outcome == "refused"
        before = refused and "generate" not in done_with.answer.timings_ms
        decisions.append(Decision(asked, refused, before, done_with.trace.answerable or 0.0))
        watch(f"{label}: questions asked", done, len(questions))
    return decisions


def as_question(asked: Asked, collection_id: str) -> Question:
    return Question(asked.text, language_of(asked.text), collections=(collection_id,), turns=asked.before)


def _share(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None
