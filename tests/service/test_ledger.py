"""The ledger of KV room: what is held, who is served next, and what comes back, whatever happens."""

from __future__ import annotations

from collections import Counter
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from service.capacity.ledger import MOST_RETRY_SECONDS, Ledger, Ticket
from service.types import Priority

FOREVER = 10.0**9
MOST_WAITING = 12
NAMES = count()


def ticket(
    tenant: str = "a", blocks: int = 1, priority: Priority = "interactive", until: float = FOREVER
) -> Ticket:
    return Ticket(f"{tenant}{next(NAMES)}", tenant, priority, blocks, until)


def served(ledger: Ledger, reservable: int) -> list[str]:
    """Who is served, in order, if each is done as soon as it is granted."""
    order = []
    while ledger.waiting:
        ledger.settle(0.0, reservable, 10**6)
        granted = [one for one in ledger.tickets.values() if one.granted]
        if not granted:
            break
        for one in sorted(granted, key=lambda one: one.place):
            order.append(one.tenant)
            ledger.give_back(one.id)
    return order


def asked(*tickets: Ticket) -> Ledger:
    ledger = Ledger()
    for one in tickets:
        ledger.ask(one)
    return ledger


def test_what_fits_is_granted_and_the_rest_waits_in_order() -> None:
    first, second, third = ticket(blocks=3), ticket(blocks=3), ticket(blocks=3)
    ledger = asked(first, second, third)
    ledger.settle(0.0, 7, 10)
    assert (ledger.held, [one.id for one in ledger.waiting]) == (6, [third.id])
    ledger.give_back(first.id)
    ledger.settle(0.0, 7, 10)
    assert (ledger.held, ledger.waiting) == (6, [])


def test_nobody_slips_past_a_head_that_does_not_fit_yet() -> None:
    ledger = asked(ticket(blocks=4), ticket("b", blocks=5), ticket("c", blocks=1))
    ledger.settle(0.0, 8, 10)
    assert [one.tenant for one in ledger.waiting] == ["b", "c"]


def test_interactive_comes_before_batch() -> None:
    batch, interactive = ticket(priority="batch"), ticket("b")
    assert served(asked(batch, ticket(priority="batch"), interactive), 1) == ["b", "a", "a"]


def test_a_flood_of_one_tenant_lets_each_other_tenant_in_between() -> None:
    ledger = asked(*[ticket("flood") for _ in range(50)], ticket("b"), ticket("c"), ticket("b"))
    assert served(ledger, 1)[:6] == ["flood", "b", "c", "flood", "b", "flood"]


def test_a_queue_that_is_too_long_turns_away_the_end_of_the_flood() -> None:
    ledger = asked(*[ticket("flood") for _ in range(MOST_WAITING)])
    ledger.settle(0.0, 0, MOST_WAITING)  # drops all: they can never fit
    assert not ledger.tickets
    held = ticket("flood", blocks=2)
    ledger = asked(held, *[ticket("flood") for _ in range(MOST_WAITING)])
    ledger.settle(0.0, 2, MOST_WAITING)
    ledger.ask(ticket("b"))
    ledger.ask(ticket("c", priority="batch"))
    ledger.settle(0.0, 2, MOST_WAITING)
    assert Counter(one.tenant for one in ledger.waiting) == {"flood": MOST_WAITING - 1, "b": 1}


def test_what_nobody_renews_is_given_back() -> None:
    ledger = asked(ticket(until=10.0), ticket("b", until=30.0))
    ledger.settle(0.0, 1, 10)
    ledger.settle(9.0, 1, 10)
    assert ledger.held == 1
    ledger.settle(10.0, 1, 10)
    assert [one.tenant for one in ledger.tickets.values() if one.granted] == ["b"]


def test_what_is_renewed_stays() -> None:
    held = ticket(until=10.0)
    ledger = asked(held)
    ledger.renew([held.id, "gone"], 20.0)
    ledger.settle(15.0, 1, 10)
    assert (ledger.held, len(ledger.tickets)) == (1, 1)


