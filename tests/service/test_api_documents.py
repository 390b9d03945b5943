from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from tests.world import HR_ONLY, Caller, World

PATH = "/v1/collections/handbook/documents"


def upload(
    caller: Caller, file_name: str, data: bytes, query: str = "?wait=true", **form: str
) -> httpx2.Response:
    return caller.send("POST", PATH + query, files={"file": (file_name, data)}, data=form)


def test_an_upload_is_taken_in_worked_off_and_found(world: World) -> None:
    taken = upload(world.root, "beans.md", b"# Coffee\n\nThe coffee beans come from Peru.", query="")
    assert taken.status_code == 202
    assert taken.json()["state"] in ("queued", "reading")
    same = upload(world.root, "beans.md", b"# Coffee\n\nThe coffee beans come from Chile.")
    assert (same.status_code, same.json()["state"], same.json()["version"]) == (200, "ready", 2)
    assert same.json()["document_id"] == taken.json()["document_id"]
    job = world.root.get(f"/v1/jobs/{same.json()['job_id']}").json()
    assert (job["state"], job["version"]) == ("done", 2)
    answer = world.bob.ask("Where do the coffee beans come from?")
    assert "Chile" in answer["answer"]
    assert [one["title"] for one in answer["citations"]] == ["Coffee"]


def test_unchanged_bytes_are_said_to_be_there(world: World) -> None:
    first = upload(world.root, "a.txt", b"Some words.").json()
    again = upload(world.root, "a.txt", b"Some words.", query="")
    assert again.status_code == 200
    assert again.json() == first | {"job_id": None}


def test_what_fails_later_says_why_and_leaves_no_chunk(world: World) -> None:
    failed = upload(world.root, "broken.pdf", b"%PDF-1.7 and then nothing that makes sense").json()
    assert failed["state"] == "failed"
    assert failed["failure_code"]
    shown = world.root.get(f"/v1/documents/{failed['document_id']}").json()
    assert (shown["state"], shown["chunks"]) == ("failed", 0)
    assert world.root.get(f"/v1/documents/{failed['document_id']}/versions/1").status_code == 404


DOOR: dict[str, tuple[str, bytes, dict[str, str], int, str]] = {
    "empty": ("a.txt", b"", {}, 422, "invalid_input"),
    "picture": ("a.txt", b"\x89PNG\r\n\x1a\n", {}, 415, "unsupported_type"),
    "unread suffix": ("a.xls", b"words", {}, 415, "unsupported_type"),
    "word file that is none": ("a.docx", b"words", {}, 422, "corrupt_document"),
    "blank name": ("a.txt", b"words", {"name": "  "}, 422, "invalid_input"),
    "control character in the name": ("a.txt", b"words", {"name": "a\nb.txt"}, 422, "invalid_input"),
    "access that is no JSON": ("a.txt", b"words", {"access": "everyone"}, 422, "invalid_input"),
    "unknown access field": (
        "a.txt",
        b"words",
        {"access": '{"allow": [], "role": "admin"}'},
        422,
        "invalid_input",
    ),
    "unknown group": ("a.txt", b"words", {"access": '{"allow": ["group:none"]}'}, 422, "invalid_input"),
    "look-alike": ("a.txt", b"words", {"access": '{"allow": ["group:hr "]}'}, 422, "invalid_input"),
}


def test_what_the_bytes_already_tell_is_refused_at_the_door(world: World) -> None:
    before = world.root.get(PATH).json()["total"]
    for name, (file_name, data, form, status, code) in DOOR.items():
        response = upload(world.root, file_name, data, **form)
        assert (response.status_code, response.json()["code"]) == (status, code), name
    assert world.root.get(PATH).json()["total"] == before


def test_an_upload_without_a_file_is_refused(world: World) -> None:
    for sent in ({}, {"content": b"no form"}, {"data": {"file": "text"}}, {"json": {"file": "a"}}):
        assert world.root.send("POST", PATH, **sent).status_code == 422


def test_a_broken_form_is_refused(world: World) -> None:
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    response = world.root.send("POST", PATH, content=b"--x\r\nbroken", headers=headers)
    assert (response.status_code, response.json()["code"]) == (422, "invalid_input")


@pytest.mark.parametrize("name", ["../../etc/passwd.txt", "政策/年假.txt", 'a";\u202e<script>.txt'])
def test_a_name_is_only_text_and_the_original_is_only_a_download(world: World, name: str) -> None:
    document_id = upload(world.root, "x.txt", b"<script>alert(1)</script> words", name=name).json()[
        "document_id"
    ]
    response = world.bob.get(f"/v1/documents/{document_id}/original")
    assert response.content == b"<script>alert(1)</script> words"
    assert response.headers["content-type"] == "application/octet-stream"
    assert response.headers["x-content-type-options"] == "nosniff"
    disposition = response.headers["content-disposition"]
    assert disposition.startswith("attachment; filename*=UTF-8''")
    assert not {"/", '"', "\n", "<"} & set(disposition.partition("''")[2])


