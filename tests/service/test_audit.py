"""Who changed what: told to the admins of the tenant, by route and by command, and to nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.audit import note
from tests.service.test_cli_commands import command_line
from tests.world import World

DONE = (
    ("acme", "user:root", "release.activate", "answer.v2", {"share": 100}),
    ("acme", "command:ops", "release.rollback", "answer.v1", {}),
    ("acme", "user:root", "release_100%.x", "odd", {"why": "中文 <b>"}),
    ("globex", "user:root", "release.activate", "theirs", {}),
)


@pytest.fixture
def noted(world: World) -> World:
    with world.parts.database.writing() as session:
        for tenant, actor, action, target, details in DONE:
            note(session, tenant, actor, action, target, details)
    return world


def targets(world: World, query: str = "") -> list[str]:
    answered = world.root.get(f"/v1/audit{query}")
    assert answered.status_code == 200
    return [one["target"] for one in answered.json()]


def test_an_admin_sees_his_tenants_newest_first(noted: World) -> None:
    assert targets(noted) == ["odd", "answer.v1", "answer.v2"]
    newest = noted.root.get("/v1/audit?limit=1").json()[0]
    assert newest.keys() == {"at", "actor", "action", "target", "details"}
    assert newest["details"] == {"why": "中文 <b>"}


def test_by_who_and_by_what(noted: World) -> None:
    assert targets(noted, "?actor=command:ops") == ["answer.v1"]
    assert targets(noted, "?about=release.") == ["answer.v1", "answer.v2"]
    assert targets(noted, "?about=release_100%25") == ["odd"]  # signs of a pattern are signs
    assert targets(noted, "?about=%25") == []
    assert targets(noted, "?actor=user:root&about=release.activate") == ["answer.v2"]


@pytest.mark.parametrize("query", ["?limit=0", "?limit=501", "?limit=x", f"?actor={'a' * 101}"])
def test_what_cannot_be_meant_is_refused(noted: World, query: str) -> None:
    assert noted.root.get(f"/v1/audit{query}").status_code == 422


def test_for_a_reader_there_is_no_such_route(noted: World) -> None:
    nowhere = noted.bob.get("/v1/no/such/route")
    found = noted.bob.get("/v1/audit")
    assert (found.status_code, found.json()["detail"]) == (404, nowhere.json()["detail"])


def test_the_command_lists_them(tmp_path: Path) -> None:
    citeward = command_line(tmp_path)
    citeward.done("init")
    citeward.done("prompts", "activate", "answer.v2+default.v1", "--override", "tried by hand")
    (row,) = citeward.done("audit", "list")["rows"]
    assert (row["action"], row["details"]["override"]) == ("release.activate", "tried by hand")
    assert citeward.done("audit", "list", "--about", "key")["rows"] == []
