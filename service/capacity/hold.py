"""One generation's place: in the queue, then in the engine."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from anyio import Event

from service.capacity.ledger import Ticket
from service.capacity.room import Room


@dataclass(frozen=True, slots=True)
class Size:
    """Of one sequence, in tokens, and of a second one that runs at times while it does."""

    prompt: int
    answer: int  # at most
    beside: int = 0  # of the second, prompt and answer at most; 0: there is none

    @property
    def tokens(self) -> int:
        return self.prompt + self.answer

    def blocks(self, room: Room) -> int:
        """What it takes at most, in a room that holds the first.

        Where both are more than may be reserved, the first has all of it to itself, and the second waits in
        the engine for its end: that comes, as the engine waits for nobody who reads.
        """
        second = room.blocks(self.beside) if self.beside else 0
        return min(room.blocks(self.tokens) + second, room.reservable)


@dataclass(slots=True)
class Hold:
    """A place in the queue, then in the engine."""

    ticket: Ticket
    sizes: list[Size]
    step: int = 0  # which of the sizes; they get smaller
    began: float = field(default_factory=time.monotonic)
    granted_at: float | None = None
    changed: Event = field(default_factory=Event)
    gone: bool = False  # from the queue, without having been granted
    is_over: bool = False  # the engine has ended it, so that nothing of it is left there

    @property
    def waited_ms(self) -> float:
        return ((self.granted_at or time.monotonic()) - self.began) * 1000

    def decide(self, granted: bool) -> None:
        if granted:
            self.granted_at = self.granted_at or time.monotonic()
        else:
            self.gone = True
        self.changed.set()

    @property
    def is_decided(self) -> bool:
        return self.gone or self.granted_at is not None