def test_a_list_comes_in_pages(world: World) -> None:
    for number in range(4):
        world.put(world.root, "handbook", f"{number}.txt", f"Page {number}")
    pages: list[dict[str, Any]] = [world.bob.get(f"{PATH}?limit=2").json()]
    while (following := pages[-1]["next"]) is not None:
        pages.append(world.bob.get(PATH, params={"limit": 2, "after": following}).json())
    assert [len(page["documents"]) for page in pages] == [2, 2, 1]
    assert {page["total"] for page in pages} == {5}


def test_pages_follow_each_other_while_documents_come_and_go(world: World) -> None:
    made = [world.put(world.root, "handbook", f"{number}.txt", f"Page {number}") for number in range(5)]
    world.put(world.root, "handbook", "hidden.txt", "Not for bob.", HR_ONLY)
    first = world.bob.get(f"{PATH}?limit=3").json()
    assert [one["id"] for one in first["documents"]][1:] == made[:2]
    world.root.send("DELETE", f"/v1/documents/{made[1]}")  # the last of the page, which `next` points behind
    world.root.send("DELETE", f"/v1/documents/{made[0]}")
    late = world.put(world.root, "handbook", "late.txt", "A late one")
    second = world.bob.get(PATH, params={"limit": 3, "after": first["next"]}).json()
    third = world.bob.get(PATH, params={"limit": 3, "after": second["next"]}).json()
    assert [one["id"] for one in second["documents"]] == made[2:]
    assert [one["id"] for one in third["documents"]] == [late]
    assert (third["next"], third["total"]) == (None, 5)
    assert world.root.get(PATH).json()["total"] == 6


@pytest.mark.parametrize(
    "query",
    [
        *("limit=0", "limit=501", "limit=x", "limit=99999999999999999999"),
        *("after=x", "after=doc_1", "after=%00", "after=" + "9" * 101),
    ],
)
def test_a_page_that_cannot_be_is_refused(world: World, query: str) -> None:
    assert world.bob.get(f"{PATH}?{query}").status_code == 422


def test_a_citation_opens_in_place(world: World) -> None:
    world.put(world.root, "handbook", "emoji.txt", "前言 👩‍👩‍👧。\n\n培训补贴每年为 4200 元。")
    [citation] = world.bob.ask("培训补贴每年多少元？")["citations"]
    text = world.bob.get(citation["url"].partition("#")[0]).json()["document"]["text"]
    assert text[citation["start"] : citation["end"]] == citation["quote"]
    assert "4200" in citation["quote"]


def test_access_is_shown_as_it_was_said(world: World) -> None:
    [document] = world.root.get(PATH).json()["documents"]
    path = f"/v1/documents/{document['id']}/acl"
    assert world.root.get(path).json() == {"allow": [], "deny": [], "inherited": True}
    said = {"allow": ["everyone", "group:hr"], "deny": ["user:bob"]}
    assert world.root.send("PUT", path, json=said).json() == said | {"inherited": False}
    assert world.root.get(path).json() == said | {"inherited": False}
    assert world.root.send("DELETE", path).status_code == 204
    assert world.root.get(path).json()["inherited"] is True


def test_access_for_nobody_is_refused(world: World) -> None:
    for entry in ("group:none", "user:BOB", "user:bоb", "user:bob ", "role:admin", "*", ""):
        response = world.root.send("PUT", "/v1/collections/handbook/acl", json={"allow": [entry]})
        assert response.status_code == 422, entry
    assert world.root.send("PUT", "/v1/collections/handbook/acl", json={"acl": []}).status_code == 422


def test_uploaded_access_holds_from_the_first_moment(world: World) -> None:
    access = json.dumps({"allow": ["user:ana"]})
    document_id = upload(world.root, "a.txt", b"For ana alone.", access=access).json()["document_id"]
    assert world.ana.get(f"/v1/documents/{document_id}").status_code == 200
    assert world.bob.get(f"/v1/documents/{document_id}").status_code == 404


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"acess": '{"allow": ["group:hr"]}'}, "acess"),
        ({"access": ""}, "access"),
        ({"access": ['{"allow": ["group:hr"]}', '{"allow": ["everyone"]}']}, "access"),
        ({"name": ["a.txt", "b.txt"]}, "name"),
    ],
)
def test_a_form_that_could_open_a_document_by_mistake_is_refused(
    world: World, fields: dict[str, Any], named: str
) -> None:
    before = world.root.get(PATH).json()
    files = {"file": ("a.txt", b"For hr alone.")}
    response = world.root.send("POST", PATH, files=files, data=fields)
    assert response.status_code == 422
    assert response.json()["field"] == named
    assert world.root.get(PATH).json() == before
