"""Admission: who is let into the engine and when. A generation holds the room that it can need at most.

vLLM keeps no room for what is yet to be written, so it takes in more than it can hold and later stops some to
go on with others. Here nobody is let in before there is room for his prompt and his whole answer.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from statistics import fmean

from anyio import CancelScope, move_on_after, to_thread

from ingest.corpus.database import Database
from ingest.corpus.errors import CitewardError, ModelUnavailable, NoCapacity, OverBudget, QueueFull
from ingest.corpus.ids import new_id
from service.capacity.engine_room import EngineRoom
from service.capacity.hold import Hold, Size
from service.capacity.ledger import Ledger, Ticket
from service.capacity.reservations import changing_ledger, read_ledger
from service.engine.cache import CacheSeen
from service.types import Priority

LOG = logging.getLogger("citeward.capacity")
LEASE_SECONDS = 30.0  # a process that died gives back after this
BEAT_SECONDS = 5.0  # between two looks at the engine, and two renewals; vLLM takes longer to start anew
LOOK_SECONDS = 0.1  # between two looks for what other processes gave back
ABORT_SECONDS = 0.5  # until the engine has noticed that its client left; seen: 0.2 s
FIRST_GUESS_SECONDS = 10.0  # how long a generation holds its room, before any has ended
LAST_HELD = 32  # generations that this is the mean of


@dataclass(frozen=True, slots=True)
class Limits:
    queue_length: int  # requests that wait, of all processes
    queue_seconds: Mapping[Priority, float]  # that one of them may wait
    draft_seconds: float  # that one generation may take


@dataclass(frozen=True, slots=True)
class Figures:
    """How it stands, for whoever watches."""

    seen: CacheSeen | None  # None: the engine was not seen yet
    reserved: int  # blocks
    waiting: Mapping[Priority, int]
    counts: Mapping[str, int]  # admitted, cancelled, and the codes of what was turned away


@dataclass(slots=True)
class Admission:
    """One a process; all of them share the ledger in the database."""

    database: Database
    engine: str  # its address
    room: EngineRoom
    limits: Limits
    clock: Callable[[], float] = time.time  # seconds since the epoch, the same for all processes
    held_seconds: deque[float] = field(default_factory=lambda: deque(maxlen=LAST_HELD))
    counts: Counter[str] = field(default_factory=Counter)
    mine: dict[str, Hold] = field(default_factory=dict)
    settled_at: float = 0.0

    # --- a generation's way ---------------------------------------------------------------------

    @asynccontextmanager
    async def hold(
        self, tenant: str, priority: Priority, size: Size, smaller: Callable[[], Sequence[Size]]
    ) -> AsyncIterator[Hold]:
        """Room for one generation, as long as the block runs; set `is_over` in it once the engine is done.

        :param smaller: what would do if there is no room, each smaller than the one before; asked only then.
        :raises OverBudget: if the engine can never hold any of them.
        :raises QueueFull: if the queue is, and nobody in it has asked for more than this tenant.
        :raises NoCapacity: if there is no room within the time that one may wait.
        :raises ModelUnavailable: if there is no engine.
        """
        hold = await self._place(tenant, priority, size, smaller)
        try:
            await self._wait(hold, smaller)
            self.counts["admitted"] += 1
            yield hold
        except ModelUnavailable:
            self.room.doubt()
            raise
        except CitewardError as error:
            if isinstance(error, QueueFull | NoCapacity | OverBudget):
                self.counts[error.code] += 1
            raise
        except Exception:
            raise
        except BaseException:  # cancelled, or its reader left
            self.counts["cancelled"] += 1
            raise
        finally:
            with CancelScope(shield=True):
                await self._leave(hold)

    async def _place(
        self, tenant: str, priority: Priority, size: Size, smaller: Callable[[], Sequence[Size]]
    ) -> Hold:
        room = await self.room.now()
        sizes = [size]
        if not room.holds(size.tokens):
            sizes += await to_thread.run_sync(smaller)
        step = next((step for step, one in enumerate(sizes) if room.holds(one.tokens)), None)
        if step is None:
            self.counts[OverBudget.code] += 1
            room.require_holding(sizes[-1].prompt, sizes[-1].answer)
            raise AssertionError("it does not hold it")
        blocks = sizes[step].blocks(room)
        ticket = Ticket(new_id("kv"), tenant, priority, blocks, self.clock() + self._lease(priority))
        return Hold(ticket, sizes, step)

    async def _wait(self, hold: Hold, smaller: Callable[[], Sequence[Size]]) -> None:
        seconds = self.limits.queue_seconds[hold.ticket.priority]
        standing = await to_thread.run_sync(self._ask, hold.ticket)
        self.mine[hold.ticket.id] = hold
        self._tell(standing, [hold])
        if not hold.is_decided and len(hold.sizes) == 1:
            hold.sizes += await to_thread.run_sync(smaller)
        while not hold.is_decided:
            left = hold.began + seconds - time.monotonic()
            if left <= 0:
                raise NoCapacity(
                    "There is no room for this question now.",
                    why=f"It waited {seconds:g} s for {hold.ticket.blocks} blocks of KV cache, "
                    "which other answers hold.",
                    next_step="Ask again when Retry-After says.",
                    retry_after_seconds=await to_thread.run_sync(self._retry_after, hold),
                )
            await self._make_do_with_less(hold, share=1 - left / seconds)
            await self._look_again(hold, min(left, LOOK_SECONDS))
        if hold.gone:
            (await self.room.now()).require_holding(
                hold.sizes[hold.step].prompt, hold.sizes[hold.step].answer
            )
            raise QueueFull(
                "Too many questions wait already.",
                why=f"{self.limits.queue_length} wait, and each tenant's are served in turn.",
                next_step="Ask again when Retry-After says.",
                retry_after_seconds=await to_thread.run_sync(self._retry_after, hold),
            )

    async def _make_do_with_less(self, hold: Hold, share: float) -> None:
        """As the time runs out, in steps that are spread over it evenly."""
        step = min(int(share * len(hold.sizes)), len(hold.sizes) - 1)
        if step > hold.step:
            hold.step = step
            blocks = hold.sizes[step].blocks(await self.room.now())
            self._tell(await to_thread.run_sync(self._shrink, hold, blocks), [hold])

    async def _look_again(self, hold: Hold, seconds: float) -> None:
        """Whoever gives back in this process tells; of all who wait one looks what others gave back."""
        with move_on_after(seconds):
            await hold.changed.wait()
        if not hold.is_decided and time.monotonic() - self.settled_at >= LOOK_SECONDS:
            self.settled_at = time.monotonic()
            waiting = [one for one in self.mine.values() if not one.is_decided]
            self._tell(await to_thread.run_sync(self._settle), waiting)

    async def _leave(self, hold: Hold) -> None:
        self.mine.pop(hold.ticket.id, None)
        if hold.is_over and hold.granted_at is not None:
            self.held_seconds.append(time.monotonic() - hold.granted_at)
        try:
            granted = await to_thread.run_sync(self._give_back, hold)
        except CitewardError as error:  # it is not renewed any more, and so runs out
            LOG.warning(json.dumps({"event": "not_given_back", "error": error.code}))
            return
        self._tell(granted, [])

    def _tell(self, standing: Mapping[str, bool], waiting: Sequence[Hold]) -> None:
        """:param waiting: were in the queue before `standing` was read; who is not there is gone."""
        for ticket_id, granted in standing.items():
            if granted and ticket_id in self.mine:
                self.mine[ticket_id].decide(granted=True)
        for hold in waiting:
            if not hold.is_decided and hold.ticket.id not in standing:
                hold.decide(granted=False)

    # --- the ledger, in threads; each gives what is there: id -> granted ---------------------------

    def _ask(self, ticket: Ticket) -> Mapping[str, bool]:
        with changing_ledger(self.database, self.engine) as ledger:
            ledger.ask(ticket)
            return self._settled(ledger)

    def _shrink(self, hold: Hold, blocks: int) -> Mapping[str, bool]:
        with changing_ledger(self.database, self.engine) as ledger:
            ledger.shrink(hold.ticket.id, blocks)
            return self._settled(ledger)

    def _settle(self) -> Mapping[str, bool]:
        with changing_ledger(self.database, self.engine) as ledger:
            return self._settled(ledger)

    def _give_back(self, hold: Hold) -> Mapping[str, bool]:
        until = None if hold.is_over else self.clock() + ABORT_SECONDS
        with changing_ledger(self.database, self.engine) as ledger:
            ledger.give_back(hold.ticket.id, until)
            return self._settled(ledger)

    def _settled(self, ledger: Ledger) -> Mapping[str, bool]:
        ledger.settle(self.clock(), self.room.last.reservable, self.limits.queue_length)
        return {one.id: one.granted for one in ledger.tickets.values()}

    def _retry_after(self, hold: Hold) -> int:
        seconds = fmean(self.held_seconds or [FIRST_GUESS_SECONDS])
        ledger = read_ledger(self.database, self.engine)
        ledger.give_back(hold.ticket.id)  # of what was read; it does not wait for itself
        return ledger.retry_after(hold.ticket.blocks, self.room.last.reservable, seconds)

    def _lease(self, priority: Priority) -> float:
        """Seconds. Where nothing renews it, it must last as long as it can take."""
        if self.room.is_watched:
            return LEASE_SECONDS
        return self.limits.queue_seconds[priority] + self.limits.draft_seconds + LEASE_SECONDS

    # --- while the service runs --------------------------------------------------------------------

    @contextmanager
    def running(self) -> Iterator[None]:
        """What is held is renewed and the engine looked at, by a thread: work may keep the loop busy."""
        stopping = threading.Event()
        thread = threading.Thread(target=self._keep, args=(stopping,), name="admission")
        self.room.is_watched = True
        thread.start()
        try:
            yield
        finally:
            stopping.set()
            thread.join()
            self.room.is_watched = False

    def _keep(self, stopping: threading.Event) -> None:
        while True:
            for task in (self.room.see, self._renew):
                try:
                    task()
                except CitewardError as error:
                    LOG.info(json.dumps({"event": "capacity_unknown", "error": error.code}))
            if stopping.wait(BEAT_SECONDS):
                return

    def _renew(self) -> None:
        mine = tuple(self.mine)
        if mine:
            with changing_ledger(self.database, self.engine) as ledger:
                ledger.renew(mine, self.clock() + LEASE_SECONDS)

    def figures(self) -> Figures:
        """:raises Unavailable: if the database is."""
        ledger = read_ledger(self.database, self.engine)
        waiting = Counter(one.priority for one in ledger.waiting)
        return Figures(self.room.seen, ledger.held, waiting, dict(self.counts))
