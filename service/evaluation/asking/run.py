"""Asking all questions of a set in this process, each as its asker, and keeping what was seen of each answer.

What was asked before with the same set, code and settings is read, not asked again: a run goes on where it
was stopped.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

from pydantic import TypeAdapter

from ingest.corpus.errors import CitewardError
from ingest.corpus.seams import Embedder
from ingest.corpus.types import Principal
from service.answer import answer_question
from service.evaluation.asking.attempts import Attempt, Run
from service.evaluation.asking.cached import CACHE, CachedEmbedder
from service.evaluation.asking.install import Installed, asker_of, install
from service.evaluation.asking.kept import attempts_at, seconds_of
from service.evaluation.asking.scratch import ASKER, scratch_installation
from service.evaluation.asking.seen import attempt_of
from service.evaluation.sets.cases import Case, CaseSet
from service.history import get_answer
from service.parts import Parts
from service.question import language_of, require_searchable
from service.settings import ServiceSettings
from service.types import Answer, Done, Question
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
        parts = change(plain)
        installed = install(case_set, parts, watch)
        deciding = [change_name, json.dumps(parts.versions(), sort_keys=True)]

        def ask_as_asker(case: Case) -> Attempt:
            return asyncio.run(ask(case, asker_of(parts, case.asker), parts, installed))

        attempts = attempts_at(cache, case_set, deciding, ask_as_asker, watch)
        return Run(
            set=case_set.label,
            set_sha256=case_set.sha256,
            versions=parts.versions(),
            generator=parts.generator.kind,
            attempts=attempts,
            texts=dict(installed.texts),
            chunks=dict(installed.chunks),
            seconds=seconds_of(attempts),
        )


async def ask(case: Case, asker: Principal, parts: Parts, installed: Installed) -> Attempt:
    """One question, the follow-up in its standalone form, as each question is asked by itself."""
    text = case.standalone or case.question
    question = Question(text, language_of(text))
    try:
        require_searchable(text, "question", parts)
        async for event in answer_question(question, asker, parts):
            if isinstance(event, Done):
                return _seen(case, event.answer, parts, installed)
    except CitewardError as error:
        return Attempt(case.id, "error", error=error.code)
    raise AssertionError("an answer ends with Done")


def _seen(case: Case, answer: Answer, parts: Parts, installed: Installed) -> Attempt:
    with parts.database.reading() as session:
        stored = get_answer(session, ASKER, answer.answer_id)
    return attempt_of(case, answer, stored.record, stored.candidates or (), installed)


def write_run(run: Run, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(RUN.dump_json(run))
