"""The token budget over HTTP: every part, what is left for evidence, and the same errors as within."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ingest.corpus.database import Database
from service.fit import SAMPLE_BOUNDARY, budget_of
from service.types import Question
from tests.fakes import make_prompting
from tests.world import World, running_world

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
WORKED = {
    "context_window": 32768,
    "reserved_output": 2048,
    "system": 800,
    "current_input": 500,
    "history": 6000,
    "tool_schema": 1200,
    "safety_margin": 256,
}


def ask(world: World, **body: Any) -> httpx2.Response:
    return world.bob.send("POST", "/v1/tokens/budget", json=body)


@pytest.fixture
def with_model(database: Database, tmp_path: Path) -> Iterator[World]:
    prompting = make_prompting(max_new_tokens=700)
    with running_world(database, tmp_path, lambda parts: replace(parts, prompting=prompting)) as world:
        yield world


def test_the_worked_value(world: World) -> None:
    shown = ask(world, **WORKED).json()
    assert shown["evidence"] == 21_964
    assert shown["used"] == 32768 - 21_964
    assert {name: shown[name] for name in WORKED} == WORKED
    assert (shown["tool_results"], shown["template_overhead"]) == (0, 0)


def test_exactly_nothing_left_is_legal_and_one_more_is_not(world: World) -> None:
    assert ask(world, **(WORKED | {"history": 6000 + 21_964})).json()["evidence"] == 0
    response = ask(world, **(WORKED | {"history": 6000 + 21_965}))
    assert (response.status_code, response.json()["code"]) == (413, "over_budget")
    assert "exceeds the context by 1 tokens" in response.json()["detail"]


@pytest.mark.parametrize("name", [*WORKED, "tool_results", "template_overhead"])
@pytest.mark.parametrize("value", [-1, 1.5, "5", True], ids=repr)
def test_what_is_no_count_is_an_error_that_names_it(world: World, name: str, value: object) -> None:
    response = ask(world, **{name: value})
    assert response.status_code == 422
    assert response.json()["field"] == name


def test_what_is_absent_is_as_the_service_has_it(with_model: World) -> None:
    shown, settings = ask(with_model).json(), with_model.parts.settings
    assert shown["reserved_output"] == 700
    assert (shown["context_window"], shown["safety_margin"]) == (
        settings.context_window,
        settings.safety_margin,
    )


def test_a_question_is_counted_as_it_will_be_when_it_is_asked(with_model: World) -> None:
    text, parts = "年假有几天？", with_model.parts
    shown = ask(with_model, question=text, history=50).json()
    assert parts.prompting is not None
    counted = budget_of(Question(text, "zh"), SAMPLE_BOUNDARY, parts.prompting, parts.settings)
    assert shown["evidence"] == counted.evidence - 50
    assert shown["system"] == counted.system > 0
    assert shown["template_overhead"] == counted.template_overhead > 0


def test_without_a_model_there_is_no_prompt_around_the_question(world: World) -> None:
    shown = ask(world, question="How many days?").json()
    assert (shown["system"], shown["current_input"], shown["template_overhead"]) == (0, 4, 0)


def test_a_part_of_a_question_is_not_given_twice(world: World) -> None:
    response = ask(world, question="How many days?", system=3)
    assert (response.status_code, response.json()["field"]) == (422, "system")


@pytest.mark.parametrize("body", [{"question": " "}, {"unknown": 1}], ids=repr)
def test_what_cannot_be_asked_cannot_be_counted(world: World, body: dict[str, Any]) -> None:
    assert ask(world, **body).status_code == 422


def test_it_wants_a_key(world: World) -> None:
    assert world.client.post("/v1/tokens/budget", json={}).status_code == 401
