"""Who may read, can; who may not, learns nothing: in every route with an id, and with each guard removed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest

from ingest.corpus import lookup
from ingest.corpus.arrays import RowMask
from ingest.corpus.database import Database, Session
from ingest.corpus.index import CollectionIndex
from ingest.corpus.snapshot import Corpus
from ingest.corpus.types import AccessList, Principal, StoredChunk
from service import look_up
from service.app import create_app
from service.retrieve import retrieve
from service.settings import ServiceSettings
from service.types import Question
from tests.world import EVERYONE, HR_ONLY, Caller, World, canary, documents_of, running_world

HR_QUESTION = "What is the secret word of the hr rules?"
ABSENT = {
    "collection_id": "nothing",
    "document_id": "doc_aaaaaaaaaaaaaaaaaaaa",
    "version": "1",
    "job_id": "job_aaaaaaaaaaaaaaaaaaaa",
    "answer_id": "ans_aaaaaaaaaaaaaaaaaaaa",
    "conversation_id": "cnv_aaaaaaaaaaaaaaaaaaaa",
    "user_id": "nobody",
    "group_id": "nothing",
    "prefix": "aaaaaaaaaaaa",
    "model_id": "citeward/nothing",
}


@dataclass(frozen=True, slots=True)
class Operation:
    method: str
    path: str
    takes_file: bool
    takes_body: bool

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    def send(self, caller: Caller, ids: dict[str, str]) -> httpx2.Response:
        """With the smallest body that can be right, so that only the ids decide."""
        sent: dict[str, Any] = {"json": {}} if self.takes_body else {}
        if self.takes_file:
            sent = {"files": {"file": ("new.txt", b"new words")}}
        return caller.send(self.method, self.path.format(**ids), **sent)


def operations() -> Iterator[Operation]:
    """Every operation with an id in its path by the clients' own description: a new one is included."""
    for path, methods in create_app(ServiceSettings()).openapi()["paths"].items():
        for method, described in methods.items():
            if "{" in path:
                content = described.get("requestBody", {}).get("content", {})
                yield Operation(
                    method.upper(), path, "multipart/form-data" in content, "application/json" in content
                )


HOLD_OTHERS = ("/v1/collections/{collection_id}", "/v1/users/{user_id}", "/v1/groups/{group_id}")


def in_an_order_that_works(operation: Operation) -> tuple[bool, bool, int, str]:
    """Reading first; deleting last, parts before the whole and what holds other things after them."""
    deletes = operation.method == "DELETE"
    return (
        deletes,
        deletes and operation.path in HOLD_OTHERS,
        -operation.path.count("/") * deletes,
        str(operation),
    )


OPERATIONS = sorted(operations(), key=in_an_order_that_works)


def ids_of(world: World) -> dict[str, str]:
    """Real ids, all of things that bob may not see. A new kind of id must be given one here."""
    [document_id] = documents_of(world, world.root, "hr")
    path = "/v1/collections/hr/documents?wait=true"
    uploaded = world.root.send("POST", path, files={"file": ("x.txt", b"Uploaded words.")}).json()
    answer = world.ana.ask(HR_QUESTION)
    return {
        "collection_id": "hr",
        "document_id": document_id,
        "version": "1",
        "job_id": uploaded["job_id"],
        "answer_id": answer["answer_id"],
        "conversation_id": answer["conversation_id"],
        "user_id": "ana",
        "group_id": "hr",
        "prefix": world.ana.key.split("_")[1],
        "model_id": "citeward/hr",
    }


def test_there_are_operations_to_look_at() -> None:
    assert len(OPERATIONS) >= 18


def test_a_forbidden_thing_and_a_missing_thing_have_the_same_bytes_everywhere(world: World) -> None:
    ids = ids_of(world)
    strangers = {"other reader": world.bob, "other company's reader": world.eve}
    for operation in OPERATIONS:
        for name, stranger in strangers.items():
            forbidden, missing = operation.send(stranger, ids), operation.send(stranger, ABSENT)
            assert forbidden.status_code == missing.status_code == 404, (name, str(operation))
            assert forbidden.content == missing.content, (name, str(operation))
            assert without_id(forbidden) == without_id(missing), (name, str(operation))


def test_an_admin_of_another_company_finds_nothing_by_id(world: World) -> None:
    """Ids that people choose exist on both sides, so here they are made to exist on one only."""
    world.root.send("POST", "/v1/users", json={"id": "cleo"})
    world.root.send("POST", "/v1/groups", json={"id": "only"})
    world.root.send("PUT", "/v1/groups/only/members/cleo")
    world.root.send("POST", "/v1/collections", json={"id": "only", "title": "Only here"})
    only = {"collection_id": "only", "user_id": "cleo", "group_id": "only", "model_id": "citeward/only"}
    ids = ids_of(world) | only
    for operation in OPERATIONS:
        forbidden, missing = operation.send(world.boss, ids), operation.send(world.boss, ABSENT)
        assert forbidden.status_code == missing.status_code == 404, str(operation)
        assert forbidden.content == missing.content, str(operation)


