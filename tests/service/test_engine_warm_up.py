"""An engine that somebody else started is asked first by the service, not by a reader."""

from __future__ import annotations

import json
import logging

import pytest

from service.engine.probe import warm_up
from tests.scripted_engine import MODEL, Reply, ScriptedEngine, scripted_engine, spoken

WINDOW = 4096


def served(engine: ScriptedEngine, model: str = MODEL) -> ScriptedEngine:
    engine.pages["/v1/models"] = json.dumps({"data": [{"id": model, "max_model_len": WINDOW}]}).encode()
    return engine


def events(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [json.loads(one.message)["event"] for one in caplog.records if one.name == "citeward.engine"]


def test_one_token_is_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "citeward.engine")
    with scripted_engine(Reply(spoken("Hi"))) as engine:
        warm_up(served(engine).url, MODEL, WINDOW)
    assert [one["max_tokens"] for one in engine.asked] == [1]
    assert events(caplog) == ["engine_warm"]


@pytest.mark.parametrize("model", ["another", MODEL])
def test_what_could_not_be_asked_anyway_is_not(model: str) -> None:
    with scripted_engine(Reply(spoken("Hi"))) as engine:
        warm_up(served(engine, model).url, MODEL, WINDOW + (model == MODEL))
    assert engine.asked == []


def test_a_first_answer_that_fails_keeps_nothing_from_starting(caplog: pytest.LogCaptureFixture) -> None:
    with scripted_engine(Reply([], status=500)) as engine:
        warm_up(served(engine).url, MODEL, WINDOW)
    assert events(caplog) == ["engine_not_warm"]


def test_without_an_engine_nothing_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    warm_up("http://127.0.0.1:9", MODEL, WINDOW)
    assert events(caplog) == []
