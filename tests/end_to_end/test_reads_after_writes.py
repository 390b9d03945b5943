"""Deleting, replacing and revoking hold for the very next request, wherever a text could come from."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from ingest.corpus import store
from ingest.corpus.tables import VersionRow
from ingest.corpus.types import AccessList
from tests.world import EVERYONE, Caller, World

TEXT = "The zqladder stands in the cellar."
QUESTION = "Where does the zqladder stand?"
WITHHELD = "withheld: source no longer available"


def places(caller: Caller, document_id: str, answer_ids: list[str]) -> dict[str, str]:
    """Everything that a reader could get the text or the document from."""
    path = f"/v1/documents/{document_id}"
    return {
        "search": str(caller.search(QUESTION)),
        "answer": str(caller.ask(QUESTION)),
        "stored answers": "".join(caller.get(f"/v1/answers/{one}").text for one in answer_ids),
        "original": caller.get(f"{path}/original").text,
        "version": caller.get(f"{path}/versions/1").text,
        "document": caller.get(path).text,
        "list": caller.get("/v1/collections/handbook/documents").text,
    }


def asked_before(caller: Caller) -> list[str]:
    """Ids of answers that rest on the text, one of them without citations."""
    answers = [caller.ask(QUESTION), caller.ask(QUESTION, include_citations=False)]
    assert all("cellar" in answer["answer"] for answer in answers)
    return [answer["answer_id"] for answer in answers]


def assert_gone(caller: Caller, document_id: str, answer_ids: list[str]) -> None:
    for place, text in places(caller, document_id, answer_ids).items():
        assert "cellar" not in text, place
        assert place == "stored answers" or document_id not in text, place
    for answer_id in answer_ids:
        answer = caller.get(f"/v1/answers/{answer_id}").json()["answer"]
        assert WITHHELD in answer["answer"]
        withheld = [one["verdict"] for one in answer["statements"] if WITHHELD in one["text"]]
        assert {(one["status"], one["level"]) for one in withheld} == {("not_supported", "permitted")}


def assert_there(caller: Caller, document_id: str, answer_ids: list[str]) -> None:
    for place, text in places(caller, document_id, answer_ids).items():
        assert ("cellar" if place not in ("document", "list") else document_id) in text, place


REVOKES: dict[str, tuple[str, dict[str, list[str]]]] = {
    "document list": ("/v1/documents/{}/acl", {"allow": ["user:bob"]}),
    "document denial": ("/v1/documents/{}/acl", {"allow": ["everyone"], "deny": ["group:hr"]}),
    "empty document list": ("/v1/documents/{}/acl", {"allow": []}),
    "collection list": ("/v1/collections/handbook/acl", {"allow": ["user:bob"]}),
    "collection denial": ("/v1/collections/handbook/acl", {"allow": ["everyone"], "deny": ["user:ana"]}),
}


@pytest.mark.parametrize("how", REVOKES)
def test_a_revoke_holds_for_the_next_request(world: World, how: str) -> None:
    document_id = world.put(world.root, "handbook", "a.txt", TEXT)
    asked = asked_before(world.ana)
    assert_there(world.ana, document_id, asked)
    path, body = REVOKES[how]
    assert world.root.send("PUT", path.format(document_id), json=body).status_code == 200
    assert_gone(world.ana, document_id, asked)
    if "user:bob" in body["allow"]:
        assert_there(world.bob, document_id, asked_before(world.bob))


def test_leaving_a_group_holds_for_the_next_request_unless_another_still_lets_in(world: World) -> None:
    world.root.send("POST", "/v1/groups", json={"id": "staff"})
    world.root.send("PUT", "/v1/groups/staff/members/ana")
    both = AccessList(frozenset({"group:hr", "group:staff"}))
    document_id = world.put(world.root, "handbook", "a.txt", TEXT, both)
    asked = asked_before(world.ana)
    assert world.root.send("DELETE", "/v1/groups/staff/members/ana").status_code == 204
    assert_there(world.ana, document_id, asked)
    assert world.root.send("DELETE", "/v1/groups/hr/members/ana").status_code == 204
    assert_gone(world.ana, document_id, asked)


def test_a_deleted_group_takes_its_access_along_and_a_namesake_inherits_nothing(world: World) -> None:
    document_id = world.put(world.root, "handbook", "a.txt", TEXT, AccessList(frozenset({"group:hr"})))
    asked = asked_before(world.ana)
    assert world.root.send("DELETE", "/v1/groups/hr").status_code == 204
    world.root.send("POST", "/v1/groups", json={"id": "hr"})
    world.root.send("PUT", "/v1/groups/hr/members/ana")
    assert_gone(world.ana, document_id, asked)


def test_a_revoked_key_is_nobody_from_the_next_request_on(world: World) -> None:
    prefix = world.ana.key.split("_")[1]
    assert world.root.send("DELETE", f"/v1/keys/{prefix}").status_code == 204
    for path in ("/v1/collections", "/v1/answers"):
        assert world.ana.get(path).status_code == 401
    assert world.ana.send("POST", "/v1/ask", json={"question": QUESTION}).status_code == 401


def test_a_deleted_document_is_gone_for_everybody(world: World) -> None:
    document_id = world.put(world.root, "handbook", "a.txt", TEXT)
    asked = asked_before(world.ana)
    by_admin = asked_before(world.root)
    assert world.root.send("DELETE", f"/v1/documents/{document_id}").status_code == 204
    assert_gone(world.ana, document_id, asked)
    assert_gone(world.root, document_id, by_admin)
    assert "cellar" not in world.root.get(f"/v1/answers/{asked[0]}").text
    assert world.root.send("DELETE", f"/v1/documents/{document_id}").status_code == 404


def test_what_is_withheld_is_said_so_in_the_language_of_the_answer(world: World) -> None:
    document_id = world.put(world.root, "handbook", "ladder.txt", "梯子zqladder放在地下室。", EVERYONE)
    answer_id = world.ana.ask("梯子zqladder放在哪里？")["answer_id"]
    world.root.send("DELETE", f"/v1/documents/{document_id}")
    kept = world.root.get(f"/v1/answers/{answer_id}").json()
    for statements in (kept["answer"]["statements"], kept["record"]["statements"]):
        assert statements
        assert {one["text"] for one in statements} == {"[已隐去：来源已不可用]"}


def test_what_was_deleted_can_be_uploaded_again(world: World) -> None:
    first = world.put(world.root, "handbook", "a.txt", TEXT)
    world.root.send("DELETE", f"/v1/documents/{first}")
    again = world.put(world.root, "handbook", "a.txt", TEXT)
    assert again != first
    assert_there(world.ana, again, asked_before(world.ana))


def test_a_deleted_collection_is_gone_and_its_successor_is_empty(world: World) -> None:
    document_id = world.put(world.root, "handbook", "a.txt", TEXT)
    asked = asked_before(world.ana)
    assert world.root.send("DELETE", "/v1/collections/handbook").status_code == 204
    world.root.send("POST", "/v1/collections", json={"id": "handbook", "title": "Handbook"})
    world.root.send("PUT", "/v1/collections/handbook/acl", json={"allow": ["everyone"]})
    assert_gone(world.ana, document_id, asked)


def test_a_new_version_takes_the_place_of_the_old_everywhere(world: World) -> None:
    question = "What is the zqlimit?"
    document_id = world.put(world.root, "handbook", "a.txt", "The zqlimit is 10 metres.")
    before = world.ana.ask(question)
    assert "10 metres" in before["answer"]
    assert world.put(world.root, "handbook", "a.txt", "The zqlimit is 20 metres.") == document_id
    after = world.ana.ask(question)
    assert "20 metres" in after["answer"]
    assert {one["version"] for one in after["citations"] if one["document_id"] == document_id} == {2}
    said = [
        str(after),
        str(world.ana.search(question)),
        world.ana.get(f"/v1/documents/{document_id}/original").text,
    ]
    said += [one.get(f"/v1/answers/{before['answer_id']}").text for one in (world.ana, world.root)]
    assert "10 metres" not in "".join(said)
    assert world.ana.get(f"/v1/documents/{document_id}/versions/1").status_code == 404
    assert "20 metres" in world.ana.get(f"/v1/documents/{document_id}/versions/2").text


def test_a_version_that_fails_leaves_the_one_before_in_place(world: World) -> None:
    document_id = world.put(world.root, "handbook", "a.pdf.txt", TEXT)
    with world.parts.database.writing() as session:
        added = store.add_version(session, "acme", "handbook", "a.pdf.txt", b"x", "0" * 64)
        store.fail_version(session, document_id, added.version, "garbled", "It cannot be read.")
    assert_there(world.ana, document_id, asked_before(world.ana))


# --- each question for itself ------------------------------------------------------------------


def test_a_citation_never_comes_from_the_question_before(world: World) -> None:
    apples = world.put(world.root, "handbook", "apples.txt", "Zqapples are stored in hall seven.")
    pears = world.put(world.root, "handbook", "pears.txt", "Zqpears are kept in shed four.")
    first = world.bob.ask("Where are zqapples stored?")
    second = world.bob.ask("Where are zqpears kept?")
    assert apples in str(first["citations"])
    assert pears in str(second["citations"])
    assert apples not in str(second["citations"])


def test_ten_files_with_one_fact_each_are_told_apart(world: World) -> None:
    towns = ("Turin", "Oslo", "Lima", "Quito", "Accra", "Hanoi", "Perth", "Davos", "Basra", "Minsk")
    files = {
        town: world.put(world.root, "handbook", f"{town}.txt", f"{town} has {n + 21} lifts.")
        for n, town in enumerate(towns)
    }
    for number, town in enumerate(towns):
        answer = world.bob.ask(f"How many lifts has {town}?", max_citations=1)
        assert f"{number + 21} lifts" in answer["answer"]
        assert [one["document_id"] for one in answer["citations"]] == [files[town]]


def test_a_citation_opens_for_who_saw_it_and_only_for_them(world: World) -> None:
    world.put(world.root, "handbook", "a.txt", TEXT, AccessList(frozenset({"user:ana"})))
    url = world.ana.ask(QUESTION)["citations"][0]["url"].partition("#")[0]
    assert world.ana.get(url).status_code == 200
    missing = world.bob.get("/v1/documents/doc_none/versions/1")
    for stranger in (world.bob, world.eve, world.boss):
        assert (stranger.get(url).status_code, stranger.get(url).content) == (404, missing.content)
    assert world.client.get(url).status_code == 401


def test_bare_metadata_do_not_break_a_citation(world: World) -> None:
    document_id = world.put(world.root, "handbook", "a.txt", TEXT)
    with world.parts.database.writing() as session:
        mine = update(VersionRow).where(VersionRow.document_id == document_id)
        session.execute(mine.values(title="", language="und", media_type="", pages=None))
    [citation] = [one for one in world.ana.ask(QUESTION)["citations"] if one["document_id"] == document_id]
    assert (citation["title"], citation["page"], citation["section"]) == ("", None, "")
    assert world.ana.get(f"/v1/documents/{document_id}").status_code == 200
