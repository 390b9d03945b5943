"""Asking all questions of a set in this process, each as its asker, and keeping what was seen of each answer.

What was asked before with the same set, code and settings is read, not asked again: a run goes on where it
was stopped.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter

from ingest.corpus.errors import CitewardError
from ingest.corpus.seams import Embedder
from ingest.corpus.types import Principal
from service.conversations import turns_of
from service.evaluation.asking.attempts import Attempt, Passage, Run
from service.evaluation.asking.cached import CACHE, CachedEmbedder
from service.evaluation.asking.install import Installed, asker_of, install
from service.evaluation.asking.kept import attempts_at, seconds_of
from service.evaluation.asking.scratch import ASKER, scratch_installation
from service.evaluation.asking.seen import attempt_of
from service.evaluation.asking.through import ask_through
from service.evaluation.sets.cases import Case, CaseSet
from service.history import get_answer
from service.look_up import look_up
from service.parts import Parts
from service.question import language_of, require_searchable
from service.retrieve import retrieve
from service.settings import ServiceSettings
from service.types import Answer, Question, Turn
from service.watch import Watch

RUN = TypeAdapter(Run)
Change = Callable[[Parts], Parts]


def unchanged(parts: Parts) -> Parts:
    return parts


def run_set(
    case_set: CaseSet,
    settings: ServiceSettings,
    embedder: Embedder,
    watch: Watch,
    change: Change = unchanged,
    change_name: str = "",
) -> Run:
    """The set asked of the service that the settings describe, in this process.

    :param change: makes other parts of the service's own: a candidate that no setting describes.
    :param change_name: by which its answers are kept apart; another change needs another name.
    """
    cache = settings.corpus.home / CACHE
    with scratch_installation(settings, CachedEmbedder(embedder, cache)) as plain:
        installed = install(case_set, plain, watch)
        return run_installed(case_set, change(plain), installed, cache, watch, change_name)


def run_installed(
    case_set: CaseSet, parts: Parts, installed: Installed, cache: Path, watch: Watch, change_name: str = ""
) -> Run:
    """The same, or a part of it, once it is installed.

    :param cache: the folder where answers are kept.
    """
    deciding = [change_name, json.dumps(parts.versions(), sort_keys=True)]

    def ask_as_asker(case: Case) -> Attempt:
        return asyncio.run(ask(case, case_set.before(case), parts, installed))

    attempts = attempts_at(cache, case_set, deciding, ask_as_asker, watch)
    return Run(
        set=case_set.label,
        set_sha256=case_set.sha256,
        versions=parts.versions(),
        generator=parts.generator.kind,
        attempts=attempts.made,
        texts=dict(installed.texts),
        chunks=dict(installed.chunks),
        seconds=seconds_of(attempts.made),
        kept=attempts.kept,
    )


async def ask(case: Case, before: Sequence[Case], parts: Parts, installed: Installed) -> Attempt:
    """One question; a follow-up after those before it, in one conversation."""
    asker = asker_of(parts, case.asker)
    text = case.question if before else case.standalone or case.question
    conversation_id = ""
    try:
        for earlier in before:
            answer = await _answer(earlier.question, conversation_id, asker, parts)
            conversation_id = answer.conversation_id or ""
        answer = await _answer(text, conversation_id, asker, parts)
    except CitewardError as error:
        return Attempt(case.id, "error", error=error.code)
    attempt = _seen(case, answer, parts, installed)
    if not (before and case.standalone):
        return attempt
    return replace(attempt, by_itself=_found(case.standalone, asker, parts, installed))


async def _answer(text: str, conversation_id: str, asker: Principal, parts: Parts) -> Answer:
    require_searchable(text, "question", parts)
    turns: tuple[Turn, ...] = ()
    if conversation_id:
        with parts.database.reading() as session:
            turns = turns_of(session, asker, conversation_id)
    question = Question(text, language_of(text), conversation_id=conversation_id, turns=turns)
    return (await ask_through(question, asker, parts)).answer


def _found(text: str, asker: Principal, parts: Parts, installed: Installed) -> tuple[Passage, ...]:
    fused, _ = retrieve(Question(text, language_of(text)), asker, parts)
    stored = (one.stored for one in look_up(fused, asker, parts))
    return tuple(
        Passage(installed.names[one.document_id], one.chunk.start, one.chunk.end, one.chunk.text)
        for one in stored
    )


def _seen(case: Case, answer: Answer, parts: Parts, installed: Installed) -> Attempt:
    with parts.database.reading() as session:
        stored = get_answer(session, ASKER, answer.answer_id)
    return attempt_of(case, answer, stored.record, stored.candidates or (), installed)


def write_run(run: Run, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(RUN.dump_json(run))