def test_who_may_can_everywhere(world: World) -> None:
    """The control: the same calls with the same ids succeed for an admin of the company, or for who asked."""
    ids = ids_of(world)
    world.root.send("PUT", "/v1/groups/hr/members/ana")
    for operation in OPERATIONS:
        if operation.method == "GET":
            reader = operation.send(world.ana, ids).status_code
            assert reader == (404 if is_for_admins(operation) else 200), str(operation)
        response = operation.send(world.ana if is_for_its_owner(operation) else world.root, ids)
        assert response.status_code in (200, 201, 202, 204), (str(operation), response.text)


def is_for_its_owner(operation: Operation) -> bool:
    return "/conversations/" in operation.path


def is_for_admins(operation: Operation) -> bool:
    return any(part in operation.path for part in ("/acl", "/jobs/", "/users/", "/groups/", "/keys"))


def without_id(response: httpx2.Response) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name not in ("x-request-id", "date")}


def test_strange_characters_in_an_id_are_just_missing(world: World) -> None:
    missing = world.root.get("/v1/documents/doc_none")
    for path in (
        "documents/doc%00",
        "collections/a%00b",
        "answers/%00",
        "documents/%F0%9F%98%80",
        "jobs/'--",
    ):
        response = world.root.get(f"/v1/{path}")
        assert (response.status_code, response.content) == (404, missing.content), path
    for body in ({"query": "a", "collections": ["%"]}, {"query": "a", "collections": ["hr'--"]}):
        assert world.root.send("POST", "/v1/search", json=body).status_code == 404


# --- what leaves -------------------------------------------------------------------------------


def everything_said_to(caller: Caller, ids: dict[str, str]) -> str:
    """Bodies and headers of every GET, of searches and of answers, streamed and not."""
    said = [operation.send(caller, ids) for operation in OPERATIONS if operation.method == "GET"]
    said += [
        caller.get(f"/{path}")
        for path in ("v1/collections", "v1/answers", "v1/users", "v1/jobs", "metrics", "v1/models")
    ]
    said += [caller.get(f"/v1/collections/{one}/documents") for one in ("handbook", "hr")]
    for question in (HR_QUESTION, "rules 暗号"):
        for collections in ({}, {"collections": ["handbook"]}, {"collections": ["hr"]}, {"collections": []}):
            said.append(
                caller.send("POST", "/v1/search", json={"query": question, "top_k": 50, **collections})
            )
            said.append(caller.send("POST", "/v1/ask", json={"question": question, **collections}))
        events = {"Accept": "text/event-stream"}
        said.append(caller.send("POST", "/v1/ask", json={"question": question}, headers=events))
    messages = [{"role": "user", "content": HR_QUESTION}]
    for model, stream in (("citeward", True), ("citeward/hr", False)):
        asked = {"model": model, "stream": stream}
        said.append(caller.send("POST", "/v1/chat/completions", json={"messages": messages, **asked}))
        said.append(caller.send("POST", "/v1/responses", json={"input": HR_QUESTION, **asked}))
    return "\n".join(f"{response.headers}\n{response.text}" for response in said)


def canaries_in(text: str) -> set[str]:
    every = (canary(company, one) for company in ("acme", "globex") for one in ("handbook", "hr"))
    return {one for one in every if one in text}


def assert_canaries_stay_home(world: World) -> None:
    """Each caller meets the canaries of what he may read, and no other."""
    ids = ids_of(world)
    expected = {
        world.ana: {canary("acme", "handbook"), canary("acme", "hr")},
        world.bob: {canary("acme", "handbook")},
        world.boss: {canary("globex", "handbook"), canary("globex", "hr")},
    }
    for caller, may_meet in expected.items():
        assert canaries_in(everything_said_to(caller, ids)) == may_meet, caller.principal


def test_no_response_holds_a_canary_that_its_reader_may_not_see(world: World) -> None:
    assert_canaries_stay_home(world)


def test_a_document_list_narrows_a_collection_that_is_open(world: World) -> None:
    document_id = world.put(world.root, "handbook", "pay.txt", "The zqpaycanary is high.", HR_ONLY)
    question = "How high is the zqpaycanary?"
    assert world.ana.search(question)[0]["document_id"] == document_id
    assert document_id not in str(world.bob.search(question)) + str(world.bob.ask(question))
    assert document_id not in world.bob.get("/v1/collections/handbook/documents").text


def test_a_document_in_a_collection_without_access_list_is_for_admins_alone(world: World) -> None:
    world.root.send("POST", "/v1/collections", json={"id": "new", "title": "New"})
    world.put(world.root, "new", "a.txt", "The zqnewcanary is blue.", EVERYONE)
    for reader in (world.ana, world.bob):
        assert "blue" not in str(reader.search("zqnewcanary")) + str(
            reader.ask("Which colour has the zqnewcanary?")
        )
    assert "blue" in str(world.root.search("zqnewcanary"))


