"""More readers than a real engine's small KV cache bears: nobody is put back, and nothing stays reserved."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.corpus.database import Database
from service.engine.server import EngineStatus
from tests.crowded import NEVER_FITS, WHOLE, Ask, counted, crowded, open_loop
from tests.serving import wait_until
from tests.vllm_server import require_engine, small_engine

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.slow,  # an engine of its own takes a minute and more to start
    pytest.mark.parametrize("database", ["sqlite"], indirect=True),
]
BLOCKS, MAX_MODEL_LEN = 29, 384  # of 32 tokens; a brief question takes 6 of them, a plain one 11
SENT = 14
QUEUE_LENGTH, QUEUE_SECONDS = 3, 240.0  # nobody waits in vain, however busy the machine is
PATIENCE_SECONDS = 10.0


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineStatus]:
    require_engine()
    with small_engine(tmp_path_factory.mktemp("small") / "engine", BLOCKS, MAX_MODEL_LEN) as engine:
        yield engine


def test_an_overloaded_engine_puts_nobody_back(
    database: Database, tmp_path: Path, small: EngineStatus
) -> None:
    """All ask at once, and among them one whose answer the whole cache does not hold."""
    asks = [Ask(number, "plain" if number % 3 == 0 else "brief") for number in range(SENT)]
    asks[SENT // 2] = Ask(SENT // 2, NEVER_FITS)
    with crowded(database, tmp_path, small, QUEUE_LENGTH, QUEUE_SECONDS) as crowd:
        before = counted(small.url)
        streams = asyncio.run(open_loop([(0.0, ask) for ask in asks], crowd.ask))
        wait_until(lambda: not crowd.tickets, PATIENCE_SECONDS)
    written = counted(small.url) - before
    outcomes = {one.ask: one.outcome for one in streams}
    assert outcomes.pop(asks[SENT // 2]) == "over_budget"
    assert set(outcomes.values()) == {WHOLE, "queue_full"}
    assert written.preemptions == 0
    assert written.tokens >= sum(len(one.pieces) for one in streams)