def test_what_the_engine_still_has_to_notice_is_held_a_little_longer() -> None:
    held, waits = ticket(), ticket("b")
    ledger = asked(held, waits)
    ledger.settle(0.0, 1, 10)
    ledger.give_back(held.id, until=1.0)
    ledger.give_back(held.id, until=9.0)  # twice is once: it does not come back later for that
    ledger.settle(0.9, 1, 10)
    assert not ledger.tickets[waits.id].granted
    ledger.settle(1.0, 1, 10)
    assert ledger.tickets[waits.id].granted
    assert held.id not in ledger.tickets


def test_one_who_waits_and_would_do_with_less_is_let_in_sooner() -> None:
    held, waits = ticket(blocks=3), ticket("b", blocks=3)
    ledger = asked(held, waits)
    ledger.settle(0.0, 4, 10)
    ledger.shrink(waits.id, 1)
    ledger.shrink(held.id, 1)  # granted: it has what it has
    ledger.shrink("gone", 1)
    ledger.settle(0.0, 4, 10)
    assert ledger.held == 4


@pytest.mark.parametrize(
    ("blocks", "seconds"), [(2, 1), (4, 5), (40, 95), (10**6, MOST_RETRY_SECONDS)], ids=str
)
def test_retry_after_is_what_the_missing_blocks_take_to_drain(blocks: int, seconds: int) -> None:
    """4 blocks held for 10 s each on average are 0.4 a second; 2 are free."""
    ledger = asked(ticket(blocks=4))
    ledger.settle(0.0, 6, 10)
    assert ledger.retry_after(blocks, 6, 10.0) == seconds


# --- fairness ----------------------------------------------------------------------------------


def serve(ledger: Ledger) -> Ticket | None:
    """The one who is next, served and done."""
    ledger.settle(0.0, 1, 10**6)
    granted = next((one for one in ledger.tickets.values() if one.granted), None)
    if granted is not None:
        ledger.give_back(granted.id)
    return granted


def heads(ledger: Ledger) -> dict[tuple[str, Priority], str]:
    first: dict[tuple[str, Priority], str] = {}
    for one in ledger.waiting:
        first.setdefault((one.tenant, one.priority), one.id)
    return first


@pytest.mark.parametrize("leave", [0, 40])
def test_a_flood_is_not_starved_by_those_who_come_one_by_one(leave: int) -> None:
    """Whether the first of it were served or left the queue."""
    flood = [ticket("flood") for _ in range(50)]
    ledger = asked(*flood)
    for one in flood[:leave]:
        ledger.give_back(one.id)
    for _ in range(40 - leave):
        serve(ledger)
    order = []
    for _ in range(8):
        ledger.ask(ticket("b"))
        ledger.ask(ticket("c"))
        order += [served.tenant for _ in range(2) if (served := serve(ledger))]
    assert order.count("flood") >= 4, order


Step = tuple[str, Priority, int]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from("abcd"), st.sampled_from(["interactive", "batch"]), st.integers(1, 9)),
        st.tuples(st.just("serve"), st.just("interactive"), st.integers(1, 9)),
        st.tuples(st.just("leave"), st.just("interactive"), st.integers(0, 30)),
    ),
    max_size=60,
)


@given(STEPS)
@settings(max_examples=300, deadline=None)
def test_of_each_other_tenant_two_at_most_are_served_before_the_first_of_a_line(steps: list[Step]) -> None:
    ledger, passed = Ledger(), dict[str, Counter[str]]()

    def look() -> None:
        for one in heads(ledger).values():
            passed.setdefault(one, Counter())

    for what, priority, number in steps:
        if what == "leave" and ledger.waiting:
            ledger.give_back(ledger.waiting[number % len(ledger.waiting)].id)
        elif what == "serve":
            for _ in range(number):
                count_passed(ledger, serve(ledger), passed)
                look()
        elif what != "leave":
            for _ in range(number):
                ledger.ask(ticket(what, priority=priority))
        look()
    assert all(times <= 2 for counted in passed.values() for times in counted.values())


def count_passed(ledger: Ledger, served: Ticket | None, passed: dict[str, Counter[str]]) -> None:
    """One for each first of a line of the same class that goes on waiting."""
    for one in ledger.waiting if served else ():
        if one.id in passed and (one.priority, one.tenant) != (served.priority, served.tenant):
            passed[one.id][served.tenant] += one.priority == served.priority


# --- whatever happens --------------------------------------------------------------------------


