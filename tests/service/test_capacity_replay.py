"""Engines' logs replayed: what they printed follows from their memory, or it is said why not."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from typer.testing import CliRunner

from ingest.corpus.errors import InvalidInput, NotFound
from service.capacity.assumed import assumptions, tokens_in_flight
from service.capacity.log_row import GIB, LogRow, read_log
from service.capacity.printed import blocks_behind, row_layout, tokens_of, way_of_reporting, written_to
from service.capacity.replay import Replayed, replay, replay_row
from service.capacity.versions import batches_in_flight, default_batch, reporting_of, version_of
from service.cli import app

DATA = os.environ.get("CITEWARD_EVAL_DATA")
PRESENT = pytest.mark.skipif(not DATA, reason="CITEWARD_EVAL_DATA names no folder of evaluation data")

FULL = {"kind": "full", "n": 32, "tok": 4096}  # 2 MiB a block of 16 tokens
WINDOWS = [{"kind": "full", "n": 10, "tok": 8192}, {"kind": "swa", "n": 52, "window": 1024, "tok": 8192}]
STATES = [{"kind": "full", "n": 16, "tok": 4096}, {"kind": "state", "n": 48, "state": 3207168}]
# 10 GiB / 2 MiB = 5,120 blocks, 81,920 tokens
ROW: dict[str, Any] = {
    "id": "r", "tp": 1, "available_kv_gib": 10.0, "kv_tokens": 81920, "block_size": 16, "layers": [FULL],
    "reporting": "blocks*block_size", "inferred": [],
}  # fmt: skip


def row(**changes: object) -> LogRow:
    """As it is read from a file."""
    return next(iter(rows_of({**ROW, **changes})))


def rows_of(*found: object) -> list[LogRow]:
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"replay-{os.getpid()}.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in found))
    try:
        return list(read_log(path))
    finally:
        path.unlink()


def replayed(**changes: object) -> Replayed:
    return replay_row(row(**changes))


CPU = {
    "gpu": "CPU backend",
    "vllm_version": "0.32.0",
    "block_size": 128,
    "reporting": "concurrency*max_model_len",
}
ON_CPU = {**CPU, "layers": WINDOWS, "available_kv_gib": 4.0, "max_model_len": 16384}
OF_STATES = {"layers": STATES, "available_kv_gib": 31.24, "block_size": 784, "max_model_len": 8192}
BY_CONCURRENCY = {**OF_STATES, "reporting": "concurrency*max_model_len"}
# case → (changes, status, predicted tokens)
CASES: dict[str, tuple[dict[str, object], str, int | None]] = {
    "the printed memory gives the printed tokens": ({}, "equal", 81920),
    "three blocks fewer lie within two decimals": ({"kv_tokens": 81872}, "within_rounding", 81920),
    "four blocks fewer do not": ({"kv_tokens": 81856}, "off", 81920),
    "bytes are not rounded": ({"available_kv_bytes": 10 * GIB, "kv_tokens": 81904}, "off", 81920),
    "one rank's memory of four": ({"tp": 4, "kv_tokens": 80000 - 16}, "explained", None),
    "ranks do not differ by a half": ({"tp": 4, "kv_tokens": 40000 - 16}, "off", 81920),
    "more than the memory holds": ({"tp": 4, "kv_tokens": 90000 - 16}, "off", 81920),
    "a draft with caches of its own": ({"num_spec_tokens": 3, "kv_tokens": 61440 - 16}, "explained", None),
    "a round figure": ({"kv_tokens": 82000}, "explained", 81920),
    "a round figure too far away": ({"kv_tokens": 96000}, "off", 81920),
    "tokens that are no whole blocks": ({"kv_tokens": 81001}, "explained", None),
    "no memory": ({"available_kv_gib": None, "num_blocks": 5120}, "refused", None),
    "no layers": ({"layers": []}, "refused", None),
    "layers of an unknown kind": ({"layers": [{"kind": "spiral", "n": 1, "tok": 1}]}, "refused", None),
    "neither way of counting nor version": ({"reporting": None}, "refused", None),
    "the version says how it counted": ({"reporting": None, "vllm_version": "0.8.5"}, "equal", 81920),
    "no longest length, which this way needs": ({"reporting": "concurrency*max_model_len"}, "refused", None),
    # 5120 blocks of 63 each for 1,000 tokens
    "a length that is no multiple of a block": (
        {"reporting": "concurrency*max_model_len", "max_model_len": 1000, "kv_tokens": int(5120 / 63 * 1000)},
        "equal", 81269,
    ),
    # 4 GiB / 10 MiB = 409 blocks, 278 each
    "windows on a CPU": (
        {**ON_CPU, "kv_tokens": 24104},
        "equal", 24104,
    ),
    "windows before they had groups": (
        {"layers": WINDOWS, "available_kv_bytes": 62 * 8192 * 160, "kv_tokens": 160},
        "equal", 160,
    ),
    # 409 blocks, 128 + 6 × 73 each with 8,192 tokens in flight
    "windows with another number of tokens in flight": (
        {**ON_CPU, "kv_tokens": int(409 / 566 * 16384)},
        "explained", 11839,
    ),
    "windows with the number that is stated": (
        {**ON_CPU, "max_num_batched_tokens": 8192, "kv_tokens": int(409 / 566 * 16384)},
        "equal", 11839,
    ),
    "windows and no usual number of tokens in flight": (
        {**ON_CPU, "gpu": None, "kv_tokens": 20000 - 16},
        "refused", None,
    ),
    # 31.24 GiB / 51,380,224 = 652 blocks, 17 each
    "states": (
        {**BY_CONCURRENCY, "kv_tokens": 314187}, "equal", 314187
    ),
    "states in the older count": (
        {**OF_STATES, "kv_tokens": 652 // 4 * 784, "reporting": "blocks//groups*block_size"}, "equal", 127792
    ),
    # 14 each without the second block of a state
    "states without prefix caching": (
        {**BY_CONCURRENCY, "kv_tokens": int(652 / 14 * 8192)}, "explained", 381513
    ),
    "tokens that no number of blocks gives": (
        {**BY_CONCURRENCY, "kv_tokens": 100001}, "explained", None
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_row_comes_to_its_status(case: str) -> None:
    changes, status, predicted = CASES[case]
    found = replayed(**changes)
    assert (found.status, found.predicted_tokens) == (status, predicted), found.reason
    assert found.reason


# An engine that refused to start: (changes, status, words of the reason)
REFUSED: dict[str, tuple[dict[str, object], str, str]] = {
    "the need is as printed": (
        {"max_model_len": 16384, "needed_gib": 2.0, "available_kv_gib": 1.0, "estimated_max_model_len": 8176},
        "explained", "2.000 GiB",
    ),
    "the estimate is not": (
        {"max_model_len": 16384, "needed_gib": 2.0, "available_kv_gib": 1.0, "estimated_max_model_len": 9000},
        "off", "does not follow",
    ),
    "the need is not": ({"max_model_len": 16384, "needed_gib": 2.1}, "off", "does not follow"),
    "tokens in flight explain it": (
        {**ON_CPU, "needed_gib": 5.53}, "explained", "8,192 tokens in flight"
    ),
    "nothing of the need was printed": ({"max_model_len": 16384}, "refused", "5,120 blocks"),
    "no longest length": ({"needed_gib": 2.0}, "refused", "max_model_len"),
    "no layers": ({"layers": [], "needed_gib": 2.0}, "refused", "layers"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_start_that_was_refused(case: str) -> None:
    changes, status, words = REFUSED[case]
    found = replayed(kv_tokens=None, **changes)
    assert (found.status, found.predicted_tokens) == (status, None)
    assert words in found.reason


def test_conclusions_of_a_row_are_not_read() -> None:
    assert replayed(check={"tokens": 1, "blocks": 1}, plain_formula_tokens=1) == replayed()


@pytest.mark.parametrize(
    ("said", "version", "way"),
    [
        ("0.6.x (V0)", (0, 6, 0), "blocks*block_size"),
        ("0.6.4.post1", (0, 6, 4), "blocks*block_size"),
        ("0.17.1", (0, 17, 1), "blocks//groups*block_size"),
        ("0.20.0", (0, 20, 0), "blocks//groups*block_size"),
        ("0.20.2rc1", (0, 20, 2), "concurrency*max_model_len"),
        ("v0.32.0", (0, 32, 0), "concurrency*max_model_len"),
    ],
)
def test_versions_count_in_their_own_way(said: str, version: tuple[int, int, int], way: str) -> None:
    assert version_of(said) == version
    assert reporting_of(version) == way
    assert way_of_reporting(row(reporting=None, vllm_version=said)) == way


def test_what_is_in_flight_depends_on_version_and_machine() -> None:
    assert version_of("nightly") is None
    assert [batches_in_flight(one, asynchronous=True) for one in ((0, 25, 1), (0, 26, 0))] == [1, 2]
    assert batches_in_flight((0, 32, 0), asynchronous=False) == 1
    assert batches_in_flight((0, 32, 0), asynchronous=True, pipeline_parallel=4) == 5
    machines = [(None, ""), (24, "RTX 4090"), (80, "H100 80G"), (80, "A100 80G"), (180, "B200")]
    assert [default_batch(gib, name) for gib, name in machines] == [2048, 2048, 8192, 2048, 16384]
    assert tokens_in_flight(row(gpu="2x H100 80G", vllm_version="0.32.0")) == 16384
    assert tokens_in_flight(row(gpu="2x H100 80G", vllm_version="0.25.0")) == 8192
    assert tokens_in_flight(row(gpu="H20", vllm_version="0.32.0")) is None
    assert tokens_in_flight(row(gpu="A100 40G")) is None


@pytest.mark.parametrize(("tokens", "unit"), [(55000, 1000), (500000, 100000), (81920, 0), (100, 0), (0, 0)])
def test_the_unit_of_a_round_figure(tokens: int, unit: int) -> None:
    assert written_to(tokens) == unit


@pytest.mark.parametrize(
    "wrong",
    [
        {"kv_tokens": "many"},
        {"kv_tokens": -1},
        {"available_kv_gib": "4"},
        {"layers": 3},
        {"tp": True},
        {"layers": [7]},
    ],
)
def test_a_row_that_cannot_be_read_is_refused_and_the_others_are_not(wrong: dict[str, object]) -> None:
    first, second = replay(rows_of({**ROW, **wrong}, ROW))
    assert (first.status, second.status) == ("refused", "equal")


def test_a_file_that_is_no_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        list(read_log(tmp_path / "none.jsonl"))
    (tmp_path / "log.jsonl").write_text("{}\n{\n")
    with pytest.raises(InvalidInput, match=r"log\.jsonl:2"):
        list(read_log(tmp_path / "log.jsonl"))


@given(some.integers(1, 10**6), some.integers(1, 20000), some.sampled_from([1, 3]))
@settings(deadline=None)  # machines are shared
def test_the_blocks_behind_printed_tokens_are_found(blocks: int, longest: int, kinds: int) -> None:
    layers = [[FULL], WINDOWS, STATES][kinds - 1]
    found = row(layers=layers, max_model_len=longest, reporting="concurrency*max_model_len", block_size=None)
    engine = next(iter(assumptions(found))).engine
    tokens = tokens_of(found, engine)(row_layout(found, engine), blocks)
    behind = blocks_behind(replace(found, kv_tokens=tokens), engine)
    assert behind is not None
    assert behind <= blocks


def test_the_command_prints_the_agreed_shape(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(ROW) + "\n" + json.dumps({**ROW, "layers": []}) + "\n")
    ended = CliRunner().invoke(app, ["capacity", "replay", str(path), "--json"])
    found = json.loads(ended.stdout)
    assert ended.exit_code == 0
    assert found["summary"] == {"equal": 1, "refused": 1}
    agreed = {
        "id": "r",
        "status": "equal",
        "predicted_tokens": 81920,
        "reported_tokens": 81920,
        "deviation": 0.0,
    }
    assert {name: found["rows"][0][name] for name in agreed} == agreed
    path.write_text(json.dumps({**ROW, "kv_tokens": 81856}) + "\n")
    assert CliRunner().invoke(app, ["capacity", "replay", str(path)]).exit_code == 1


@PRESENT
def test_every_strict_row_is_equal_within_rounding_and_none_is_optimistic() -> None:
    """Strict: a memory figure, tokens, layers, nothing inferred. Some deviate by their own account."""
    assert DATA is not None
    path = Path(DATA) / "kv" / "logs.jsonl"
    rows = {one.id: one for one in read_log(path)}
    found = {one.id: one for one in replay(rows.values())}
    strict = {
        name for name, one in rows.items()
        if one.memory is not None and one.kv_tokens and one.layers and not one.inferred
    }  # fmt: skip
    deviating = {name for name in strict if found[name].status not in ("equal", "within_rounding")}
    told = {
        json.loads(line)["id"]: json.loads(line)["check"]["verdict"] for line in path.read_text().splitlines()
    }
    assert {told[name] for name in deviating} <= {"deviates"}
    assert Counter(one.status for one in found.values())["off"] == 0
    for one in found.values():
        if (
            one.predicted_tokens is not None
            and one.reported_tokens is not None
            and one.token_range is not None
        ):
            assert one.predicted_tokens <= one.reported_tokens or one.reported_tokens >= one.token_range[0], (
                one
            )
