"""An evaluator sees how answers were made, of the collections that he may read, and nothing else of them."""

from __future__ import annotations

from typing import Any

import pytest

from ingest.corpus import people
from tests.world import HR_ONLY, KEY_SECRET, Caller, World, canary

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
SECRET = canary("acme", "handbook")
QUESTION = f"What is {SECRET}?"


def evaluator(world: World, of: Caller, name: str = "eva") -> Caller:
    """In the tenant of `of`, an admin, in no group."""
    assert of.send("POST", "/v1/users", json={"id": name, "role": "evaluator"}).status_code == 201
    key = of.send("POST", f"/v1/users/{name}/keys", json={}).json()["key"]
    with world.parts.database.reading() as session:
        return Caller(world.client, key, people.authenticate(session, KEY_SECRET.encode(), key))


def shown(caller: Caller, answer_id: str) -> dict[str, Any]:
    response = caller.get(f"/v1/answers/{answer_id}")
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def test_an_evaluator_sees_how_another_s_answer_was_made(world: World) -> None:
    answer_id = world.bob.ask(QUESTION)["answer_id"]
    seen = shown(evaluator(world, world.root), answer_id)
    by_admin = shown(world.root, answer_id)
    assert seen["record"]["user_id"] == "bob"
    assert seen["record"]["statements"] == by_admin["record"]["statements"]
    assert [one["verdict"]["score"] for one in seen["answer"]["statements"]] != [None]
    assert seen["candidates"] == by_admin["candidates"]
    [first, *_] = seen["candidates"]
    [citation] = seen["answer"]["citations"]
    assert (first["fused_rank"], first["reranked_rank"], first["marker"], first["left_out"]) == (
        1,
        1,
        "C1",
        None,
    )
    assert (first["document_id"], first["version"]) == (citation["document_id"], citation["version"])
    assert first["start"] <= citation["start"] < citation["end"] <= first["end"]
    assert "index_generation" not in {**seen["record"]["versions"], **seen["answer"]["versions"]}


def test_readers_see_no_record_and_only_their_own_answers(world: World) -> None:
    answer_id = world.bob.ask(QUESTION)["answer_id"]
    own = shown(world.bob, answer_id)
    assert (own["record"], own["candidates"]) == (None, None)
    assert world.ana.get(f"/v1/answers/{answer_id}").status_code == 404


def test_what_was_sought_where_the_evaluator_may_not_read_is_not_there_for_him(world: World) -> None:
    eva = evaluator(world, world.root)
    missing = eva.get("/v1/answers/ans_nothing")
    assert missing.status_code == 404
    everywhere = world.ana.ask(QUESTION)["answer_id"]  # ana may read hr, eva may not
    nowhere = world.ana.ask(QUESTION, collections=[])["answer_id"]
    for answer_id in (everywhere, nowhere):
        forbidden = eva.get(f"/v1/answers/{answer_id}")
        assert (forbidden.status_code, forbidden.content) == (404, missing.content)
    there = world.ana.ask(QUESTION, collections=["handbook"])["answer_id"]
    assert shown(eva, there)["record"]["user_id"] == "ana"


def test_an_evaluator_of_another_tenant_sees_nothing(world: World) -> None:
    stranger = evaluator(world, world.boss)
    answer_id = world.bob.ask(QUESTION)["answer_id"]
    forbidden, missing = (stranger.get(f"/v1/answers/{one}") for one in (answer_id, "ans_nothing"))
    assert (forbidden.status_code, forbidden.content) == (404, missing.content)


def test_access_that_was_revoked_takes_the_traces_with_it(world: World) -> None:
    eva = evaluator(world, world.root)
    answer_id = world.bob.ask(QUESTION)["answer_id"]
    shown(eva, answer_id)
    world.root.send("PUT", "/v1/collections/handbook/acl", json={"allow": ["user:bob"]})
    assert eva.get(f"/v1/answers/{answer_id}").status_code == 404


def test_no_document_is_named_that_the_evaluator_may_not_read(world: World) -> None:
    closed = world.put(world.root, "handbook", "zqclosed.txt", f"{SECRET}: the zqvault is blue.", HR_ONLY)
    open_one = world.put(world.root, "handbook", "open.txt", f"{SECRET}: the zqvault is heavy.")
    asked = world.ana.ask(f"What is the zqvault of {SECRET}?", collections=["handbook"])
    assert {closed, open_one} <= {one["document_id"] for one in asked["citations"]}
    by_admin, eva = shown(world.root, asked["answer_id"]), evaluator(world, world.root)
    response = eva.get(f"/v1/answers/{asked['answer_id']}")
    for secret in (closed, "zqclosed", "blue"):
        assert secret not in response.text
    seen = response.json()
    assert {one["text"] for one in seen["record"]["statements"]} == {"[withheld: source no longer available]"}
    left = [one for one in by_admin["candidates"] if one["document_id"] != closed]
    assert seen["candidates"] == left  # ranks and markers are those of the whole
    gone = {one["chunk_id"] for one in by_admin["candidates"]} - {one["chunk_id"] for one in left}
    assert gone
    for name in ("retrieved", "denied", "used"):
        assert gone.isdisjoint(one["chunk_id"] for one in seen["record"][name])
    assert gone.isdisjoint(seen["record"]["ranked"])
    assert {str(one) for one in gone}.isdisjoint(seen["record"]["left_out"])


def test_an_evaluator_changes_nothing_and_reads_no_more_than_a_reader(world: World) -> None:
    eva = evaluator(world, world.root)
    assert [one["id"] for one in eva.get("/v1/collections").json()] == ["handbook"]
    assert eva.get("/v1/collections/hr/documents").status_code == 404
    for path, body in (("/v1/users", {"id": "x"}), ("/v1/collections", {"id": "x", "title": "X"})):
        assert eva.send("POST", path, json=body).status_code == 404
    for path in ("/v1/users", "/v1/jobs", "/metrics", "/v1/collections/handbook/acl"):
        assert eva.get(path).status_code == 404


def test_scores_are_for_evaluators_and_not_for_readers(world: World) -> None:
    eva = evaluator(world, world.root)
    assert all(hit["scores"] for hit in eva.search(QUESTION))
    assert not any(hit["scores"] for hit in world.bob.search(QUESTION))
    assert all(one["verdict"]["score"] is not None for one in eva.ask(QUESTION)["statements"])
    assert all(one["verdict"]["score"] is None for one in world.bob.ask(QUESTION)["statements"])