def test_asking_for_what_exists_elsewhere_is_asking_for_nothing(world: World) -> None:
    """The same refusal for a forbidden word as for a word that nobody ever wrote."""
    real = world.bob.ask(f"Is there a document about {canary('globex', 'hr')}?", collections=["handbook"])
    none = world.bob.ask("Is there a document about zqnobodycanary?", collections=["handbook"])
    assert (real["outcome"], real["refusal"]) == (none["outcome"], none["refusal"])
    assert len(real["statements"]) == len(none["statements"])


# --- with a guard removed ----------------------------------------------------------------------


class Unfiltered:
    """An index that lets everybody search everything."""

    def __init__(self, index: CollectionIndex) -> None:
        self.index = index

    def permitted_rows(self, _principal: Principal) -> RowMask:
        return np.ones_like(self.index.permitted_rows(ADMIN))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.index, name)


ADMIN = Principal("acme", "root", role="admin")


class UnfilteredCorpus:
    """Indexes of every collection, whichever were asked for, without their filter."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus

    def fresh(self, session: Session, tenant_id: str, _collection_ids: Iterable[str]) -> list[Any]:
        return [Unfiltered(one) for one in self.corpus.fresh(session, tenant_id, ["handbook", "hr"])]

    def save_all(self) -> None:
        self.corpus.save_all()


class StaleCorpus(UnfilteredCorpus):
    """Indexes that stopped following the database at their first use."""

    seen: list[CollectionIndex] | None = None

    def fresh(self, session: Session, tenant_id: str, collection_ids: Iterable[str]) -> list[Any]:
        if tenant_id != "acme":
            return self.corpus.fresh(session, tenant_id, collection_ids)
        if self.seen is None:
            self.seen = self.corpus.fresh(session, tenant_id, ["handbook", "hr"])
        return list(self.seen)


@pytest.fixture
def changed(database: Database, tmp_path: Path) -> Callable[[type[UnfilteredCorpus]], Any]:
    return lambda corpus: running_world(
        database, tmp_path, lambda parts: replace(parts, corpus=corpus(parts.corpus))
    )


def assert_search_finds_only_what_may_be_read(world: World) -> None:
    """The search stage alone, before the look-up."""
    for caller in (world.bob, world.ana):
        fused, _ = retrieve(Question(HR_QUESTION, "en"), caller.principal, world.parts)
        found = {one.chunk_id for one in fused.candidates}
        with world.parts.database.reading() as session:
            assert found == lookup.look_up(session, caller.principal, found).keys()


def test_the_search_alone_finds_only_what_may_be_read(world: World) -> None:
    assert_search_finds_only_what_may_be_read(world)


def test_without_the_filter_the_search_check_fails_and_still_nothing_leaks(
    changed: Callable[[type[UnfilteredCorpus]], Any],
) -> None:
    with changed(UnfilteredCorpus) as world:
        with pytest.raises(AssertionError):
            assert_search_finds_only_what_may_be_read(world)
        assert_canaries_stay_home(world)


def revoke_after_indexing(world: World) -> None:
    """ana's reading fills the index, then hr is closed to her."""
    assert canary("acme", "hr") in str(world.ana.search(HR_QUESTION))
    closed = world.root.send("PUT", "/v1/collections/hr/acl", json={"allow": []})
    assert closed.status_code == 200


def assert_revoke_holds(world: World) -> None:
    said = str(world.ana.search(HR_QUESTION)) + str(world.ana.ask(HR_QUESTION))
    assert canary("acme", "hr") not in said


def test_a_stale_index_gives_nothing_away(changed: Callable[[type[UnfilteredCorpus]], Any]) -> None:
    with changed(StaleCorpus) as world:
        revoke_after_indexing(world)
        assert_revoke_holds(world)


def look_up_without_asking(
    session: Session, principal: Principal, chunk_ids: Iterable[int]
) -> dict[int, StoredChunk]:
    return lookup.look_up(session, replace(principal, role="admin"), chunk_ids)


def test_a_stale_index_without_the_second_look_leaks_and_the_check_sees_it(
    changed: Callable[[type[UnfilteredCorpus]], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(look_up, "look_up_chunks", look_up_without_asking)
    with changed(StaleCorpus) as world:
        revoke_after_indexing(world)
        with pytest.raises(AssertionError):
            assert_revoke_holds(world)


def test_without_both_guards_the_canary_check_fails(
    changed: Callable[[type[UnfilteredCorpus]], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(look_up, "look_up_chunks", look_up_without_asking)
    with changed(UnfilteredCorpus) as world, pytest.raises(AssertionError):
        assert_canaries_stay_home(world)


def test_no_list_that_admits_nobody_admits_anybody(world: World) -> None:
    world.put(world.root, "handbook", "closed.txt", "The zqclosedcanary is open.", AccessList())
    assert "zqclosedcanary" not in str(world.ana.search("zqclosedcanary"))
    assert "zqclosedcanary" in str(world.root.search("zqclosedcanary"))
