"""One generation's place: in the queue, then in the engine."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from anyio import Event

from service.capacity.ledger import Ticket


@dataclass(frozen=True, slots=True)
class Size:
    """Of one sequence, in tokens."""

    prompt: int
    answer: int  # at most

    @property
    def tokens(self) -> int:
        return self.prompt + self.answer


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
