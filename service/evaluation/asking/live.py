"""The questions of a set asked over HTTP, of a service on which its documents lie already.

What an answer was made of comes from its record, which an evaluator's or an admin's key opens. Where chunks
begin and end is not shown, and neither is a document of which that key may not read all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ingest.corpus.errors import InvalidInput
from service.api.schemas import AnswerShown, ServiceVersions
from service.client import Client, Problem
from service.evaluation.asking.attempts import Attempt, Passage, Run
from service.evaluation.asking.install import Installed
from service.evaluation.asking.kept import attempts_at, seconds_of
from service.evaluation.asking.keys import Keys
from service.evaluation.asking.seen import attempt_of
from service.evaluation.sets.cases import Case, CaseSet
from service.types import Answer
from service.watch import Watch

ANSWER = TypeAdapter(Answer)
SHOWN = TypeAdapter(AnswerShown)
VERSIONS = TypeAdapter(ServiceVersions)
PATIENCE_SECONDS = 1_800.0  # above the longest time that a service without a GPU is set to
MOST_A_PAGE = 500
MOST_FOUND = 50
NAMED = 5  # documents in one complaint
UNAUTHENTICATED, MISSING = 401, 404


@dataclass(frozen=True, slots=True)
class Live:
    """A service, the collection there that holds the set, and who asks."""

    url: str
    collection: str
    keys: Keys

    def client(self, key: str) -> Client:
        return Client(self.url, key, PATIENCE_SECONDS)

    @property
    def evaluator(self) -> Client:
        return self.client(self.keys.evaluator)


def collection_of(case_set: CaseSet) -> str:
    """Where a set lies unless somebody says otherwise."""
    return f"{case_set.name}-{case_set.version}".lower()


def run_live(case_set: CaseSet, live: Live, folder: Path, watch: Watch) -> Run:
    """The set asked of a live service; `run_set` tells the rest.

    :param folder: where attempts are kept between runs: those of the same service, keys and documents.
    :raises InvalidInput: if the documents there are not the set's, or the key does not open the records.
    :raises Problem: if a key is not known there.
    :raises Unavailable: if the service does not answer; what was asked by then is kept.
    """
    documents = list(_documents(live))
    _require_the_set_s(case_set, live, documents)
    installed = _installed(documents, live, watch)
    made_by = VERSIONS.validate_python(live.evaluator.send("GET", "/v1/versions"))
    deciding = [live.url, live.collection, json.dumps(made_by.versions, sort_keys=True)]
    deciding += sorted(f"{one['id']} {one['version']} {one['updated_at']}" for one in documents)
    deciding += sorted(_prefix(live.keys.of(user.id)) for user in case_set.users)

    def ask(case: Case) -> Attempt:
        return _ask(case, case_set.before(case), live, installed)

    attempts = attempts_at(folder, case_set, deciding, ask, watch)
    asked_as = {} if live.keys.askers is not None else {"asked as": "one person"}
    return Run(
        set=case_set.label,
        set_sha256=case_set.sha256,
        versions={**made_by.versions, **asked_as},
        generator=made_by.generator,
        attempts=attempts.made,
        texts=dict(installed.texts),
        seconds=seconds_of(attempts.made),
        kept=attempts.kept,
    )


def _ask(case: Case, before: Sequence[Case], live: Live, installed: Installed) -> Attempt:
    client = live.client(live.keys.of(case.asker))
    text = case.question if before else case.standalone or case.question
    conversation: dict[str, str] = {}
    try:
        for earlier in before:
            answer = _answer(earlier.question, conversation, live, client)
            conversation = {"conversation_id": answer.conversation_id or ""}
        answer = _answer(text, conversation, live, client)
    except Problem as problem:
        if problem.status == UNAUTHENTICATED:
            raise
        return Attempt(case.id, "error", error=problem.code)
    shown = _shown(answer.answer_id, live)
    if shown.record is None or shown.candidates is None:
        raise _closed()
    attempt = attempt_of(case, answer, shown.record, shown.candidates, installed)
    if not (before and case.standalone):
        return attempt
    return replace(attempt, by_itself=_found(case.standalone, live, client, installed))


def _answer(text: str, conversation: Mapping[str, str], live: Live, client: Client) -> Answer:
    body = {"question": text, "collections": [live.collection], "priority": "batch"}  # readers go first
    return ANSWER.validate_python(client.send("POST", "/v1/ask", {**body, **conversation}))


def _found(text: str, live: Live, client: Client, installed: Installed) -> tuple[Passage, ...]:
    body = {"query": text, "collections": [live.collection], "top_k": MOST_FOUND}
    found = client.send("POST", "/v1/search", body)["hits"]
    return tuple(
        Passage(installed.names[one["document_id"]], one["start"], one["end"], one["text"]) for one in found
    )


def _shown(answer_id: str, live: Live) -> AnswerShown:
    try:
        return SHOWN.validate_python(live.evaluator.send("GET", f"/v1/answers/{answer_id}"))
    except Problem as problem:
        if problem.status == MISSING:
            raise _closed() from problem
        raise


def _closed() -> InvalidInput:
    return InvalidInput(
        "The key does not open the record of an answer.",
        why="An evaluator sees those of the collections that he may read, an admin all.",
        next_step="Give the key of an evaluator or an admin, as `citeward eval install` makes one.",
        field="key-file",
    )


def _documents(live: Live) -> Iterator[Mapping[str, Any]]:
    """All of the collection that the evaluator may read."""
    after: str | None = ""
    while after is not None:
        path = f"/v1/collections/{live.collection}/documents?limit={MOST_A_PAGE}&after={after}"
        try:
            page = live.evaluator.send("GET", path)
        except Problem as problem:
            if problem.status == MISSING:
                raise _not_the_set_s(live, f"There is no collection {live.collection} for it") from problem
            raise
        yield from page["documents"]
        after = page["next"]


def _require_the_set_s(case_set: CaseSet, live: Live, documents: list[Mapping[str, Any]]) -> None:
    """Neither more nor less nor other bytes: else the figures would be of another set."""
    there = {one["source_name"]: one["sha256"] for one in documents}
    wanted = {one.name: hashlib.sha256(one.original).hexdigest() for one in case_set.documents}
    differing = [name for name in {**wanted, **there} if wanted.get(name) != there.get(name)]
    if differing:
        more = f" and {len(differing) - NAMED} more" if len(differing) > NAMED else ""
        named = ", ".join(differing[:NAMED])
        raise _not_the_set_s(live, f"Missing, closed to the key, changed or none of the set's: {named}{more}")


def _not_the_set_s(live: Live, why: str) -> InvalidInput:
    return InvalidInput(
        f"The documents of {live.collection} at {live.url} are not those of the set.",
        why=f"{why}.",
        next_step="Put them there with `citeward eval install`, or name the collection that has them.",
    )


def _installed(documents: list[Mapping[str, Any]], live: Live, watch: Watch) -> Installed:
    texts = {}
    for done, one in enumerate(documents, start=1):
        texts[one["source_name"]] = ""
        if one["state"] == "ready":
            version = live.evaluator.send("GET", f"/v1/documents/{one['id']}/versions/{one['version']}")
            texts[one["source_name"]] = version["document"]["text"]
        watch(f"{live.collection}: documents read", done, len(documents))
    return Installed(texts, {one["id"]: one["source_name"] for one in documents}, chunks={})


def _prefix(key: str) -> str:
    """Finds the key and opens nothing."""
    return key.split("_", 2)[1]
