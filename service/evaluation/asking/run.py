"""Asking all questions of a set, each as its asker, and keeping what was seen of every answer.

What was asked before with the same set, code and settings is read, not asked again: a run goes on where it
was stopped.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path

from pydantic import TypeAdapter

from ingest.corpus.errors import CitewardError
from ingest.corpus.seams import Embedder
from ingest.corpus.types import Principal
from service.answer import answer_question
from service.evaluation.asking.attempts import (
    Attempt,
    CandidateSeen,
    CitationSeen,
    Run,
    StatementSeen,
)
from service.evaluation.asking.cached import CachedEmbedder
from service.evaluation.asking.install import Installed, asker_of, install
from service.evaluation.asking.scratch import scratch_installation
from service.evaluation.sets.cases import Case, CaseSet
from service.parts import Parts
from service.question import language_of, require_searchable
from service.settings import ServiceSettings
from service.types import Done, Question
from service.watch import Watch

CACHE = Path("cache", "eval")  # below the data folder: vectors, and answers by what made them
ATTEMPT = TypeAdapter(Attempt)
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
        path = cache / f"{case_set.name}-{case_set.version}-{_key(case_set, parts, change_name)}.jsonl"
        kept = dict(_read(path))
        for done, case in enumerate(case_set.cases, start=1):
            if case.id not in kept:
                kept[case.id] = asyncio.run(ask(case, asker_of(parts, case.asker), parts, installed))
                _keep(path, kept[case.id])
            watch(f"{case_set.label}: questions asked", done, len(case_set.cases))
        return Run(
            set=case_set.label,
            set_sha256=case_set.sha256,
            versions=parts.versions(),
            generator=parts.generator.kind,
            attempts=tuple(kept[case.id] for case in case_set.cases),
            texts=dict(installed.texts),
            chunks=installed.chunks(),
            seconds=round(sum(one.timings_ms.get("e2e", 0.0) for one in kept.values()) / 1000, 3),
        )


async def ask(case: Case, asker: Principal, parts: Parts, installed: Installed) -> Attempt:
    """One question, the follow-up in its standalone form: there are no conversations to follow in."""
    text = case.standalone or case.question
    question = Question(text, language_of(text))
    try:
        require_searchable(text, "question", parts)
        async for event in answer_question(question, asker, parts):
            if isinstance(event, Done):
                return attempt_of(case, event, installed, parts.settings.search_depth)
    except CitewardError as error:
        return Attempt(case.id, "error", error=error.code)
    raise AssertionError("an answer ends with Done")


def attempt_of(case: Case, done: Done, installed: Installed, depth: int) -> Attempt:
    """What can be seen of an answer, in the words of the set instead of the database's."""
    answer, trace = done.answer, done.trace
    return Attempt(
        case.id,
        ended=answer.outcome,
        answer=answer.answer,
        language=answer.language,
        refusal=answer.refusal.code if answer.refusal else None,
        finish_reason=answer.finish_reason,
        generator=answer.generator,
        degraded=answer.degraded,
        candidates=tuple(_candidates(done, installed, depth)),
        statements=tuple(
            StatementSeen(
                one.text,
                one.citations,
                one.verdict.status,
                one.verdict.level,
                one.verdict.reason,
                one.verdict.score,
                shown=one in answer.statements,
            )
            for one in trace.statements
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


def _candidates(done: Done, installed: Installed, depth: int) -> Iterator[CandidateSeen]:
    trace = done.trace
    if trace.fused is None:
        return
    reranked = {one.stored.id: rank for rank, one in enumerate(trace.ranked, start=1)}
    markers = {one.stored.id: one.marker for one in trace.packed.evidence} if trace.packed else {}
    decisions = trace.packed.decisions if trace.packed else ()
    left_out = {one.chunk_id: one.reason for one in decisions if not one.taken}
    for rank, one in enumerate(trace.fused.candidates, start=1):
        yield CandidateSeen(
            installed.passages[one.chunk_id],
            fused_rank=rank,
            words_rank=one.words_rank,
            meaning_rank=one.meaning_rank,
            given=one.chunk_id in reranked,
            reranked_rank=reranked.get(one.chunk_id),
            marker=markers.get(one.chunk_id),
            left_out=left_out.get(one.chunk_id) or ("below_depth" if rank > depth else None),
        )


# --- kept between runs -------------------------------------------------------------------------


def _keep(path: Path, attempt: Attempt) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(ATTEMPT.dump_json(attempt).decode() + "\n")


def _read(path: Path) -> Iterator[tuple[str, Attempt]]:
    if not path.is_file():
        return
    for line in path.read_text("utf-8").splitlines():
        try:
            attempt = ATTEMPT.validate_json(line)
        except ValueError:  # a line that a crash cut off: asked again
            continue
        yield attempt.case_id, attempt


def _key(case_set: CaseSet, parts: Parts, change_name: str) -> str:
    """16 hex digits over all that decides the answers."""
    deciding = [case_set.sha256, source_digest(), change_name, json.dumps(parts.versions(), sort_keys=True)]
    return hashlib.sha256("\n".join(deciding).encode()).hexdigest()[:16]


def source_digest() -> str:
    """Over the files of the program itself: a version that is being worked on has no number of its own."""
    digest = hashlib.sha256()
    for package in ("service", "ingest"):
        for path in sorted(Path(str(files(package))).rglob("*")):
            if path.suffix in {".py", ".toml", ".txt"}:
                digest.update(path.as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def write_run(run: Run, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(RUN.dump_json(run))
