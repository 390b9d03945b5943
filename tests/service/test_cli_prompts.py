"""`citeward prompts`: on the data of this machine, by the account that calls it."""

from __future__ import annotations

import json
import os
import pwd
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingest.corpus.database import Database
from ingest.corpus.errors import NotFound
from service.adapters.vllm import model_version
from service.cli.eval_set import with_release
from service.engine.weights import revision
from service.evaluation.scoring.gate_result import read_gate_result
from service.releases.release import SHIPPED, load_releases
from service.settings import ServiceSettings
from tests.fakes import make_prompting
from tests.service.test_cli_commands import CommandLine, command_line
from tests.service.test_eval_live import written
from tests.world import make_parts

SECOND = "answer.v2+default.v1"
VERSIONS = {name: one.version for name, one in load_releases(1024).items()}
OVERRIDE = ("--override", "tried by hand")
ME = f"command:{pwd.getpwuid(os.geteuid()).pw_name}"


@pytest.fixture
def citeward(tmp_path: Path) -> CommandLine:
    """With a language model, which nothing here asks."""
    model = tmp_path / "tiny"
    model.mkdir()
    (model / "config.json").write_text("{}")
    made = command_line(tmp_path / "home")
    made.done("init")
    return CommandLine(replace(made.settings, llm=str(model)))


def gate_file(tmp_path: Path, settings: ServiceSettings, **changed: Any) -> str:
    path = tmp_path / "gate.json"
    model = model_version(settings.llm, revision(Path(settings.llm)))
    passed = {
        "set": "small v1", "set_sha256": "5" * 64, "baseline_sha256": "b" * 64,
        "versions": {"release": VERSIONS[SECOND], "model": model},
        "questions": 40, "written": 40, "faults": [],
    }  # fmt: skip
    path.write_text(json.dumps(passed | changed))
    return str(path)


def shares(citeward: CommandLine) -> dict[str, int]:
    return {row["release"]: row["share"] for row in citeward.done("prompts", "list")["rows"]}


def test_a_release_goes_from_its_gate_to_a_share_to_everybody_and_back(
    citeward: CommandLine, tmp_path: Path
) -> None:
    assert shares(citeward) == {SHIPPED: 100, SECOND: 0}
    gate = gate_file(tmp_path, citeward.settings)
    made = citeward.done("prompts", "canary", SECOND, "--share", "10", "--gate", gate)
    assert (made["actor"], made["release"], made["previous"]) == (ME, VERSIONS[SECOND], VERSIONS[SHIPPED])
    assert shares(citeward) == {SHIPPED: 90, SECOND: 10}
    citeward.done("prompts", "activate", SECOND)
    assert shares(citeward) == {SHIPPED: 0, SECOND: 100}
    citeward.done("prompts", "rollback")
    assert shares(citeward) == {SHIPPED: 100, SECOND: 0}
    rows = citeward.done("prompts", "history")["rows"]
    assert [(row["action"], row["share"]) for row in rows] == [
        ("canary", 10), ("activate", 100), ("rollback", 100),
    ]  # fmt: skip
    assert rows[0]["grounds"]["gate"]["set"] == "small v1"
    told = citeward("prompts", "history").out
    assert "gate small v1" in told
    assert citeward("prompts", "rollback").code == 1
    assert citeward.done("prompts", "compare")["rows"] == []


def test_without_grounds_nothing_is_put_in_force_and_the_reason_is_said(
    citeward: CommandLine, tmp_path: Path
) -> None:
    failed = gate_file(tmp_path, citeward.settings, faults=["leak: x"])
    calls = {
        ("activate", SECOND): (2, "Nothing says that"),
        ("activate", SECOND, "--gate", failed): (1, "It did not pass: leak: x"),
        ("activate", SECOND, "--gate", str(tmp_path / "none")): (2, "cannot be used"),
        ("activate", SECOND, "--override", " "): (2, "blank"),
        ("activate", "answer.v9+default.v1", *OVERRIDE): (1, "no released file"),
        ("activate", "answer", *OVERRIDE): (2, "names no release"),
        ("activate", SHIPPED, *OVERRIDE): (1, "in force already"),
        ("canary", SECOND, "--share", "100", *OVERRIDE): (2, "--share"),
        ("activate", SECOND, *OVERRIDE, "--tenant", "nobody"): (1, "no admin in tenant"),
        ("rollback",): (1, "nothing to go back to"),
    }
    for arguments, (code, said) in calls.items():
        ended = citeward("prompts", *arguments)
        assert (ended.code, said in " ".join(ended.err.split())) == (code, True), ended.err
    assert citeward.done("prompts", "history")["rows"] == []


