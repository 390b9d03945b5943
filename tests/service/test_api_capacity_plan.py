"""The planner over HTTP: the same figures as the command's, for admins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from service.api.capacity import EXAMPLE
from service.cli import app
from tests.world import World

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
ASKED = {"config": EXAMPLE, "gpu": "h100-80gb", "tp": 2, "kv_dtype": "fp8", "concurrency": 16}


def asked(world: World, **changed: Any) -> Any:
    return world.root.send("POST", "/v1/capacity/plan", json={**ASKED, **changed})


def test_it_gives_what_the_command_gives(world: World, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(EXAMPLE), "utf-8")
    words = (
        "--model",
        str(tmp_path),
        "--gpu",
        "h100-80gb",
        "--tp",
        "2",
        "--kv-dtype",
        "fp8",
        "--concurrency",
        "16",
        "--json",
    )
    printed = json.loads(CliRunner().invoke(app, ["capacity", "plan", *words]).stdout)
    answered = asked(world)
    assert answered.status_code == 200
    found = answered.json()
    assert found["plan"].pop("model") == "model"
    printed["plan"].pop("model")
    assert found == printed
    assert found["plan"]["fits"]
    assert len(found["curve"]) > 3


def test_what_does_not_fit_is_an_answer(world: World) -> None:
    found = asked(world, concurrency=100_000).json()
    assert not found["plan"]["fits"]
    assert {one["name"] for one in found["levers"]} >= {"concurrency"}


def test_lengths_may_be_a_mixture(world: World) -> None:
    assert asked(world, input="p50=800,p95=6000,p100=9000").json()["plan"]["mixed"]["at_once"] > 0


WRONG: dict[str, dict[str, Any]] = {
    "no such GPU": {"gpu": "h999"},
    "no model": {"config": {}},
    "a model that nobody knows": {"config": EXAMPLE | {"model_type": "unheard"}},
    "no layers": {"config": EXAMPLE | {"num_hidden_layers": -1}},
    "layers in words": {"config": EXAMPLE | {"num_hidden_layers": "many"}},
    "heads that cannot be shared": {"tp": 3},
    "lengths in words": {"input": "long"},
    "no version": {"vllm_version": "next"},
    "no concurrency": {"concurrency": 0},
    "all of the memory and more": {"gpu_memory_utilization": 1.5},
    "weights of less than nothing": {"weights_gib": -3.0},
    "a field of no meaning": {"gpus": 2},
}


@pytest.mark.parametrize("changed", WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_planned_is_told_and_why(world: World, changed: dict[str, Any]) -> None:
    answered = asked(world, **changed)
    assert answered.status_code == 422
    assert answered.json()["detail"]


def test_for_a_reader_it_does_not_exist(world: World) -> None:
    missing = world.bob.send("POST", "/v1/no-such-thing", json=ASKED)
    answered = world.bob.send("POST", "/v1/capacity/plan", json=ASKED)
    assert (answered.status_code, answered.json()["detail"]) == (404, missing.json()["detail"])
