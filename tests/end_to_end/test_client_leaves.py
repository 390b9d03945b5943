"""A reader who leaves stops the engine, streaming or not: over a real service and a real vLLM."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import httpx2
import pytest

from ingest.corpus.database import Database
from service.bootstrap import open_generator
from service.engine.server import EngineStatus
from tests.contracts.real_models import chat_tokenizer
from tests.fakes import make_prompting
from tests.serving import serving, wait_until
from tests.vllm_server import MAX_MODEL_LEN, MODEL
from tests.world import canary, found_company, make_parts

pytestmark = [pytest.mark.vllm, pytest.mark.parametrize("database", ["sqlite"], indirect=True)]
MOST = 1500  # tokens of an answer: half a minute and more
STOPPED_SECONDS = 1.0
TRIES = 3  # the machine may be busy with something else
PATIENCE_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Asked:
    """The service over the engine, and somebody who may ask."""

    engine: EngineStatus
    port: int
    key: str

    def begin(self, accept: str) -> socket.socket:
        """A connection on which a question is being answered."""
        body = json.dumps({"question": f"What is {canary('acme', 'handbook')}?", "output": "text"}).encode()
        head = "POST /v1/ask HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n"
        head += f"Accept: {accept}\r\nX-API-Key: {self.key}\r\nContent-Length: {len(body)}\r\n\r\n"
        connection = socket.create_connection(("127.0.0.1", self.port))
        connection.sendall(head.encode() + body)
        return connection

    def running(self) -> int:
        """Requests that the engine works on, as it says itself."""
        metrics = httpx2.get(f"{self.engine.url}/metrics", timeout=30, trust_env=False).text
        found = re.search(r"^vllm:num_requests_running\{.*\} ([\d.]+)$", metrics, re.MULTILINE)
        assert found
        return int(float(found.group(1)))

    def kept(self) -> list[str]:
        """How the answers ended that were kept."""
        url, headers = f"http://127.0.0.1:{self.port}/v1/answers", {"X-API-Key": self.key}
        return [one["finish_reason"] for one in httpx2.get(url, headers=headers, trust_env=False).json()]


@pytest.fixture
def asked(database: Database, tmp_path: Path, engine_alone: EngineStatus) -> Iterator[Asked]:
    plain = make_parts(database, tmp_path)
    chosen = replace(
        plain.settings,
        llm=str(engine_alone.model),
        engine_url=engine_alone.url,
        context_window=MAX_MODEL_LEN,
        reserved_output=MOST,
    )
    prompting = make_prompting(chat_tokenizer(MODEL.name), MOST)
    lively = replace(prompting.policy, do_sample=True, temperature=2.0, repetition_penalty=1.5)
    parts = replace(
        plain,
        settings=chosen,
        generator=open_generator(chosen, plain.generator),
        prompting=replace(prompting, release=replace(prompting.release, policy=lively)),  # does not end soon
    )
    key = found_company(parts, "acme")["bob"]
    with serving(parts) as port:
        yield Asked(engine_alone, port, key)


@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
def test_the_engine_stops_within_a_second(asked: Asked, accept: str) -> None:
    took = []
    for _ in range(TRIES):
        with asked.begin(accept):
            wait_until(lambda: asked.running() == 1, PATIENCE_SECONDS)
        took.append(wait_until(lambda: asked.running() == 0, PATIENCE_SECONDS))
        if took[-1] <= STOPPED_SECONDS:
            break
    assert took[-1] <= STOPPED_SECONDS, took
    wait_until(lambda: len(asked.kept()) == len(took), PATIENCE_SECONDS)
    assert set(asked.kept()) == {"cancelled"}
