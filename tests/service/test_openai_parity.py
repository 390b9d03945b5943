"""The same question by every way gets the same evidence, statements, citations and outcome."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.corpus.database import Database
from tests.scripted_engine import ROLE, Do, Reply, spoken, token
from tests.service.openai_asking import WAYS, Told
from tests.service.test_api_engine import BROKEN, QUESTION, SAID, SPOKEN, STATUSES, WORD, asking
from tests.world import Caller, World, canary

OF_ITS_OWN = {"answer_id", "trace_id", "conversation_id", "timings_ms"}  # of each answer
RECORDED = (
    *("collections", "used", "retrieved", "ranked", "denied", "left_out", "statements", "refusal_code"),
    *("versions", "sampling", "finish_reason", "answerable", "words_weight"),
)


def by_every_way(caller: Caller, question: str, collection: str | None = None) -> dict[str, Told]:
    return {name: way(caller, question, collection) for name, way in WAYS.items()}


def same_answer(told: dict[str, Told]) -> dict[str, Any]:
    answers = {name: one.answer for name, one in told.items()}
    first = answers["ask"]
    assert first is not None
    for name, answer in answers.items():
        assert answer is not None, name
        assert answer.keys() == first.keys(), name
        for field in first.keys() - OF_ITS_OWN:
            assert answer[field] == first[field], (name, field)
        assert told[name].text == told["ask"].text, name
    return first


def require_same_records(world: World, told: dict[str, Told]) -> dict[str, Any]:
    """As the evidence of an answer stands in no answer: what was found, used, left out, checked."""
    records = {}
    for name, one in told.items():
        assert one.answer is not None
        shown = world.root.get(f"/v1/answers/{one.answer['answer_id']}").json()
        records[name] = {field: shown["record"][field] for field in RECORDED}
    for name, record in records.items():
        assert record == records["ask"], name
    return records["ask"]


def test_an_answer(lasting_world: World) -> None:
    for number in range(3):
        lasting_world.put(
            lasting_world.root, "handbook", f"{number}.txt", f"Parking lot {number} has {number + 4} places."
        )
    told = by_every_way(lasting_world.bob, "How many places has parking lot 2?")
    answer = same_answer(told)
    record = require_same_records(lasting_world, told)
    assert answer["outcome"] == "answered"
    assert len(record["used"]) > 1
    for name, one in told.items():
        assert one.passed == (len(answer["statements"]) if "streamed" in name else 0), name


def test_an_answer_of_one_collection(lasting_world: World) -> None:
    told = by_every_way(lasting_world.ana, "What is the secret word of the hr rules?", "hr")
    assert canary("acme", "hr") in same_answer(told)["answer"]
    assert require_same_records(lasting_world, told)["collections"] == ["hr"]


def test_a_refusal(lasting_world: World) -> None:
    told = by_every_way(lasting_world.bob, "Which vaccinations are recommended?")
    answer = same_answer(told)
    assert (answer["outcome"], told["chat"].text) == ("refused", answer["refusal"]["text"])
    assert require_same_records(lasting_world, told)["refusal_code"] == answer["refusal"]["code"]


@pytest.mark.parametrize("collection", ["hr", "nothing"])
def test_what_is_forbidden_is_missing_before_anything_is_streamed(
    lasting_world: World, collection: str
) -> None:
    before = lasting_world.bob.get("/v1/answers").json()
    told = by_every_way(lasting_world.bob, f"What is {canary('acme', 'hr')}?", collection)
    assert {(one.status, one.error) for one in told.values()} == {(404, "not_found")}
    assert lasting_world.bob.get("/v1/answers").json() == before


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_an_answer_of_a_language_model(database: Database, tmp_path: Path) -> None:
    """With a statement that does not pass: it leaves by no way."""
    said = [{"text": SAID, "citations": ["C1"]}, {"text": "It was chosen in 1907.", "citations": ["C1"]}]
    reply = Reply(spoken(json.dumps({"answerable": True, "statements": said})))
    with asking(database, tmp_path, reply) as here:
        told = by_every_way(here.world.bob, QUESTION)
        prompts = {json.dumps(sent["messages"][0]) for sent in here.engine.asked}
        record = require_same_records(here.world, told)
    assert same_answer(told)["answer"] == f"{SAID[:-1]} [C1]."
    assert [one["verdict"]["status"] for one in record["statements"]] == ["supported", "not_supported"]
    assert not any("1907" in one.whole for one in told.values())
    assert len(prompts) == 1


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_an_engine_that_fails(database: Database, tmp_path: Path) -> None:
    code = "model_unavailable"
    with asking(database, tmp_path, Reply(BROKEN[code]), on_engine_failure="error") as here:
        told = by_every_way(here.world.bob, QUESTION)
        kept = here.world.bob.get("/v1/answers").json()
    for name, one in told.items():
        assert (one.status, one.error) == (200 if "streamed" in name else STATUSES[code], code), name
        assert (one.answer, one.passed) == (None, 0), name
    assert [one["finish_reason"] for one in kept] == ["error"] * len(WAYS)


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_an_engine_that_fails_after_a_statement(database: Database, tmp_path: Path) -> None:
    with asking(database, tmp_path, Reply([ROLE, token(SPOKEN[:-2]), Do.BREAK])) as here:
        told = {name: way(here.world.bob, QUESTION, None) for name, way in WAYS.items() if "streamed" in name}
    for name, one in told.items():
        assert (one.error, one.passed, one.answer) == ("model_unavailable", 1, None), name
        assert WORD in one.whole


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_quoting_that_stands_in(database: Database, tmp_path: Path) -> None:
    with asking(database, tmp_path, Reply(BROKEN["model_bad_output"])) as here:
        answer = same_answer(by_every_way(here.world.bob, QUESTION))
    assert (answer["generator"], answer["degraded"]) == ("quoting", ["quoting"])
