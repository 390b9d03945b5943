"""Ten thousand random requests, at several times what fits, against an engine with vLLM's own rules."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

import pytest

from service.capacity.ledger import Ledger, Ticket
from service.capacity.room import Room
from tests.simulated_engine import Layers, SimulatedEngine

REQUESTS = 10_000
SEQUENCES = 6  # of the longest kind, that fit
LONGEST, IN_FLIGHT = 1024, 512
MOST_WAITING = 40
NOTICES, GRACE, LEASE = 2, 3, 60  # steps: until the engine notices who left; until that is given back
LAYOUTS = {
    "one kind of layers": [Layers(16)],
    "windows beside full attention": [Layers(16), Layers(16, 100), Layers(16, 100), Layers(16, 100)],
}


@dataclass(frozen=True, slots=True)
class Request:
    name: str
    tenant: str
    prompt: int
    most: int  # tokens that it may write
    writes: int  # that it writes before it ends by itself
    leaves_after: int | None  # steps in the engine
    is_crash: bool  # of the process that asked: nobody gives back


def requests(random: Random, number: int) -> list[Request]:
    def one(place: int) -> Request:
        """Most of them write little, and write all that they may: else little of what is held is used."""
        prompt, most = random.randint(1, 700), random.randint(1, random.choice((30, 30, 30, 30, 300)))
        writes = random.choice((most, most, random.randint(1, most)))
        leaves = random.randint(1, 20) if random.random() < 0.25 else None
        tenant, is_crash = random.choice("aaaaaabc"), random.random() < 0.3
        return Request(str(place), tenant, prompt, most, writes, leaves, is_crash)

    return [one(place) for place in range(number)]


def room_of(layers: Sequence[Layers], usable: int) -> Room:
    """As it follows from what the engine says of its longest sequence."""
    return Room(usable, LONGEST, sum(one.most(LONGEST, IN_FLIGHT) for one in layers), layers[0].block, 0.0)


@dataclass(slots=True)
class Service:
    """Admission in virtual time: a step of the engine is a second."""

    engine: SimulatedEngine
    room: Room
    now: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    waiting: dict[str, Request] = field(default_factory=dict)
    inside: dict[str, tuple[Request, int]] = field(default_factory=dict)  # with the step that they came in
    leaving: deque[tuple[int, str]] = field(default_factory=deque)
    ends: Counter[str] = field(default_factory=Counter)
    most_held: int = 0  # blocks

    def ask(self, request: Request) -> None:
        blocks = self.room.blocks(request.prompt + request.most)
        self.ledger.ask(Ticket(request.name, request.tenant, "interactive", blocks, self.now + 10**6))
        self.waiting[request.name] = request

    def step(self) -> None:
        self.now += 1
        while self.leaving and self.leaving[0][0] <= self.now:
            self.engine.abort(self.leaving.popleft()[1])
        for name in self.engine.step():
            if self.inside.pop(name, None):
                self.ledger.give_back(name)
                self.ends["answered"] += 1
        self._leave()
        self.ledger.settle(self.now, self.room.reservable, MOST_WAITING)
        self.most_held = max(self.most_held, self.ledger.held)
        self._enter()

    def _leave(self) -> None:
        for request, since in list(self.inside.values()):
            if request.leaves_after is not None and self.now - since >= request.leaves_after:
                del self.inside[request.name]
                self.leaving.append((self.now + NOTICES, request.name))
                self.ledger.give_back(request.name, self.now + (LEASE if request.is_crash else GRACE))
                self.ends["left"] += 1

    def _enter(self) -> None:
        for name, request in list(self.waiting.items()):
            ticket = self.ledger.tickets.get(name)
            if ticket is None:
                self.ends["turned away"] += 1
            elif ticket.granted:
                self.inside[name] = (request, self.now)
                self.engine.add(name, request.prompt, request.writes)
            else:
                continue
            del self.waiting[name]


def run(layers: Sequence[Layers], usable: int, rate: float) -> Service:
    random = Random(20_26)
    service = Service(SimulatedEngine(usable, layers, IN_FLIGHT), room_of(layers, usable))
    for request in requests(random, REQUESTS):
        while random.random() > rate:
            service.step()
        service.ask(request)
    while service.waiting or service.inside:
        service.step()
    return service


@pytest.mark.parametrize("layers", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_nobody_is_put_back_and_nobody_waits_in_the_engine(layers: Sequence[Layers]) -> None:
    service = run(layers, usable=SEQUENCES * room_of(layers, 1).longest_blocks, rate=0.4)
    engine = service.engine
    assert (engine.preemptions, engine.capacity_waits) == (0, 0)
    assert service.ends.total() == REQUESTS
    assert service.ends["turned away"] > REQUESTS / 4  # or it was no overload
    assert service.ends["answered"] > 1000
    assert 0.9 * engine.usable < service.most_held <= engine.usable
    service.now += 2 * LEASE
    service.ledger.settle(service.now, service.room.reservable, MOST_WAITING)
    assert service.ledger.tickets == {}


@pytest.mark.parametrize("layers", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_the_same_requests_without_admission_are_put_back_and_wait(layers: Sequence[Layers]) -> None:
    """Else the test above would say nothing."""
    random = Random(20_26)
    engine = SimulatedEngine(SEQUENCES * room_of(layers, 1).longest_blocks, layers, IN_FLIGHT)
    for request in requests(random, 300):
        engine.add(request.name, request.prompt, request.writes)
        engine.step()
    while engine.waiting or engine.running:
        engine.step()
    assert engine.preemptions > 0
    assert engine.capacity_waits > 0


# What was measured on a real server: 32 usable blocks of 128, sixteen requests of 300 + 250 tokens at once.
MEASURED = [Layers(128)]
ALIKE = [Request(str(place), "a", 300, 250, 250, None, False) for place in range(16)]


def measured_engine() -> SimulatedEngine:
    return SimulatedEngine(32, MEASURED, 2048)


def test_the_simulated_engine_does_what_a_real_one_was_seen_to_do() -> None:
    """Ten at a time, six put back. They come over HTTP, so one after the other, a step apart."""
    engine, most_running = measured_engine(), 0
    for request in ALIKE:
        engine.add(request.name, request.prompt, request.writes)
        engine.step()
    while engine.waiting or engine.running:
        engine.step()
        most_running = max(most_running, len(engine.running))
    assert (most_running, engine.preemptions, engine.most_used) == (10, 6, 32)


@pytest.mark.parametrize(("too_few", "at_once", "is_safe"), [(0, 6, True), (1, 8, False)])
def test_with_a_block_less_for_each_they_are_put_back(too_few: int, at_once: int, is_safe: bool) -> None:
    """Six at a time take 30 of 32 blocks; what is reserved is what is needed, to the block."""
    service, most_running = Service(measured_engine(), Room(32, 2048, 16 - too_few, 128, 0.0)), 0
    for request in ALIKE:
        service.ask(request)
    while service.waiting or service.inside:
        service.step()
        most_running = max(most_running, len(service.inside))
    assert most_running == at_once
    assert (service.engine.preemptions == 0) is is_safe
    assert service.engine.most_used == (30 if is_safe else 32)
