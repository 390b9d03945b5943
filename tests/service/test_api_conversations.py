"""Follow-ups over HTTP: one's own conversation goes on, and nobody else's is to be seen."""

from __future__ import annotations

from typing import Any

import pytest

from tests.world import Caller, World

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
DESK = "Parking permits are sold at the front desk. A parking permit costs 40 EUR per month."


def ask(asker: Caller, question: str, conversation_id: str | None = None) -> dict[str, Any]:
    body = {"question": question, "conversation_id": conversation_id}
    response = asker.send("POST", "/v1/ask", json=body)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def status(asker: Caller, method: str, path: str, **json: Any) -> int:
    code: int = asker.send(method, path, **({"json": json} if json else {})).status_code
    return code


def test_a_follow_up_is_answered_as_the_question_that_it_is(world: World) -> None:
    world.put(world.root, "handbook", "desk.txt", DESK)
    first = ask(world.bob, "Where are parking permits sold?")
    assert first["understood_as"] is None
    second = ask(world.bob, "And what do they cost?", first["conversation_id"])
    assert second["conversation_id"] == first["conversation_id"]
    assert second["understood_as"] == "Where are parking permits sold? And what do they cost?"
    assert "understand" in second["timings_ms"]
    turns = world.bob.get(f"/v1/conversations/{first['conversation_id']}").json()
    assert [turn["question"] for turn in turns] == [
        "Where are parking permits sold?",
        "And what do they cost?",
    ]
    assert [turn["answer"]["answer_id"] for turn in turns] == [first["answer_id"], second["answer_id"]]
    record = world.root.get(f"/v1/answers/{second['answer_id']}").json()["record"]
    assert (record["question"], record["heard"]) == ("And what do they cost?", [first["answer_id"]])


def test_without_an_id_each_question_begins_a_conversation(world: World) -> None:
    ids = [ask(world.bob, "Where are parking permits sold?")["conversation_id"] for _ in range(2)]
    assert len(set(ids)) == 2
    listed = world.bob.get("/v1/conversations").json()
    assert [(one["conversation_id"], one["turns"]) for one in listed] == [(one, 1) for one in reversed(ids)]


def test_the_conversation_of_another_is_as_one_that_there_is_not(world: World) -> None:
    mine = ask(world.bob, "Where are parking permits sold?")["conversation_id"]
    for other in (world.ana, world.root, world.boss):
        for method in ("GET", "DELETE"):
            theirs = other.send(method, f"/v1/conversations/{mine}")
            missing = other.send(method, "/v1/conversations/cnv_aaaaaaaaaaaaaaaaaaaa")
            assert theirs.status_code == missing.status_code == 404
            assert theirs.json()["detail"] == missing.json()["detail"]
        assert status(other, "POST", "/v1/ask", question="And now?", conversation_id=mine) == 404
        assert mine not in other.get("/v1/conversations").text
    assert status(world.bob, "GET", f"/v1/conversations/{mine}") == 200


def test_a_conversation_that_is_deleted_is_gone_with_its_answers(world: World) -> None:
    first = ask(world.bob, "Where are parking permits sold?")
    assert status(world.bob, "DELETE", f"/v1/conversations/{first['conversation_id']}") == 204
    assert status(world.bob, "GET", f"/v1/conversations/{first['conversation_id']}") == 404
    assert status(world.bob, "GET", f"/v1/answers/{first['answer_id']}") == 404


def test_what_was_said_of_a_source_that_is_no_longer_open_is_neither_shown_nor_heard(world: World) -> None:
    document_id = world.put(world.root, "handbook", "desk.txt", "Zebra permits are sold at the Quokka desk.")
    first = ask(world.bob, "Where are zebra permits sold?")
    assert "Quokka" in first["answer"]
    world.root.send("DELETE", f"/v1/documents/{document_id}")
    shown = world.bob.get(f"/v1/conversations/{first['conversation_id']}").text
    second = ask(world.bob, "And when?", first["conversation_id"])
    assert "Quokka" not in shown
    assert "Quokka" not in str(second)


def test_a_first_question_that_nothing_answers_and_that_names_nothing_is_asked_back(world: World) -> None:
    assert ask(world.bob, "And when?")["refusal"]["code"] == "question_unclear"
    assert ask(world.bob, "Which vaccinations are recommended?")["refusal"]["code"] == "insufficient_evidence"
