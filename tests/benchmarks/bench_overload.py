"""The same crowd in front of a bare vLLM and in front of Citeward, on a real engine with a small KV cache.

Run by `python -m tests.benchmarks.bench_overload`. Both sides get the same questions at the same times, over
HTTP with streams: Citeward as `POST /v1/ask` of the whole service, in this process and with the fake embedder
of the tests; the bare engine as the chat requests that the service would have made of them. Prompts and
answers are a few hundred tokens, answers go on to their last token, nothing is kept for a second request, and
no draft is made smaller: so both sides do equal work.

    capacity   a closed loop on the bare engine, with as many at once as its cache holds to their end
    overhead   one question after the other, bare and through Citeward in turns: time to the first token, as
               the service or the bare reader gets it; the time of searching is left out
    overload   an open loop at four times the capacity; in the middle comes a request that the whole cache
               does not hold

A reader's deadline is three times the slowest answer of the closed loop; Citeward lets him wait for room as
long as that answer took. What the bare engine took in is waited for to its end. Tokens a second are those
that the engine wrote while questions came; good answers a second are of the same time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from ingest.corpus.database import Database, open_database
from service.admitted import size_of
from service.engine.server import EngineStatus
from service.migrate import migrate
from tests.benchmarks.overload import (
    Overhead,
    Side,
    arrivals,
    mixed,
    overhead_of,
    overhead_table,
    overload_table,
    side_of,
)
from tests.crowded import (
    GLANCE,
    Ask,
    Counted,
    Crowd,
    Send,
    Stream,
    ask_engine,
    closed_loop,
    counted,
    crowded,
    open_loop,
    tasks,
)
from tests.vllm_server import MISSING, has_engine, small_engine

BLOCKS = 65  # of 32 tokens, one of which is never given out
MAX_MODEL_LEN = 1024
TIMES_CAPACITY = 4.0
ROUNDS = 4  # of the closed loop, and its questions at most
MOST_MEASURED = 40
QUEUE_LENGTH = 8
DEADLINE = 3.0  # times the slowest answer of the closed loop


@dataclass(frozen=True, slots=True)
class Capacity:
    at_once: int
    a_second: float  # requests
    slowest: float  # seconds

    @property
    def deadline(self) -> float:
        return DEADLINE * self.slowest


@dataclass(frozen=True, slots=True)
class Found:
    capacity: Capacity
    rate: float  # questions a second
    bare: Side
    service: Side
    left_in_ledger: int
    overhead: Overhead


def main(arguments: Sequence[str] | None = None) -> None:
    options = parsed(arguments)
    if not has_engine():
        sys.exit(MISSING)
    with (
        tempfile.TemporaryDirectory() as folder,
        small_engine(Path(folder) / "engine", BLOCKS, MAX_MODEL_LEN) as engine,
    ):
        found = bench(engine, Path(folder), options)
    print(json.dumps(asdict(found)) if options.json else shown(found, options.seconds))


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=40.0, help="for which questions come, on each side")
    parser.add_argument("--pairs", type=int, default=40, help="of questions that are asked of both in turns")
    parser.add_argument("--seed", type=int, default=20_26, help="of the times and kinds of questions")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def bench(engine: EngineStatus, folder: Path, options: argparse.Namespace) -> Found:
    with crowded(opened(folder / "first"), folder / "first", engine, QUEUE_LENGTH, 1.0) as crowd:
        capacity = measured_capacity(crowd, options.seed)
    said(f"capacity: {capacity}")
    with crowded(opened(folder / "home"), folder / "home", engine, QUEUE_LENGTH, capacity.slowest) as crowd:
        return compared(crowd, capacity, options)


def compared(crowd: Crowd, capacity: Capacity, options: argparse.Namespace) -> Found:
    rate = TIMES_CAPACITY * capacity.a_second
    due = arrivals(rate, options.seconds, options.seed)
    glances = [Ask(len(due) + place, GLANCE) for place in range(options.pairs)]
    known = tasks(crowd, [*(ask for _, ask in due), *glances])

    async def bare(ask: Ask) -> Stream:
        return await ask_engine(crowd.engine, ask, known[ask])

    overhead = overhead_of(asyncio.run(in_turns(glances, bare, crowd.ask)))
    said(f"overhead: {overhead}")
    service = overloaded(crowd, due, crowd.ask, options.seconds, capacity.deadline)
    left = crowd.tickets
    said(f"Citeward: {service}")
    alone = overloaded(crowd, due, bare, options.seconds, capacity.deadline)
    said(f"bare: {alone}")
    return Found(capacity, rate, alone, service, left, overhead)


def measured_capacity(crowd: Crowd, seed: int) -> Capacity:
    """Of the bare engine, which so has room for the whole of each answer, as Citeward would see to."""
    assert crowd.parts.admission is not None
    known = tasks(crowd, mixed(MOST_MEASURED, seed))
    room = crowd.parts.admission.room.last
    at_once = int(room.reservable / fmean(size_of(task, 0).blocks(room) for task in known.values()))
    asks = list(known)[: at_once * ROUNDS]
    began = time.perf_counter()
    streams = asyncio.run(closed_loop(asks, at_once, lambda ask: ask_engine(crowd.engine, ask, known[ask])))
    seconds = time.perf_counter() - began
    assert all(one.is_whole for one in streams), "the engine does not bear what its cache holds"
    return Capacity(at_once, len(asks) / seconds, max(one.ended - one.began for one in streams))


def overloaded(
    crowd: Crowd, due: Sequence[tuple[float, Ask]], send: Send, seconds: float, deadline: float
) -> Side:
    before, begin = counted(crowd.engine.url), time.perf_counter()
    streams, meanwhile = asyncio.run(watched(crowd.engine.url, due, send, seconds))
    after = counted(crowd.engine.url)
    return side_of(streams, begin, seconds, deadline, meanwhile - before, after - before)


async def watched(
    url: str, due: Sequence[tuple[float, Ask]], send: Send, seconds: float
) -> tuple[list[Stream], Counted]:
    """With what the engine has counted when the last question has come."""

    async def later() -> Counted:
        await asyncio.sleep(seconds)
        return await asyncio.to_thread(counted, url)

    streams, meanwhile = await asyncio.gather(open_loop(due, send), later())
    return streams, meanwhile


async def in_turns(asks: Sequence[Ask], bare: Send, service: Send) -> list[tuple[Stream, Stream]]:
    """One after the other; who comes first changes, so that what gets slower or faster meets both."""
    pairs = []
    for place, ask in enumerate(asks):
        if place % 2:
            theirs = await bare(ask)
            pairs.append((theirs, await service(ask)))
        else:
            ours = await service(ask)
            pairs.append((await bare(ask), ours))
    return pairs


def opened(home: Path) -> Database:
    home.mkdir()
    database = open_database(f"sqlite:///{home / 'citeward.sqlite3'}")
    migrate(database)
    return database


def shown(found: Found, seconds: float) -> str:
    capacity = found.capacity
    return "\n\n".join(
        (
            f"Capacity: {capacity.a_second:.2f} answers/s with {capacity.at_once} at once. Overload: "
            f"{found.rate:.2f} questions/s for {seconds:g} s. Reservations left: {found.left_in_ledger}.",
            overload_table(found.bare, found.service, capacity.deadline),
            "Time to the first token, one question at a time:",
            overhead_table(found.overhead),
        )
    )


def said(what: str) -> None:
    """A sign of life; the result goes to the other stream."""
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
