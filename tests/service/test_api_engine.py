"""Answers over HTTP where a language model is chosen: with it, without it, and where it fails on the way."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from ingest.corpus.database import Database
from service.bootstrap import open_generator
from service.breaker import FAILURES, CircuitBreaker
from service.engine.probe import COUNTED
from service.fallback import FallbackGenerator
from service.parts import Parts
from tests.fakes import make_prompting
from tests.scripted_engine import MODEL, ROLE, Do, Reply, ScriptedEngine, scripted_engine, spoken, token
from tests.world import World, canary, running, running_world

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
WORD = canary("acme", "handbook")
QUESTION = f"What is {WORD}?"
SAID = f"The secret word is {WORD}."
SPOKEN = json.dumps({"answerable": True, "statements": [{"text": SAID, "citations": ["C1"]}]})
BROKEN = {
    "model_unavailable": [ROLE, Do.BREAK],
    "model_bad_output": spoken("no JSON"),
    "model_timeout": [ROLE, Do.WAIT],
}
ENGINE = "vllm-0.32.0-0123abcd"
STATUSES = {"model_unavailable": 503, "model_bad_output": 502, "model_timeout": 504}


def patience(code: str) -> dict[str, float]:
    """Little only where it is to run out: a busy machine takes its time."""
    return {"engine_total_seconds": 1.0} if code == "model_timeout" else {}


@dataclass(frozen=True, slots=True)
class Asking:
    """The world's service with a scripted model."""

    world: World
    engine: ScriptedEngine

    @property
    def breaker(self) -> CircuitBreaker:
        fallback = self.world.parts.generator
        assert isinstance(fallback, FallbackGenerator)
        assert isinstance(fallback.first, CircuitBreaker)
        return fallback.first

    def stream(self) -> list[tuple[str, Any]]:
        headers = {"Accept": "text/event-stream"}
        text = self.world.bob.send("POST", "/v1/ask", json={"question": QUESTION}, headers=headers).text
        frames = [frame.split("\n") for frame in text.split("\n\n") if frame]
        return [(name.removeprefix("event: "), json.loads(data[6:])) for name, data in frames]


@contextmanager
def asking(database: Database, home: Path, *replies: Reply, **settings: Any) -> Iterator[Asking]:
    with scripted_engine(*replies) as engine:

        def change(parts: Parts) -> Parts:
            chosen = replace(parts.settings, **{"llm": MODEL, "engine_url": engine.url, **settings})
            generator = open_generator(chosen, parts.generator, "0123")
            return replace(parts, settings=chosen, generator=generator, prompting=make_prompting())

        with running_world(database, home, change) as world:
            yield Asking(world, engine)


def test_the_model_answers_and_the_answer_tells_of_it(database: Database, tmp_path: Path) -> None:
    with asking(database, tmp_path, Reply(spoken(SPOKEN, system_fingerprint=ENGINE))) as here:
        answer = here.world.bob.ask(QUESTION)
        (asked,) = here.engine.asked
        metrics = here.world.root.get("/metrics").text
    assert answer["answer"] == f"{SAID[:-1]} [C1]."
    assert (answer["generator"], answer["degraded"], answer["finish_reason"]) == ("vllm", [], "stop")
    assert answer["usage"]["input_tokens"] == 100
    assert (answer["versions"]["model"], answer["versions"]["engine"]) == (f"vllm:{MODEL}@0123", ENGINE)
    phases = {"ttft", "decode", "itl_p50", "itl_p95"}
    assert phases | {"tokens_per_second", "first_statement", "e2e"} <= answer["timings_ms"].keys()
    for phase in phases:
        assert f'citeward_engine_seconds_count{{phase="{phase}"}} 1.0' in metrics
        assert f'citeward_stage_seconds_count{{stage="{phase}"}}' not in metrics
    assert "citeward_engine_tokens_per_second_count 1.0" in metrics
    assert 'citeward_engine_faults_total{code="prompt_tokens_differ"} 1.0' in metrics
    assert WORD in asked["messages"][-1]["content"]
    assert len(asked["cache_salt"]) >= 16
    assert "acme" not in asked["cache_salt"]