class Requests(RuleBasedStateMachine):
    """Any order of coming, shrinking, ending, leaving, crashing and restarting."""

    @initialize(reservable=st.integers(1, 20))
    def open(self, reservable: int) -> None:
        self.ledger, self.now, self.reservable = Ledger(), 0.0, reservable
        self.over: Counter[str] = Counter()  # tickets that were there and are no more

    def act(self) -> None:
        before = dict(self.ledger.tickets)
        self.ledger.settle(self.now, self.reservable, MOST_WAITING)
        self.note(before)

    def note(self, before: dict[str, Ticket]) -> None:
        self.over.update(before.keys() - self.ledger.tickets.keys())

    def give_back(self, ticket_id: str, until: float | None = None) -> None:
        before = dict(self.ledger.tickets)
        self.ledger.give_back(ticket_id, until)
        self.note(before)

    def choose(self, data: st.DataObject, granted: bool) -> str | None:
        found = sorted(one.id for one in self.ledger.tickets.values() if one.granted is granted)
        return data.draw(st.sampled_from(found)) if found else None

    @rule(
        tenant=st.sampled_from("abc"),
        blocks=st.integers(1, 22),
        priority=st.sampled_from(["interactive", "batch"]),
        seconds=st.integers(1, 60),
        times=st.integers(1, 4),
    )
    def come(self, tenant: str, blocks: int, priority: Priority, seconds: int, times: int) -> None:
        for _ in range(times):
            self.ledger.ask(ticket(tenant, blocks, priority, self.now + seconds))
        self.act()

    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        if (chosen := self.choose(data, granted=True)) is not None:
            self.give_back(chosen)
            self.give_back(chosen)
            self.act()

    @rule(data=st.data(), grace=st.integers(0, 5))
    def leave_while_answered(self, data: st.DataObject, grace: int) -> None:
        if (chosen := self.choose(data, granted=True)) is not None:
            self.give_back(chosen, self.now + grace)
            self.act()

    @rule(data=st.data())
    def leave_the_queue(self, data: st.DataObject) -> None:
        if (chosen := self.choose(data, granted=False)) is not None:
            self.give_back(chosen, self.now + 5)
            self.act()

    @rule(data=st.data(), blocks=st.integers(1, 5))
    def shrink(self, data: st.DataObject, blocks: int) -> None:
        if (chosen := self.choose(data, granted=False)) is not None:
            self.ledger.shrink(chosen, blocks)
            self.act()

    @rule(seconds=st.integers(1, 30))
    def time_passes(self, seconds: int) -> None:
        """What was not renewed runs out, as after a crash."""
        self.now += seconds
        self.act()

    @rule(data=st.data(), seconds=st.integers(1, 60))
    def renew(self, data: st.DataObject, seconds: int) -> None:
        some = (
            data.draw(st.sets(st.sampled_from(sorted(self.ledger.tickets)))) if self.ledger.tickets else set()
        )
        self.ledger.renew(some, self.now + seconds)

    @rule(reservable=st.integers(1, 20))
    @precondition(lambda self: self.ledger.held == 0)
    def restart_the_engine(self, reservable: int) -> None:
        self.reservable = reservable
        self.act()

    @invariant()
    def never_below_zero_never_above_what_there_is(self) -> None:
        assert 0 <= self.ledger.held <= self.reservable

    @invariant()
    def what_fits_does_not_wait(self) -> None:
        waiting = self.ledger.waiting
        assert not waiting or waiting[0].blocks > self.reservable - self.ledger.held or self.stale()

    def stale(self) -> bool:
        """Something ran out since the last look at it."""
        return any(one.until <= self.now for one in self.ledger.tickets.values())

    @invariant()
    def each_is_given_back_once(self) -> None:
        assert not self.over or max(self.over.values()) == 1
        assert not self.over.keys() & self.ledger.tickets.keys()

    @invariant()
    def the_queue_is_bounded(self) -> None:
        assert len(self.ledger.waiting) <= MOST_WAITING

    def teardown(self) -> None:
        """All who are still there end: nothing stays held."""
        if not hasattr(self, "ledger"):
            return
        while self.ledger.tickets:
            for one in list(self.ledger.tickets):
                self.give_back(one)
            self.act()
        assert self.ledger.held == 0
        assert max(self.over.values(), default=1) == 1


TestRequests = Requests.TestCase
TestRequests.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
