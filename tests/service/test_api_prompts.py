"""Prompts put in force over HTTP, and asked with by a scripted model from the next question on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingest.corpus.database import Database
from service.audit import list_audit
from service.equality import QUOTED, SAMPLED, STOOD_IN
from service.releases.outcomes import Outcomes, outcomes, read_records
from service.releases.release import SHIPPED, is_among, load_releases
from tests.scripted_engine import Do, Reply, spoken
from tests.service.test_api_engine import MODEL, QUESTION, ROLE, SPOKEN, Asking, asking
from tests.world import Caller, World

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
SECOND = "answer.v2+default.v1"
VERSIONS = {name: one.version for name, one in load_releases(1024).items()}
OVERRIDE = {"release": SECOND, "override": "tried by hand"}
PASSED = {
    "set": "small v1",
    "set_sha256": "5" * 64,
    "baseline_sha256": "b" * 64,
    "versions": {"release": VERSIONS[SECOND], "model": f"vllm:{MODEL}@0123"},
    "questions": 40,
    "written": 39,
    "faults": [],
}


@pytest.fixture
def here(database: Database, tmp_path: Path) -> Iterator[Asking]:
    with asking(database, tmp_path, Reply(spoken(SPOKEN))) as here:
        yield here


def asked_with(here: Asking, caller: Caller) -> tuple[str, str]:
    """The release that an answer names, and the prompt's rule by which the second one can be told."""
    answer = caller.ask(QUESTION)
    assert answer["generator"] == "vllm"
    system = here.engine.asked[-1]["messages"][0]["content"]
    named = answer["versions"]["prompt"].split(".")[1]
    assert named == ("v2" if "choose neither" in system else "v1")
    return answer["versions"]["release"], named


def put(caller: Caller, **body: Any) -> tuple[int, Any]:
    response = caller.send("POST", "/v1/prompts/activations", json=body)
    return response.status_code, response.json()


def test_the_next_question_is_asked_with_what_was_put_in_force_and_after_a_rollback_with_what_was(
    here: Asking,
) -> None:
    root, bob, eve = here.world.root, here.world.bob, here.world.eve
    assert asked_with(here, bob) == (VERSIONS[SHIPPED], "v1")
    status, made = put(root, release=SECOND, gate=PASSED)
    assert (status, made["grounds"]["gate"]["set"]) == (201, "small v1")
    assert asked_with(here, bob) == (VERSIONS[SECOND], "v2")
    assert eve.ask(QUESTION)["versions"]["release"] == VERSIONS[SHIPPED]  # of another tenant
    assert bob.get("/v1/versions").json()["versions"]["release"] == VERSIONS[SECOND]
    assert root.send("POST", "/v1/prompts/rollback").json()["release"] == VERSIONS[SHIPPED]
    assert asked_with(here, bob) == (VERSIONS[SHIPPED], "v1")
    shown = root.get("/v1/prompts").json()
    assert (shown["asked"], shown["in_force"], shown["canary"]) == (True, VERSIONS[SHIPPED], None)
    assert shown["releases"] == list(VERSIONS.values())
    assert [one["action"] for one in shown["history"]] == ["activate", "rollback"]


def test_a_canary_is_got_by_the_same_users_each_time(here: Asking) -> None:
    root = here.world.root
    callers = (root, here.world.ana, here.world.bob)
    counts = {
        share: sum(is_among(caller.principal, VERSIONS[SECOND], share) for caller in callers)
        for share in range(1, 100)
    }
    share = next(share for share, count in counts.items() if count == 2)
    assert put(root, share=share, **OVERRIDE)[0] == 201
    got = [asked_with(here, caller)[1] for caller in callers]
    assert [asked_with(here, caller)[1] for caller in callers] == got
    assert sorted(got) == ["v1", "v2", "v2"]
    said = root.get("/v1/versions").json()["versions"]["release"]
    assert said == f"{VERSIONS[SECOND]} for {share} %, {VERSIONS[SHIPPED]} for the others"
    assert root.get("/v1/prompts").json()["canary"]["share"] == share
    assert put(root, release=SECOND)[0] == 201
    assert {asked_with(here, caller)[1] for caller in callers} == {"v2"}


def test_without_a_gate_run_that_was_passed_nothing_is_put_in_force(here: Asking) -> None:
    root = here.world.root
    other = PASSED | {"versions": {"release": VERSIONS[SHIPPED], "model": f"vllm:{MODEL}@0123"}}
    refused: list[tuple[dict[str, Any], int, str]] = [
        ({"release": SECOND}, 422, "Nothing says that"),
        ({"release": SECOND, "gate": other}, 409, "The gate run is of answer.v1"),
        ({"release": SECOND, "gate": PASSED | {"faults": ["leak: x"]}}, 409, "It did not pass: leak: x"),
        ({"release": SECOND, "gate": {"set": "small v1"}}, 422, "gate"),
        ({"release": SECOND, "override": "  "}, 422, "reason"),
        ({"release": "answer.v9+default.v1", "override": "x"}, 404, "no such thing"),
        ({"release": "answer.v2", "override": "x"}, 422, "names no release"),
        ({"release": SHIPPED, "override": "x"}, 409, "in force already"),
        ({"share": 0, **OVERRIDE}, 422, "share"),
    ]
    for body, status, said in refused:
        got, problem = put(root, **body)
        assert (got, said in str(problem)) == (status, True), problem
    assert root.send("POST", "/v1/prompts/rollback").status_code == 409
    assert root.get("/v1/prompts").json()["history"] == []
    with here.world.parts.database.reading() as session:
        assert list_audit(session, "acme", 9) == ()