def test_tenants_have_salts_of_their_own(database: Database, tmp_path: Path) -> None:
    with asking(database, tmp_path, Reply(spoken(SPOKEN))) as here:
        for caller in (here.world.bob, here.world.ana, here.world.eve):
            caller.ask(f"What is {canary('globex' if caller is here.world.eve else 'acme', 'handbook')}?")
        bob, ana, eve = (asked["cache_salt"] for asked in here.engine.asked)
    assert bob == ana != eve


@pytest.mark.parametrize("code", STATUSES)
def test_where_it_fails_quoting_answers(database: Database, tmp_path: Path, code: str) -> None:
    with asking(database, tmp_path, Reply(BROKEN[code]), **patience(code)) as here:
        answer = here.world.bob.ask(QUESTION)
        metrics = here.world.root.get("/metrics").text
    assert answer["outcome"] == "answered"
    assert (answer["generator"], answer["degraded"]) == ("quoting", ["quoting"])
    assert answer["versions"]["model"].startswith("quoting-")
    assert f'citeward_engine_faults_total{{code="{code}"}} 1.0' in metrics


@pytest.mark.parametrize("code", STATUSES)
def test_where_its_failure_is_to_be_an_error_it_is_one(database: Database, tmp_path: Path, code: str) -> None:
    settings = {"on_engine_failure": "error", **patience(code)}
    with asking(database, tmp_path, Reply(BROKEN[code]), **settings) as here:
        response = here.world.bob.send("POST", "/v1/ask", json={"question": QUESTION})
        streamed = here.stream()
        kept = here.world.bob.get("/v1/answers").json()
        metrics = here.world.root.get("/metrics").text
    assert (response.status_code, response.json()["code"]) == (STATUSES[code], code)
    assert response.json()["next_step"]
    assert [name for name, _ in streamed].count("statement") == 0
    assert (streamed[-1][0], streamed[-1][1]["code"]) == ("error", code)
    assert {one["finish_reason"] for one in kept} == {"error"}
    assert f'citeward_engine_faults_total{{code="{code}"}} 2.0' in metrics


@pytest.mark.parametrize("code", ["model_unavailable", "model_timeout"])
def test_a_dead_engine_is_left_alone_and_asked_again_when_it_has_cooled_down(
    database: Database, tmp_path: Path, code: str
) -> None:
    replies = [Reply(BROKEN[code])] * FAILURES + [Reply(spoken(SPOKEN))]
    with asking(database, tmp_path, *replies, **patience(code)) as here:
        quoted = [here.world.bob.ask(QUESTION) for _ in range(FAILURES + 1)]
        assert len(here.engine.asked) == FAILURES
        metrics = here.world.root.get("/metrics").text
        here.breaker.open_until = here.breaker.clock()
        answers = [here.world.bob.ask(QUESTION) for _ in range(2)]
        assert len(here.engine.asked) == FAILURES + 2
    assert {(one["outcome"], *one["degraded"]) for one in quoted} == {("answered", "quoting")}
    counted = FAILURES + (code == "model_unavailable")  # which is what the fourth was told, too
    assert f'citeward_engine_faults_total{{code="{code}"}} {counted}.0' in metrics
    assert [one["generator"] for one in answers] == ["vllm", "vllm"]


def test_where_its_failure_is_an_error_a_dead_engine_is_one_at_once(
    database: Database, tmp_path: Path
) -> None:
    dead = Reply(BROKEN["model_unavailable"])
    with asking(database, tmp_path, dead, on_engine_failure="error") as here:
        for _ in range(FAILURES + 1):
            response = here.world.bob.send("POST", "/v1/ask", json={"question": QUESTION})
        assert len(here.engine.asked) == FAILURES
    assert (response.status_code, response.json()["code"]) == (503, "model_unavailable")
    assert f"failed {FAILURES} times in a row" in response.json()["why"]


