"""Who is let in to the language model, over HTTP: with room, without, and when a client leaves."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import pytest

from ingest.corpus.database import Database
from service.adapters.telemetry import Telemetry
from service.app import create_app
from service.bootstrap import open_admission, open_generator
from service.capacity.admission import Admission
from service.capacity.ledger import Ticket
from service.capacity.reservations import changing_ledger, read_ledger
from service.parts import Parts
from tests.fakes import make_prompting
from tests.scripted_engine import MODEL, ROLE, Do, Reply, ScriptedEngine, scripted_engine, spoken
from tests.service.test_api_questions import asgi_scope, drop, leaving_client
from tests.world import Caller, World, canary, running_world

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
WORD = canary("acme", "handbook")
QUESTION = f"What is {WORD}?"
SAID = json.dumps(
    {"answerable": True, "statements": [{"text": f"The secret word is {WORD}.", "citations": ["C1"]}]}
)
ANSWERS, HANGS = Reply(spoken(SAID)), Reply([ROLE, Do.WAIT])
BLOCK, LONGEST = 128, 8192
PATIENCE_SECONDS = 20.0


def cache_page(blocks: int, block: int = BLOCK, longest: int = LONGEST) -> bytes:
    """What vLLM would say of so many blocks, were all its layers of one kind."""
    at_once = blocks / -(-longest // block)
    return (
        f'vllm:cache_config_info{{num_gpu_blocks="{blocks}",effective_attention_block_size="{block}",'
        f'kv_cache_max_concurrency="{at_once}",engine="0"}} 1.0\n'
        'vllm:kv_cache_usage_perc{engine="0",model_name="scripted"} 0.5\n'
        'vllm:num_preemptions_total{engine="0",model_name="scripted"} 3.0\n'
    ).encode()


def models_page(longest: int = LONGEST) -> bytes:
    return json.dumps({"data": [{"id": MODEL, "max_model_len": longest}]}).encode()


@dataclass(frozen=True, slots=True)
class Admitting:
    world: World
    engine: ScriptedEngine
    admission: Admission

    def ask(self, caller: Caller | None = None, **fields: Any) -> httpx2.Response:
        return (caller or self.world.bob).send("POST", "/v1/ask", json={"question": QUESTION, **fields})

    def held(self) -> int:
        """Blocks, once what ran out has been given back."""
        with changing_ledger(self.world.parts.database, self.engine.url) as ledger:
            ledger.settle(time.time(), self.admission.room.last.reservable, 100)
            return ledger.held

    def waiting(self) -> int:
        return len(read_ledger(self.world.parts.database, self.engine.url).waiting)

    def is_waiting(self) -> bool:
        return eventually(lambda: self.waiting() == 1)

    def occupy(self, blocks: int) -> str:
        """As another process of the service does."""
        ticket = Ticket("other", "another tenant", "interactive", blocks, time.time() + 600)
        with changing_ledger(self.world.parts.database, self.engine.url) as ledger:
            ledger.ask(ticket)
            ledger.settle(time.time(), 10**6, 100)
        return ticket.id

    def free(self, ticket_id: str) -> None:
        with changing_ledger(self.world.parts.database, self.engine.url) as ledger:
            ledger.give_back(ticket_id)

    def counted(self, result: str) -> float:
        return self.metric(f'citeward_admissions_total{{result="{result}"}}')

    def metric(self, series: str) -> float:
        lines = self.world.root.get("/metrics").text.splitlines()
        return next(float(line.split()[-1]) for line in lines if line.startswith(f"{series} "))


@contextmanager
def admitting(
    database: Database,
    home: Path,
    *replies: Reply,
    blocks: int = 1 + 64,
    telemetry: Telemetry | None = None,
    **settings: Any,
) -> Iterator[Admitting]:
    with scripted_engine(*replies) as engine:
        engine.pages |= {"/metrics": cache_page(blocks), "/v1/models": models_page()}
        opened: list[Admission] = []

        def change(parts: Parts) -> Parts:
            given = {"llm": MODEL, "engine_url": engine.url, "kv_headroom": 0.0, "queue_seconds": 0.5}
            chosen = replace(parts.settings, **(given | settings))
            opened.append(open_admission(chosen, database))
            prompting = make_prompting(max_new_tokens=chosen.reserved_output)
            generator = open_generator(chosen, parts.generator, "0123", opened[0])
            return replace(
                parts, settings=chosen, generator=generator, prompting=prompting, admission=opened[0]
            )

        with running_world(database, home, change, telemetry) as world:
            yield Admitting(world, engine, opened[0])


def eventually(condition: Any) -> bool:
    until = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def test_an_answer_holds_room_while_it_is_made_and_tells_how_long_it_waited(
    database: Database, tmp_path: Path
) -> None:
    with admitting(database, tmp_path, ANSWERS) as here:
        answer = here.ask().json()
        assert answer["generator"] == "vllm"
        assert answer["degraded"] == []
        assert answer["timings_ms"]["queue"] >= 0
        assert read_ledger(database, here.engine.url).tickets == {}
        assert here.counted("admitted") == 1
        assert here.metric("citeward_queue_seconds_count") == 1
        assert here.metric('citeward_kv_blocks{of="reservable"}') == 64
        assert here.metric('citeward_kv_blocks{of="used"}') == 32
        assert here.metric("citeward_engine_preemptions_total") == 3
        assert here.metric('citeward_queue_depth{priority="interactive"}') == 0


@pytest.mark.parametrize(
    ("pieces", "settings"),
    [
        ([ROLE, Do.BREAK], {}),
        (spoken("no JSON"), {}),
        ([ROLE, Do.WAIT], {"engine_total_seconds": 0.5}),
    ],
    ids=["broken off", "bad", "slow"],
)
def test_a_generation_that_fails_gives_its_room_back(
    database: Database, tmp_path: Path, pieces: list[Any], settings: dict[str, Any]
) -> None:
    with admitting(database, tmp_path, Reply(pieces), on_engine_failure="error", **settings) as here:
        assert here.ask().status_code in (502, 503, 504)
        assert eventually(lambda: here.held() == 0)


def test_what_can_never_be_held_is_refused_at_once_with_the_numbers(
    database: Database, tmp_path: Path
) -> None:
    with admitting(database, tmp_path, ANSWERS, blocks=1 + 8) as here:
        assert eventually(lambda: here.admission.room.seen is not None)
        response = here.ask()
        assert here.engine.asked == []
    assert (response.status_code, response.json()["code"]) == (413, "over_budget")
    assert "1024 for the answer" in response.json()["detail"]
    assert "one may have 8" in response.json()["why"]


def test_without_room_in_time_it_is_503_and_when_to_come_again(database: Database, tmp_path: Path) -> None:
    with admitting(database, tmp_path, ANSWERS) as here:
        here.occupy(64)
        response = here.ask()
        stream = here.world.bob.send(
            "POST", "/v1/ask", json={"question": QUESTION}, headers={"Accept": "text/event-stream"}
        )
        assert here.waiting() == 0
        assert here.counted("no_capacity") == 2
        assert here.engine.asked == []
    assert (response.status_code, response.json()["code"]) == (503, "no_capacity")
    assert int(response.headers["retry-after"]) == response.json()["retry_after"] >= 1
    last = stream.text.strip().split("\n\n")[-1]
    assert last.startswith("event: error")
    assert '"code":"no_capacity"' in last
    assert '"retry_after":' in last


def test_a_full_queue_is_429_and_batch_gives_way_first(database: Database, tmp_path: Path) -> None:
    with admitting(database, tmp_path, ANSWERS, queue_length=1, queue_seconds=600) as here:
        other = here.occupy(64)
        with ThreadPoolExecutor() as pool:
            batch = pool.submit(here.ask, priority="batch")
            assert eventually(lambda: here.waiting() == 1)
            first = pool.submit(here.ask)
            turned_away = batch.result(PATIENCE_SECONDS)
            second = here.ask()
            here.free(other)
            assert first.result(PATIENCE_SECONDS).status_code == 200
        assert here.counted("queue_full") == 2
    for response in (turned_away, second):
        assert (response.status_code, response.json()["code"]) == (429, "queue_full")
        assert int(response.headers["retry-after"]) >= 1


def test_who_waits_is_let_in_when_another_process_gives_back(database: Database, tmp_path: Path) -> None:
    with admitting(database, tmp_path, ANSWERS, queue_seconds=600, on_no_room="no") as here:
        other = here.occupy(64)
        with ThreadPoolExecutor() as pool:
            asked = pool.submit(here.ask)
            assert eventually(lambda: here.waiting() == 1)
            here.free(other)
            answer = asked.result(PATIENCE_SECONDS).json()
    assert (answer["generator"], answer["degraded"]) == ("vllm", [])
    assert answer["timings_ms"]["queue"] > 0


def keep_passages(here: Admitting, number: int) -> None:
    for place in range(number):
        here.world.put(
            here.world.root, "handbook", f"{place}.txt", f"{WORD} rule {place}: ask office {place}."
        )


def test_without_room_for_all_there_is_less_evidence_then_a_shorter_answer(
    database: Database, tmp_path: Path
) -> None:
    """Held until a step is reached; what is then free lets in what that step needs, and no more."""
    with admitting(database, tmp_path, ANSWERS, queue_seconds=1.5, reserved_output=1024) as here:
        keep_passages(here, 5)
        whole = here.ask().json()
        here.occupy(64 - 10)
        answer = here.ask().json()
        sent = here.engine.asked[-1]
        record = here.world.root.get(f"/v1/answers/{answer['answer_id']}").json()["record"]
    assert (whole["degraded"], here.engine.asked[0]["max_tokens"]) == ([], 1024)
    assert answer["degraded"] == ["fewer_evidence", "shorter_output"]
    assert sent["max_tokens"] == record["sampling"]["max_tokens"] == 512
    shown = sum(f"C{number}" in sent["messages"][-1]["content"] for number in range(1, 9))
    assert shown == len(record["used"]) < 6
    assert answer["usage"]["evidence_tokens"] < whole["usage"]["evidence_tokens"]


def test_how_far_it_degrades_is_a_setting(database: Database, tmp_path: Path) -> None:
    with admitting(database, tmp_path, ANSWERS, on_no_room="no") as here:
        here.occupy(64 - 10)
        assert here.ask().status_code == 503


@pytest.mark.parametrize("on_engine_failure", ["quoting", "error"])
def test_quoting_may_stand_in_where_there_is_no_room(
    database: Database, tmp_path: Path, on_engine_failure: str
) -> None:
    settings = {"on_no_room": "quoting", "on_engine_failure": on_engine_failure}
    with admitting(database, tmp_path, ANSWERS, **settings) as here:
        here.occupy(64)
        answer = here.ask().json()
    assert (answer["generator"], answer["degraded"]) == ("quoting", ["quoting"])


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("place", ["in the queue", "in the engine"])
async def test_a_client_who_leaves_gives_his_room_back(
    database: Database, tmp_path: Path, accept: str, place: str
) -> None:
    with admitting(database, tmp_path, HANGS, queue_seconds=600) as here:
        if place == "in the queue":
            other = here.occupy(64)
        leaves = anyio.Event()
        app = create_app(here.world.parts)
        async with app.router.lifespan_context(app) as state:
            scope = asgi_scope(here.world.bob.key, accept, dict(state or {}))
            async with anyio.create_task_group() as group:
                client = leaving_client(json.dumps({"question": QUESTION}).encode(), leaves)
                group.start_soon(app, scope, client, drop)
                there = here.is_waiting if place == "in the queue" else here.engine.is_busy
                assert await anyio.to_thread.run_sync(there)
                leaves.set()
        if place == "in the queue":
            assert here.waiting() == 0
            here.free(other)
        assert eventually(lambda: here.held() == 0)
        assert here.engine.is_idle()
        assert here.counted("cancelled") == 1


def test_an_engine_that_started_anew_is_asked_how_much_it_holds(database: Database, tmp_path: Path) -> None:
    """The draft that broke off is the sign; here the cache is too small for it after that."""
    with admitting(database, tmp_path, Reply([ROLE, Do.BREAK]), ANSWERS, on_engine_failure="error") as here:
        assert here.ask().status_code == 503
        here.engine.pages["/metrics"] = cache_page(1 + 4)
        assert here.ask().status_code == 413
        here.engine.pages["/metrics"] = cache_page(1 + 64)
        here.admission.room.see()
        assert here.ask().status_code == 200


def test_an_engine_that_does_not_say_gets_one_at_a_time(database: Database, tmp_path: Path) -> None:
    with admitting(database, tmp_path, ANSWERS) as here:
        del here.engine.pages["/metrics"]
        here.admission.room.doubt()
        assert here.ask().status_code == 200
        assert here.admission.room.last.reservable == 1
        here.occupy(1)
        assert here.ask().status_code == 503
        assert "one answer at a time" in here.world.root.get("/readyz").json()["checks"]["capacity"]


def test_without_an_engine_nobody_waits_for_room(database: Database, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with admitting(database, tmp_path, engine_url=f"http://127.0.0.1:{port}", queue_seconds=600) as here:
        assert here.ask().json()["degraded"] == ["quoting"]
        assert "not seen" in here.world.root.get("/readyz").json()["checks"]["capacity"]
        assert here.counted("admitted") == 0


def test_ready_tells_how_much_fits(database: Database, tmp_path: Path) -> None:
    with admitting(database, tmp_path, ANSWERS, blocks=1 + 200) as here:
        assert here.ask().status_code == 200
        told = here.world.root.get("/readyz").json()["checks"]["capacity"]
    assert told == "200 blocks: 3 sequences of 8192 tokens at a time, shorter ones more"


def test_blocks_that_are_not_as_we_reckon_are_an_alarm(
    database: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with admitting(database, tmp_path, ANSWERS) as here:
        here.admission.room.self_test = lambda _: "drift: of two blocks."
        here.engine.pages["/metrics"] = cache_page(1 + 70)
        here.admission.room.see()
        ready = here.world.root.get("/readyz")
    assert (ready.status_code, ready.json()["checks"]["capacity"]) == (200, "drift: of two blocks.")
    assert any(one.levelname == "ERROR" and "of two blocks" in one.message for one in caplog.records)


def test_many_at_once_never_hold_more_than_there_is(database: Database, tmp_path: Path) -> None:
    """Room for two of them at a time."""
    with admitting(
        database, tmp_path, ANSWERS, blocks=1 + 64, reserved_output=3000, queue_seconds=600
    ) as here:
        held: list[int] = []
        with ThreadPoolExecutor(12) as pool:
            asked = [pool.submit(here.ask, pick) for pick in (here.world.bob, here.world.ana) * 6]
            while not all(one.done() for one in asked):
                held.append(read_ledger(database, here.engine.url).held)
        assert {one.result().json()["generator"] for one in asked} == {"vllm"}
        assert 0 < max(held) <= 64
        assert here.held() == 0
        assert here.counted("admitted") == 12