def test_an_override_is_kept_with_its_reason_and_who_gave_it(here: Asking) -> None:
    put(here.world.root, **OVERRIDE)
    with here.world.parts.database.reading() as session:
        (noted,) = list_audit(session, "acme", 9)
    assert (noted.actor, noted.action, noted.target) == ("user:root", "release.activate", VERSIONS[SECOND])
    assert noted.details["override"] == "tried by hand"


def test_nobody_but_an_admin_knows_of_these_routes(here: Asking) -> None:
    bob = here.world.bob
    nowhere = bob.get("/v1/no/such/route")
    for method, path in (
        ("GET", "/v1/prompts"),
        ("POST", "/v1/prompts/activations"),
        ("POST", "/v1/prompts/rollback"),
    ):
        response = bob.send(method, path, json=OVERRIDE if method == "POST" else None)
        assert (response.status_code, response.content) == (404, nowhere.content)


def test_a_release_in_force_that_this_program_has_not_is_told_and_not_guessed_around(here: Asking) -> None:
    put(here.world.root, **OVERRIDE)
    prompting = here.world.parts.prompting
    assert prompting is not None
    older = {name: one for name, one in prompting.releases.items() if name != SECOND}
    object.__setattr__(here.world.parts, "prompting", replace(prompting, releases=older))
    response = here.world.bob.send("POST", "/v1/ask", json={"question": QUESTION})
    assert (response.status_code, response.json()["code"]) == (503, "unavailable")
    assert VERSIONS[SECOND] in response.json()["detail"]
    assert here.engine.asked == []


def test_a_stored_answer_says_what_made_it_and_whether_its_text_can_be_expected_again(
    database: Database, tmp_path: Path
) -> None:
    with asking(database, tmp_path, Reply(spoken(SPOKEN)), Reply([ROLE, Do.BREAK])) as here:
        bob = here.world.bob
        put(here.world.root, **OVERRIDE)
        ids = [bob.ask(QUESTION)["answer_id"] for _ in range(2)]
        refused = bob.ask("附近有地铁站吗？", collections=[])["answer_id"]
        shown = [bob.get(f"/v1/answers/{one}").json() for one in (*ids, refused)]
    assert [one["equality"] for one in shown] == [
        {"expected": False, "why": SAMPLED},
        {"expected": False, "why": STOOD_IN},
        {"expected": True, "why": QUOTED},
    ]
    assert {
        "release",
        "prompt",
        "policy",
        "model",
        "engine",
        "judge",
        "reranker",
        "embedder",
        "config",
        "code",
    } <= (shown[0]["answer"]["versions"].keys())
    assert shown[0]["answer"]["versions"]["policy"].startswith("default.v1@")


def test_outcomes_are_counted_by_release_and_language(database: Database, tmp_path: Path) -> None:
    lie = json.dumps({"answerable": True, "statements": [{"citations": ["C1"], "text": "It is 77 days."}]})
    replies = (Reply(spoken(SPOKEN)), Reply(spoken(lie)), Reply([ROLE, Do.BREAK]))
    with asking(database, tmp_path, *replies) as here:
        bob, parts = here.world.bob, here.world.parts
        bob.ask(QUESTION)
        _, made = put(here.world.root, **OVERRIDE)
        for _ in range(2):
            bob.ask(QUESTION)
        bob.ask("附近有地铁站吗？", collections=[])
        here.world.eve.ask(QUESTION, collections=[])  # of another tenant
        with parts.database.reading() as session:
            every = tuple(outcomes(read_records(session, "acme", "")))
            since = tuple(outcomes(read_records(session, "acme", made["at"])))
    first, second, chinese = every
    assert since == (second, chinese)
    assert all(one.median_ms is not None and one.median_ms > 0 for one in every)
    first, second, chinese = (replace(one, median_ms=None) for one in every)
    assert first == Outcomes(VERSIONS[SHIPPED], "en", 1, 1, 0, 0, 0, 1, 0, None)
    assert second == Outcomes(VERSIONS[SECOND], "en", 2, 1, 1, 1, 0, second.statements, 1, None)
    assert chinese == Outcomes(VERSIONS[SECOND], "zh", 1, 0, 1, 0, 0, 0, 0, None)


def test_where_answers_are_quoted_there_is_no_prompt_and_everything_says_so(world: World) -> None:
    assert put(world.root, **OVERRIDE)[0] == 201
    answer = world.bob.ask(QUESTION)
    assert (answer["outcome"], answer["versions"]["release"], answer["versions"]["prompt"]) == (
        "answered", "none", "none",
    )  # fmt: skip
    assert world.bob.get("/v1/versions").json()["versions"]["release"] == "none"
    shown = world.root.get("/v1/prompts").json()
    assert (shown["asked"], shown["in_force"]) == (False, VERSIONS[SECOND])
    assert world.bob.get(f"/v1/answers/{answer['answer_id']}").json()["equality"]["expected"] is True