@pytest.mark.parametrize(
    "reply", [Reply(BROKEN["model_bad_output"]), Reply([b"{}"], 400)], ids=["said", "refused"]
)
def test_an_engine_that_says_what_cannot_be_used_is_asked_again(
    database: Database, tmp_path: Path, reply: Reply
) -> None:
    with asking(database, tmp_path, reply) as here:
        for _ in range(FAILURES + 1):
            assert here.world.bob.ask(QUESTION)["degraded"] == ["quoting"]
        assert len(here.engine.asked) == FAILURES + 1


def test_where_it_fails_after_a_statement_the_stream_ends_with_the_error(
    database: Database, tmp_path: Path
) -> None:
    pieces = [ROLE, token(SPOKEN[:-2]), Do.BREAK]
    with asking(database, tmp_path, Reply(pieces)) as here:
        streamed = here.stream()
    names = [name for name, _ in streamed]
    assert names.count("statement") == 1
    assert names[-1] == "error"
    assert streamed[-1][1]["code"] == "model_unavailable"
    assert "done" not in names


def test_an_answer_that_was_cut_off_is_no_complete_one(database: Database, tmp_path: Path) -> None:
    with asking(database, tmp_path, Reply(spoken(f"{SPOKEN[:-2]},", "length", written=1024))) as here:
        answer = here.world.bob.ask(QUESTION)
    assert (answer["finish_reason"], len(answer["statements"])) == ("length", 1)


def test_ready_tells_of_the_engine_and_does_not_need_it_where_quoting_stands_behind(
    database: Database, tmp_path: Path
) -> None:
    with asking(database, tmp_path) as here:
        for served, told in (
            (b'{"data": [{"id": "scripted", "max_model_len": 8192}]}', "ready"),
            (b'{"data": [{"id": "other", "max_model_len": 8192}]}', "another model is served: "),
            (
                b'{"data": [{"id": "scripted", "max_model_len": 4096}]}',
                "it holds 4096 tokens, 8192 are set: ",
            ),
            (b"garbage", "not there: "),
        ):
            here.engine.pages["/v1/models"] = served
            response = here.world.root.get("/readyz")
            assert response.status_code == 200
            expected = told if told == "ready" else f"{told}answers are quoted"
            assert response.json()["checks"]["engine"] == expected


def test_where_its_failure_is_an_error_ready_needs_the_engine(database: Database, tmp_path: Path) -> None:
    with asking(database, tmp_path, on_engine_failure="error") as here:
        assert here.world.root.get("/readyz").status_code == 503
        here.engine.pages["/v1/models"] = b'{"data": [{"id": "scripted", "max_model_len": 8192}]}'
        assert here.world.root.get("/readyz").json()["checks"]["engine"] == "ready"


def test_without_the_engine_the_service_starts_and_quotes(database: Database, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with asking(database, tmp_path, engine_url=f"http://127.0.0.1:{port}") as here:
        assert here.world.bob.ask(QUESTION)["degraded"] == ["quoting"]
        assert here.world.root.get("/readyz").json()["checks"]["engine"] == "not there: answers are quoted"


@pytest.mark.parametrize(("more", "faults"), [(0, 0), (1, 1)])
def test_a_service_that_starts_compares_its_count_of_tokens_with_the_engines(
    database: Database, tmp_path: Path, more: int, faults: int
) -> None:
    count = len(make_prompting().chat.ids(COUNTED)) + more
    with asking(database, tmp_path) as here:
        here.engine.pages["/tokenize"] = json.dumps({"count": count}).encode()
        with running(here.world.parts, address="127.0.0.1") as again:
            metrics = again.get("/metrics").text
    assert metrics.count('citeward_engine_faults_total{code="token_counts_differ"} 1.0') == faults