def test_an_override_is_kept_with_its_reason(citeward: CommandLine) -> None:
    assert "is in force for everybody" in citeward("prompts", "activate", SECOND, *OVERRIDE).out
    (row,) = citeward.done("prompts", "history")["rows"]
    assert row["grounds"] == {"gate": None, "override": "tried by hand"}
    assert "override: tried by hand" in citeward("prompts", "history").out


def test_a_gate_run_of_another_model_is_refused(citeward: CommandLine, tmp_path: Path) -> None:
    gate = gate_file(tmp_path, citeward.settings)
    (Path(citeward.settings.llm) / "config.json").write_text('{"changed": true}')
    ended = citeward("prompts", "activate", SECOND, "--gate", gate)
    assert (ended.code, "and the service asks vllm:" in " ".join(ended.err.split())) == (1, True)


def test_a_gate_run_in_which_answers_were_quoted_is_no_ground(citeward: CommandLine, tmp_path: Path) -> None:
    quoting = CommandLine(replace(citeward.settings, llm=""))
    case_set, run, gate = str(written(tmp_path)), tmp_path / "run", str(tmp_path / "gate.json")
    assert quoting("eval", "run", case_set, "--out", str(run)).code == 0
    ask = ("eval", "gate", case_set, "--baseline", str(run / "scores.jsonl"), "--out", gate)
    gated = quoting(*ask)
    result = read_gate_result(Path(gate))
    assert (result.questions, result.written, result.faults) == (5, 5, tuple(gated.out.splitlines()[:-1]))
    assert (result.versions["release"], gated.code) == ("none", 1 if result.faults else 0)
    ended = citeward("prompts", "activate", SECOND, "--gate", gate)
    assert (ended.code, "The gate run is of none" in " ".join(ended.err.split())) == (1, True)
    for more, said in (
        ((), "no language model to ask with"),
        (("--url", "http://127.0.0.1:1", "--key-file", gate), "--release is not for a running service"),
    ):
        ended = quoting(*ask, "--release", SECOND, *more)
        assert (ended.code, said in " ".join(ended.err.split())) == (2, True), ended.err


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_set_is_asked_with_the_release_that_is_named(database: Database, tmp_path: Path) -> None:
    parts = replace(make_parts(database, tmp_path), prompting=make_prompting())
    changed = with_release(SECOND)(parts)
    assert changed.versions()["release"] == VERSIONS[SECOND]
    with pytest.raises(NotFound, match=rf"no release answer\.v9.*{re.escape(SHIPPED)}"):
        with_release("answer.v9+default.v1")(parts)


def test_the_words_of_a_release_are_shown(citeward: CommandLine) -> None:
    assert "choose neither" in citeward("prompts", "show", SECOND).out
    assert "choose neither" not in citeward("prompts", "show").out
    shown = citeward.done("prompts", "show", SECOND)
    assert shown["version"] == VERSIONS[SECOND]
    assert shown["templates"].keys() == {"en", "zh"}
    assert shown["sampling"]["seed"] == 0


def test_without_a_language_model_it_is_said_that_no_prompt_is_used(
    citeward: CommandLine, tmp_path: Path
) -> None:
    gate = gate_file(tmp_path, citeward.settings)
    quoting = CommandLine(replace(citeward.settings, llm=""))
    for arguments in (("list",), ("activate", SECOND, "--gate", gate), ("rollback",)):
        ended = quoting("prompts", *arguments)
        assert (ended.code, "answers are quoted" in " ".join(ended.err.split())) == (0, True), ended.err
