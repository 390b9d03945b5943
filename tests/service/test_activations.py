"""What is put in force, on which grounds, for whom, and back; each change is in the log of changes."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from ingest.corpus import people
from ingest.corpus.database import Database, Session
from ingest.corpus.errors import Conflict, InvalidInput
from ingest.corpus.types import Principal
from service.audit import Audited, list_audit
from service.evaluation.asking.attempts import Attempt, Run
from service.evaluation.scoring.gate_result import (
    GateResult,
    gate_result,
    read_gate_result,
    write_gate_result,
)
from service.releases.activations import activate, activation_history, newest_activation, roll_back
from service.releases.grounds import LONGEST_REASON, grounds_of
from service.releases.standing import Activation, Grounds, Standing, standing

FIRST, SECOND, THIRD = "answer.v1+default.v1@aaa", "answer.v2+default.v1@bbb", "answer.v3+default.v1@ccc"
MODEL = "vllm:models/tiny@0123456789ab"
PASSED = GateResult(
    set="small v1",
    set_sha256="5" * 64,
    baseline_sha256="b" * 64,
    versions={"release": SECOND, "model": MODEL},
    questions=40,
    written=40,
    faults=(),
)
REASON = Grounds(override="the engine is new")


@pytest.fixture
def tenants(database: Database) -> Database:
    with database.writing() as session:
        for tenant in ("acme", "globex"):
            people.create_tenant(session, tenant)
    return database


def put(session: Session, release: str, share: int = 100, grounds: Grounds | None = REASON) -> Activation:
    return activate(session, "acme", release, share, "user:root", FIRST, grounds)


def back(session: Session) -> Activation:
    return roll_back(session, "acme", "user:root", FIRST)


def now(session: Session) -> Standing:
    return standing(activation_history(session, "acme"), FIRST)


def test_what_was_put_in_force_is_so_for_this_tenant_alone(tenants: Database) -> None:
    with tenants.writing() as session:
        made = put(session, SECOND)
    with tenants.reading() as session:
        assert newest_activation(session, "acme") == made
        assert newest_activation(session, "globex") is None
        assert activation_history(session, "acme") == (made,)
    assert (made.number, made.action, made.release, made.previous) == (1, "activate", SECOND, FIRST)
    assert (made.share, made.actor, made.grounds) == (100, "user:root", REASON)


def test_a_rollback_restores_what_was_in_force_before_as_often_as_there_was_something(
    tenants: Database,
) -> None:
    with tenants.writing() as session:
        put(session, SECOND)
        put(session, THIRD)
        assert now(session).stable == (FIRST, SECOND, THIRD)
        assert (back(session).release, back(session).release) == (SECOND, FIRST)
        assert now(session) == Standing((FIRST,))
        with pytest.raises(Conflict, match=r"nothing to go back to.*as it was shipped"):
            back(session)
        put(session, THIRD)
        assert back(session).release == FIRST
        assert len(activation_history(session, "acme")) == 6  # nothing was taken out of it


def test_a_canary_is_for_its_share_and_a_rollback_ends_it_however_often_it_grew(tenants: Database) -> None:
    users = [Principal("acme", f"user-{number}") for number in range(400)]
    with tenants.writing() as session:
        small, large = put(session, SECOND, 10), put(session, SECOND, 60, None)
        assert (small.action, large.previous, now(session).in_force) == ("canary", FIRST, FIRST)
        assert large.grounds == small.grounds  # a larger share needs no further ones
        ended = back(session)
    got = [{one.user_id for one in users if each.release_for(one) == SECOND} for each in (small, large)]
    assert 0 < len(got[0]) < len(got[1]) < len(users)
    assert got[0] < got[1]
    assert all(one.release_for(users[0]) in (FIRST, SECOND) for one in (small, large))
    assert {ended.release_for(one) for one in users} == {FIRST}
    assert ended.previous == SECOND


def test_a_canary_that_did_well_is_put_in_force_on_its_own_grounds(tenants: Database) -> None:
    with tenants.writing() as session:
        put(session, SECOND, 10)
        made = put(session, SECOND, grounds=None)
        assert (made.action, made.grounds) == ("activate", REASON)
        assert now(session) == Standing((FIRST, SECOND))
        assert back(session).release == FIRST


def test_grounds_are_of_one_release(tenants: Database) -> None:
    with tenants.writing() as session:
        put(session, SECOND, 10)
        for share in (20, 100):
            with pytest.raises(InvalidInput, match=r"Nothing says that answer\.v3"):
                put(session, THIRD, share, None)
        back(session)
        with pytest.raises(InvalidInput, match=r"eval gate SET.*--release.*override"):
            put(session, SECOND, grounds=None)
        assert now(session).in_force == FIRST


def test_what_is_in_force_is_not_put_in_force_again(tenants: Database) -> None:
    with tenants.writing() as session:
        with pytest.raises(Conflict, match=r"in force already\. Nothing would change"):
            put(session, FIRST)
        put(session, SECOND, 50)
        with pytest.raises(Conflict, match=r"A canary runs beside it. `citeward prompts rollback` ends"):
            put(session, FIRST)


@pytest.mark.parametrize("share", [-1, 0, 101])
def test_a_share_that_is_none_is_refused(tenants: Database, share: int) -> None:
    with (
        tenants.writing() as session,
        pytest.raises(InvalidInput, match=f"The share is {share} %") as refused,
    ):
        put(session, SECOND, share)
    assert refused.value.field == "share"


def test_every_change_is_in_the_log_with_who_and_why(tenants: Database) -> None:
    gate = grounds_of(SECOND, PASSED, None, MODEL)
    with tenants.writing() as session:
        put(session, SECOND, 10, gate)
        activate(session, "acme", THIRD, 100, "command:mia", FIRST, REASON)
        back(session)
    with tenants.reading() as session:
        found = list_audit(session, "acme", 10)
        assert list_audit(session, "acme", 1) == found[:1]
        assert list_audit(session, "globex", 10) == ()
    assert [(one.actor, one.action, one.target, one.details) for one in found] == [
        ("user:root", "release.rollback", FIRST,
         {"previous": THIRD, "share": 100, "gate": None, "override": None}),
        ("command:mia", "release.activate", THIRD,
         {"previous": FIRST, "share": 100, "gate": None, "override": "the engine is new"}),
        ("user:root", "release.canary", SECOND,
         {"previous": FIRST, "share": 10, "gate": PASSED.sha256, "override": None}),
    ]  # fmt: skip
    assert all(isinstance(one, Audited) and one.at for one in found)


def test_what_failed_is_neither_in_force_nor_in_the_log(tenants: Database) -> None:
    def cut_off() -> None:
        with tenants.writing() as session:
            put(session, SECOND)
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        cut_off()
    with tenants.reading() as session:
        assert (newest_activation(session, "acme"), list_audit(session, "acme", 9)) == (None, ())


# --- grounds -----------------------------------------------------------------------------------


def test_a_gate_run_that_this_release_passed_is_ground_enough_and_kept() -> None:
    grounds = grounds_of(SECOND, PASSED, None, MODEL)
    assert grounds is not None
    assert grounds.override is None
    assert grounds.gate == asdict(PASSED) | {"sha256": PASSED.sha256}
    elsewhere = MODEL.replace("models/tiny", "/other/place")
    assert grounds_of(SECOND, PASSED, None, elsewhere) == grounds  # the weights are what counts
    assert grounds_of(SECOND, PASSED, None, None) == grounds
    assert grounds_of(SECOND, None, None, MODEL) is None


REFUSED = {
    f"The gate run is of {THIRD}": {"versions": {"release": THIRD, "model": MODEL}},
    "The gate run is of none": {"versions": {"model": MODEL}},
    "of answer.v2+default.v1@eee": {"versions": {"release": "answer.v2+default.v1@eee", "model": MODEL}},
    f"is of {SECOND} for 10 %": {"versions": {"release": f"{SECOND} for 10 %, {FIRST} for the others"}},
    "It did not pass: leak: a and 1 more": {"faults": ("leak: a", "slice: b")},
    "answered 35 of 40": {"written": 35},
    "answered 0 of 0": {"written": 0, "questions": 0},
    "asked vllm:other@9, and the service asks": {"versions": {"release": SECOND, "model": "vllm:other@9"}},
}


@pytest.mark.parametrize("said", REFUSED)
def test_a_gate_run_that_does_not_tell_enough_is_refused(said: str) -> None:
    result = replace(PASSED, **REFUSED[said])  # type: ignore[arg-type]
    with pytest.raises(Conflict) as refused:
        grounds_of(SECOND, result, None, MODEL)
    assert said in refused.value.why


@pytest.mark.parametrize("reason", ["", "  \n", "x" * (LONGEST_REASON + 1), "a\x1b[2Jb"])
def test_a_reason_that_says_nothing_is_refused(reason: str) -> None:
    with pytest.raises(InvalidInput, match="reason for the override") as refused:
        grounds_of(SECOND, None, reason, MODEL)
    assert refused.value.field == "override"


def test_a_gate_run_and_a_reason_to_do_without_are_one_too_many() -> None:
    with pytest.raises(InvalidInput, match="Give one of the two"):
        grounds_of(SECOND, PASSED, "hurry", MODEL)


def test_a_gate_run_counts_what_the_model_itself_answered(tmp_path: Path) -> None:
    attempts = (
        Attempt("a", "answered", generator="vllm"),
        Attempt("b", "refused", generator="vllm", degraded=("fewer_evidence",)),
        Attempt("c", "answered", generator="quoting", degraded=("quoting",)),
        Attempt("d", "error", error="model_unavailable"),
    )
    run = Run("small v1", "5" * 64, {"release": SECOND}, "vllm", attempts)
    (tmp_path / "baseline.jsonl").write_bytes(b"{}")
    made = gate_result(run, tmp_path / "baseline.jsonl", ["leak: x"])
    assert (made.questions, made.written, made.faults) == (4, 2, ("leak: x",))
    write_gate_result(made, tmp_path / "out" / "gate.json")
    assert read_gate_result(tmp_path / "out" / "gate.json") == made
    assert read_gate_result(tmp_path / "out" / "gate.json").sha256 == made.sha256 != PASSED.sha256


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"set": 1}', "\xff"])
def test_a_file_that_is_no_gate_result_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "gate.json"
    path.write_bytes(text.encode("latin-1"))
    for each in (path, tmp_path / "none"):
        with pytest.raises(InvalidInput, match=r"cannot be used.*eval gate"):
            read_gate_result(each)
