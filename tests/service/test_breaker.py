"""The circuit breaker: when the model is asked, and when it is left alone."""

from __future__ import annotations

import logging
from contextlib import aclosing
from dataclasses import dataclass, replace

import pytest
from anyio import Event, create_task_group, sleep_forever, wait_all_tasks_blocked

from ingest.corpus.errors import ModelBadOutput, ModelFailed, ModelTimeout, ModelUnavailable
from service.breaker import COOL_DOWN_SECONDS, FAILURES, CircuitBreaker
from service.types import DraftStatement, GenerationTask, Question
from tests.fakes import ScriptedGenerator
from tests.service.passages import evidence

TASK = GenerationTask(Question("Which is blue?", "en"), evidence("Sky is blue."))
SAID = DraftStatement("Sky is blue.", ("C1",))
GONE, SLOW, BAD = ModelUnavailable("gone"), ModelTimeout("slow"), ModelBadOutput("bad")
BROKEN = RuntimeError("a fault of ours")


@dataclass(slots=True)
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass(slots=True)
class Circuit:
    """A breaker around a scripted model, on a clock that stands still."""

    clock: Clock
    model: ScriptedGenerator
    breaker: CircuitBreaker

    async def ask(self, *script: Exception, task: GenerationTask = TASK) -> str:
        """Tells the model to fail so, or to answer: how the draft ended, "left alone" if it was not asked."""
        self.model.script = script or (SAID,)
        before = self.model.begun
        try:
            async with aclosing(self.breaker.draft(task)) as drafts:
                drafted = [one async for one in drafts]
        except (ModelFailed, RuntimeError) as error:
            return type(error).__name__ if self.model.begun > before else "left alone"
        return "answered" if drafted[0] == SAID else "empty"

    async def open(self) -> None:
        for _ in range(FAILURES):
            await self.ask(GONE)

    async def half_open(self) -> None:
        await self.open()
        self.clock.now += COOL_DOWN_SECONDS


@pytest.fixture
def circuit() -> Circuit:
    clock, model = Clock(), ScriptedGenerator()
    return Circuit(clock, model, CircuitBreaker(model, clock))


# What happens in a row, and whether the model is asked after it.
ROWS: dict[str, tuple[tuple[Exception | None, ...], bool]] = {
    "nothing": ((), True),
    "fewer failures": ((GONE, SLOW), True),
    "failures of both kinds": ((GONE, SLOW, GONE), False),
    "an answer between": ((GONE, GONE, None, GONE, GONE), True),
    "bad output": ((BAD,) * 5, True),
    "bad output between": ((SLOW, SLOW, BAD, SLOW), True),
    "our own fault": ((BROKEN,) * 5, True),
    "our own fault between": ((GONE, GONE, BROKEN, GONE), False),
}


@pytest.mark.parametrize(("row", "asked"), ROWS.values(), ids=ROWS.keys())
async def test_failures_in_a_row_open_it(
    circuit: Circuit, row: tuple[Exception | None, ...], asked: bool
) -> None:
    for failure in row:
        await circuit.ask(*[failure] if failure else [])
    assert await circuit.ask() == ("answered" if asked else "left alone")


async def test_a_failure_after_a_statement_counts(circuit: Circuit) -> None:
    for _ in range(FAILURES):
        circuit.model.script = (SAID, GONE)
        drafts = circuit.breaker.draft(TASK)
        assert await anext(drafts) == SAID
        with pytest.raises(ModelUnavailable):
            await anext(drafts)
    assert await circuit.ask() == "left alone"


async def test_it_is_open_until_it_has_cooled_down(circuit: Circuit) -> None:
    await circuit.open()
    circuit.clock.now += COOL_DOWN_SECONDS - 0.001
    with pytest.raises(ModelUnavailable, match=r"failed 3 times in a row.*30 s"):
        await anext(circuit.breaker.draft(TASK))
    circuit.clock.now += 0.001
    assert await circuit.ask() == "answered"


@pytest.mark.parametrize(
    ("trial", "after"),
    [(None, "answered"), (BAD, "answered"), (GONE, "left alone"), (SLOW, "left alone"), (BROKEN, "answered")],
)
async def test_the_trial_decides(circuit: Circuit, trial: Exception | None, after: str) -> None:
    """After a fault of ours the next draft is a trial again."""
    await circuit.half_open()
    ended = await circuit.ask(*[trial] if trial else [])
    assert ended == (type(trial).__name__ if trial else "answered")
    assert await circuit.ask() == after


async def test_a_trial_that_fails_starts_the_cool_down_anew_and_one_that_succeeds_the_count(
    circuit: Circuit,
) -> None:
    await circuit.half_open()
    assert await circuit.ask(SLOW) == "ModelTimeout"
    circuit.clock.now += COOL_DOWN_SECONDS
    assert await circuit.ask() == "answered"
    assert await circuit.ask(GONE) == await circuit.ask(GONE) == "ModelUnavailable"
    assert await circuit.ask() == "answered"


async def test_of_many_at_once_one_tries_it(circuit: Circuit) -> None:
    await circuit.half_open()
    asked, may_end = circuit.model.begun, Event()
    circuit.model.script = (may_end.wait, SAID)
    refused: list[ModelUnavailable] = []

    async def ask() -> None:
        try:
            async with aclosing(circuit.breaker.draft(TASK)) as drafts:
                assert await anext(drafts) == SAID
                await anext(drafts)
        except ModelUnavailable as error:
            refused.append(error)

    async with create_task_group() as group:
        for _ in range(20):
            group.start_soon(ask)
        await wait_all_tasks_blocked()
        assert (circuit.model.begun - asked, len(refused)) == (1, 19)
        circuit.clock.now += COOL_DOWN_SECONDS  # a long trial is still the only one
        assert await circuit.ask() == "left alone"
        may_end.set()
    assert await circuit.ask() == "answered"


async def test_a_trial_whose_reader_leaves_lets_the_next_try(circuit: Circuit) -> None:
    await circuit.half_open()
    circuit.model.script = (sleep_forever,)
    async with create_task_group() as group:
        group.start_soon(anext, circuit.breaker.draft(TASK))
        await wait_all_tasks_blocked()
        assert await circuit.ask() == "left alone"
        group.cancel_scope.cancel()
    assert await circuit.ask(GONE) == "ModelUnavailable"
    assert await circuit.ask() == "left alone"


async def test_a_reader_who_leaves_after_the_end_has_seen_it_answer(circuit: Circuit) -> None:
    await circuit.half_open()
    circuit.model.script = (SAID,)
    async with aclosing(circuit.breaker.draft(TASK)) as drafts:
        await anext(drafts)
        await anext(drafts)
    assert await circuit.ask(GONE) == await circuit.ask(GONE) == "ModelUnavailable"


async def test_without_evidence_nothing_is_asked_and_nothing_learned(circuit: Circuit) -> None:
    nothing = replace(TASK, evidence=())
    await circuit.ask(GONE)
    await circuit.ask(GONE)
    assert await circuit.ask(task=nothing) == "empty"
    assert await circuit.ask(GONE) == "ModelUnavailable"
    assert await circuit.ask(task=nothing) == "empty"
    assert await circuit.ask() == "left alone"


async def test_the_log_tells_when_it_opens_and_closes(
    circuit: Circuit, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "citeward.engine")
    await circuit.half_open()
    await circuit.ask()
    await circuit.ask()
    assert [one.message for one in caplog.records] == [
        '{"event": "circuit_open", "failures": 3, "seconds": 30.0}',
        '{"event": "circuit_closed"}',
    ]
