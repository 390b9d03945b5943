"""What the commands of `citeward eval` say of a run, and what they find out before it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from service.cli.exits import MAY_NOT_SHIP, WRONG_USE
from service.cli.writable import writable
from service.evaluation.scoring.sheet import Sheet, write_sheet
from service.evaluation.sets.released import read_case_set
from tests.fakes import HashEmbedder
from tests.service.test_cli_commands import CommandLine, Ended, command_line
from tests.service.test_eval_live import QUESTIONS, written

ALL = len(QUESTIONS)
CLAIM = {"id": "a", "claim": "It is red.", "evidence": "It is red.", "label": "supported", "lang": "en"}


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A set of ours."""
    return written(tmp_path / "sets")


@pytest.fixture
def citeward(tmp_path: Path) -> CommandLine:
    return command_line(tmp_path / "home")


@dataclass(frozen=True, slots=True)
class Asked:
    """A set that was asked once."""

    citeward: CommandLine
    small: str
    scores: Path
    ended: Ended


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    folder = tmp_path_factory.mktemp("asked")
    citeward, small = command_line(folder / "home"), str(written(folder / "sets"))
    ended = citeward("eval", "run", small, "--out", str(folder / "out"))
    return Asked(citeward, small, folder / "out" / "scores.jsonl", ended)


def no_scores(small: Path, path: Path) -> str:
    """A baseline that says nothing."""
    one = read_case_set(small)
    write_sheet(Sheet(one.label, one.sha256, "quoting", {}, {}), path)
    return str(path)


def of_others(folder: Path) -> Path:
    """A set that can be asked, be refused on, and have claims judged."""
    folder.mkdir()
    queries = [{"_id": str(number), "text": "Red?", "answerable": number == 0} for number in range(2)]
    for name, rows in (("corpus", [{"_id": "d", "text": "Red."}]), ("queries", queries), ("claims", [CLAIM])):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    (folder / "qrels.tsv").write_text("0\td\t1\n", "utf-8")
    return folder


# --- what was asked ----------------------------------------------------------------------------


def test_a_second_run_says_that_it_asked_nothing_anew(asked: Asked) -> None:
    assert asked.ended.code == 0, asked.ended.err
    assert f"Questions asked: {ALL}; kept from an earlier run: 0." in asked.ended.err
    again = asked.citeward("eval", "run", asked.small, "--json")
    assert f"Questions asked: 0; kept from an earlier run: {ALL}." in again.err
    assert (again.json["asked"], again.json["kept"]) == (0, ALL)


def test_a_sweep_tells_it_of_all_its_runs(asked: Asked) -> None:
    sweep = ("eval", "sweep", asked.small, "--every", "1", "--evidence-tokens")
    assert f"Questions asked: {ALL}; kept from an earlier run: 0." in asked.citeward(*sweep, "50").err
    told = asked.citeward.done(*sweep, "50,500")
    assert (told["asked"], told["kept"]) == (ALL, ALL)


# --- the gate ----------------------------------------------------------------------------------


def test_what_may_not_ship_ends_as_no_failure_does(asked: Asked, tmp_path: Path) -> None:
    gate = ("eval", "gate", asked.small, "--baseline")
    ships = asked.citeward(*gate, str(asked.scores), "--json")
    assert (ships.code, ships.json) == (0, {"faults": [], "asked": 0, "kept": ALL})
    nothing = no_scores(Path(asked.small), tmp_path / "scores.jsonl")
    ended = asked.citeward(*gate, nothing)
    assert (ended.code, "it may not ship" in ended.out) == (MAY_NOT_SHIP, True)
    for wrong in (("--out", str(tmp_path)), ("--url", "http://127.0.0.1:1"), ("--release", "none")):
        assert asked.citeward(*gate, nothing, *wrong).code == WRONG_USE


# --- what is known before ----------------------------------------------------------------------


class Untouched(HashEmbedder):
    def _embed(self, text: str) -> None:  # type: ignore[override]
        raise AssertionError(f"{text!r} is embedded")


PLACES = [
    ("run", "--out"),
    ("gate", "--out"),
    ("sweep", "--out"),
    ("refusal", "--out"),
    ("refusal", "--fit"),
    ("judge", "--out"),
    ("judge", "--fit"),
]


@pytest.mark.parametrize(("command", "option"), PLACES)
def test_a_place_that_cannot_be_written_is_told_before_anything_is_asked(
    citeward: CommandLine, small: Path, tmp_path: Path, command: str, option: str
) -> None:
    folder = small if command in ("run", "gate", "sweep") else of_others(tmp_path / "others")
    more = ("--baseline", no_scores(small, tmp_path / "scores.jsonl")) if command == "gate" else ()
    (tmp_path / "letter.txt").write_text("Dear Ana")
    below_a_file = tmp_path / "letter.txt" / "found"
    ended = citeward("eval", command, str(folder), *more, option, str(below_a_file), embedder=Untouched())
    assert ended.code == WRONG_USE
    told = " ".join(ended.err.split())
    assert str(below_a_file) in told
    assert "cannot be written." in told
    assert "Not a directory" in told or "is no folder" in told
    assert (tmp_path / "letter.txt").read_text() == "Dear Ana"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "No such file or directory."),
        ("Dear Ana", "It must hold one key (cw_…)"),
        ("[" * 100_000, "It must hold one key (cw_…)"),
    ],
    ids=["missing", "a letter", "a nest"],
)
@pytest.mark.parametrize("command", ["run", "gate"])
def test_a_key_file_that_is_none_is_told_with_what_to_give(
    citeward: CommandLine, small: Path, tmp_path: Path, command: str, content: str | None, why: str
) -> None:
    keys = tmp_path / "keys.json"
    if content is not None:
        keys.write_text(content)
    ended = citeward(
        *("eval", command, str(small), "--baseline", no_scores(small, tmp_path / "scores.jsonl")),
        *("--url", "http://127.0.0.1:1", "--key-file", str(keys)),
        embedder=Untouched(),
    )
    assert ended.code == WRONG_USE
    told = " ".join(ended.err.split())
    assert f"The keys in {keys} cannot be" in told
    assert why in told
    assert "Give a file with the key of an evaluator or an admin" in told


def test_looking_whether_a_place_can_be_written_changes_nothing(tmp_path: Path) -> None:
    letter, fresh, pipe = tmp_path / "letter", tmp_path / "a" / "b" / "fresh", tmp_path / "pipe"
    letter.write_text("Dear Ana")
    os.mkfifo(pipe)  # nobody reads it: to open it would be to wait for ever
    assert [writable(one) for one in (letter, fresh, pipe)] == [letter, fresh, pipe]
    assert (letter.read_text(), fresh.exists(), fresh.parent.is_dir()) == ("Dear Ana", False, True)
