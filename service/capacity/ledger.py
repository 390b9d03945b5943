"""Who holds room in the engine's KV cache and who waits for it: pure, with the clock and the rows outside.

What is held is never more than there is. Who waits is served in one order, and its head alone: nobody who
takes less slips past a head that does not fit yet, so a long request is not put off for ever.

    interactive before batch
    then by turn: each tenant's requests have turns that count up from the one that was served last
    then by coming

So one tenant's flood does not starve another. Once a request is the first of its tenant's line, at most two
of each other tenant's requests of its class are served before it. For its turn is then at most one above the
turn last served; whoever waits has at least that one, and the turns of one tenant all differ, which leaves
two of each; and whoever comes later gets at least its turn, and came later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import ceil

from service.types import Priority

MOST_RETRY_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Ticket:
    """One request's place: in the queue until it is granted, then in the engine."""

    id: str
    tenant: str  # any word that no two tenants share
    priority: Priority
    blocks: int
    until: float  # seconds since the epoch; one that nobody renews is given back then
    turn: int = 0
    number: int = 0  # in the order of coming
    granted: bool = False

    @property
    def place(self) -> tuple[bool, int, int]:
        return self.priority == "batch", self.turn, self.number


@dataclass(slots=True)
class Ledger:
    """All tickets of one engine, whichever process of the service they belong to."""

    tickets: dict[str, Ticket] = field(default_factory=dict)
    served: dict[Priority, int] = field(default_factory=dict)  # turn of the last that was granted

    @property
    def held(self) -> int:
        """Blocks."""
        return sum(one.blocks for one in self.tickets.values() if one.granted)

    @property
    def waiting(self) -> list[Ticket]:
        """In the order in which they are served."""
        return sorted((one for one in self.tickets.values() if not one.granted), key=lambda one: one.place)

    def ask(self, ticket: Ticket) -> None:
        """Let it wait. Its turn is behind the one last served and behind those of its tenant that wait."""
        own = [one.turn for one in self.waiting if _same_line(one, ticket)]
        turn = max([self.served.get(ticket.priority, 0), *own]) + 1
        number = max((one.number for one in self.tickets.values()), default=0) + 1
        self.tickets[ticket.id] = replace(ticket, turn=turn, number=number, granted=False)

    def shrink(self, ticket_id: str, blocks: int) -> None:
        """It still waits, and would do with fewer blocks. One that is gone or granted is left alone."""
        ticket = self.tickets.get(ticket_id)
        if ticket is not None and not ticket.granted:
            self.tickets[ticket_id] = replace(ticket, blocks=min(blocks, ticket.blocks))

    def settle(self, now: float, reservable: int, most_waiting: int) -> None:
        """Give back what ran out; grant what fits, in order; turn away who can never fit, and the end of a
        queue that is too long, which is the last of whoever floods it.
        """
        for ticket in [one for one in self.tickets.values() if one.until <= now]:
            self._remove(ticket.id)
        for ticket in self.waiting:
            if ticket.blocks > reservable:
                self._remove(ticket.id)
        for ticket in self.waiting:
            if ticket.blocks > reservable - self.held:
                break
            self.tickets[ticket.id] = replace(ticket, granted=True)
            self.served[ticket.priority] = ticket.turn
        for ticket in self.waiting[most_waiting:]:
            self._remove(ticket.id)

    def give_back(self, ticket_id: str, until: float | None = None) -> None:
        """At once, or at `until` at the latest. Twice is once."""
        ticket = self.tickets.get(ticket_id)
        if ticket is None:
            return
        if until is None or not ticket.granted:
            self._remove(ticket_id)
        else:
            self.tickets[ticket_id] = replace(ticket, until=min(until, ticket.until))

    def renew(self, ticket_ids: Iterable[str], until: float) -> None:
        for ticket_id in ticket_ids:
            if ticket_id in self.tickets:
                self.tickets[ticket_id] = replace(self.tickets[ticket_id], until=until)

    def retry_after(self, blocks: int, reservable: int, held_seconds: float) -> int:
        """Whole seconds until so many blocks behind all who wait should be free.

        What is held drains at `held / held_seconds` blocks a second, by Little's law.

        :param held_seconds: how long one holds its room, on average.
        """
        missing = blocks + sum(one.blocks for one in self.waiting) - (reservable - self.held)
        seconds = ceil(missing * held_seconds / max(self.held, 1))
        return min(max(seconds, 1), MOST_RETRY_SECONDS)

    def _remove(self, ticket_id: str) -> None:
        """Whoever of its line waits behind it moves up by one turn; the line has no gaps."""
        gone = self.tickets.pop(ticket_id, None)
        if gone is None or gone.granted:
            return
        for one in self.waiting:
            if _same_line(one, gone) and one.turn > gone.turn:
                self.tickets[one.id] = replace(one, turn=one.turn - 1)


def _same_line(one: Ticket, other: Ticket) -> bool:
    return (one.tenant, one.priority) == (other.tenant, other.priority)
