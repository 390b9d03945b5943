"""One ledger for all processes that share a database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from ingest.corpus.database import Database, open_database
from service.capacity.ledger import Ledger, Ticket
from service.capacity.reservations import changing_ledger, read_ledger

ENGINE = "http://127.0.0.1:8001"
ROOM, EACH, AT_ONCE = 10, 3, 8


def ticket(name: str, blocks: int = EACH, until: float = 100.5) -> Ticket:
    return Ticket(name, "5a17", "interactive", blocks, until)


def test_what_a_block_leaves_is_what_the_next_finds(database: Database) -> None:
    with changing_ledger(database, ENGINE) as ledger:
        for name in ("a", "b"):
            ledger.ask(ticket(name, blocks=6))
        ledger.settle(0.0, ROOM, 10)
        left = Ledger(dict(ledger.tickets), dict(ledger.served))
    assert read_ledger(database, ENGINE) == left
    with changing_ledger(database, ENGINE) as ledger:
        assert ledger == left
        ledger.give_back("a")
        ledger.settle(0.0, ROOM, 10)
    after = read_ledger(database, ENGINE)
    assert (after.tickets.keys(), after.held, after.served) == ({"b"}, 6, {"interactive": 2})


def test_a_block_that_raises_changes_nothing(database: Database) -> None:
    def ask_and_fail() -> None:
        with changing_ledger(database, ENGINE) as ledger:
            ledger.ask(ticket("a"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        ask_and_fail()
    assert read_ledger(database, ENGINE) == Ledger()


def test_engines_have_ledgers_of_their_own(database: Database) -> None:
    with changing_ledger(database, ENGINE) as ledger:
        ledger.ask(ticket("a"))
        ledger.settle(0.0, ROOM, 10)
    assert read_ledger(database, "http://127.0.0.1:8002") == Ledger()


def test_many_that_ask_at_once_never_hold_more_than_there_is(database: Database, database_url: str) -> None:
    """Each over a connection of its own, as processes are."""
    together = Barrier(AT_ONCE)

    def ask(name: str) -> None:
        own = open_database(database_url)
        together.wait()
        with changing_ledger(own, ENGINE) as ledger:
            ledger.ask(ticket(name))
            ledger.settle(0.0, ROOM, AT_ONCE)
        own.close()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(ask, map(str, range(AT_ONCE))))
    ledger = read_ledger(database, ENGINE)
    assert (ledger.held, len(ledger.waiting)) == (9, AT_ONCE - 3)
    assert sorted(one.number for one in ledger.tickets.values()) == list(range(1, AT_ONCE + 1))


def test_what_a_dead_process_held_comes_back(database: Database) -> None:
    with changing_ledger(database, ENGINE) as ledger:
        ledger.ask(ticket("dead", blocks=ROOM, until=30.0))
        ledger.settle(0.0, ROOM, 10)
    with changing_ledger(database, ENGINE) as ledger:
        ledger.ask(ticket("alive", blocks=ROOM))
        ledger.settle(29.0, ROOM, 10)
        assert not ledger.tickets["alive"].granted
    with changing_ledger(database, ENGINE) as ledger:
        ledger.settle(30.0, ROOM, 10)
    left = read_ledger(database, ENGINE).tickets.values()
    assert [(one.id, one.granted) for one in left] == [("alive", True)]
