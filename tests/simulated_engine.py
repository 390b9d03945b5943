"""vLLM's scheduler in virtual time: whom it lets in, what a sequence holds, and who is put back.

let in      the head of the queue, if there are blocks for its whole prompt; nobody behind it is tried, and
            nobody at all in a step that put somebody back
compute     at most so many tokens a step, those that run first; a prompt may be read in parts
grow        a block when one is full; for tokens that are yet to be written none is kept
put back    if there is none left: the last of those that run, to the head of the queue, to begin anew
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Layers:
    """A group of layers that share blocks."""

    block: int  # tokens
    window: int | None = None  # tokens; None: every token is kept

    def held(self, start: int, end: int) -> int:
        """Blocks while tokens `start` to `end` are computed; what lies before the window is freed."""
        first = 0 if self.window is None else max(start - self.window + 1, 0)
        return -(-end // self.block) - first // self.block

    def most(self, tokens: int, in_flight: int) -> int:
        """Blocks that a sequence of so many tokens may come to hold, as the engine reckons."""
        if self.window is None:
            return -(-tokens // self.block)
        return -(-min(self.window - 1 + in_flight, tokens) // self.block) + 1


@dataclass(slots=True)
class Generation:
    name: str
    prompt: int  # tokens
    writes: int  # tokens, before it ends by itself
    written: int = 0
    computed: int = 0
    blocks: int = 0

    @property
    def known(self) -> int:
        return self.prompt + self.written


@dataclass(slots=True)
class SimulatedEngine:
    usable: int  # blocks
    layers: Sequence[Layers]
    in_flight: int  # tokens computed in one step, at most
    waiting: deque[Generation] = field(default_factory=deque)
    running: list[Generation] = field(default_factory=list)
    preemptions: int = 0
    capacity_waits: int = 0  # steps in which the head of the queue lacked blocks
    most_used: int = 0

    @property
    def free(self) -> int:
        return self.usable - sum(one.blocks for one in self.running)

    def add(self, name: str, prompt: int, writes: int) -> None:
        self.waiting.append(Generation(name, prompt, writes))

    def abort(self, name: str) -> None:
        self.running = [one for one in self.running if one.name != name]
        self.waiting = deque(one for one in self.waiting if one.name != name)

    def step(self) -> list[str]:
        """The names of those that ended in it."""
        left, before = self.in_flight, self.preemptions
        for one in list(self.running):
            if one in self.running and left:
                left -= self._compute(one, left)
        if self.preemptions == before:
            self._let_in(left)
        self.most_used = max(self.most_used, self.usable - self.free)
        return self._write()

    def _compute(self, one: Generation, left: int) -> int:
        tokens = min(one.known - one.computed, left)
        needed = self._held(one.computed, one.computed + tokens)
        while needed - one.blocks > self.free:
            if self._put_back() is one:
                return 0
        one.blocks, one.computed = needed, one.computed + tokens
        return tokens

    def _put_back(self) -> Generation:
        victim = self.running.pop()
        victim.blocks = victim.computed = 0
        self.waiting.appendleft(victim)
        self.preemptions += 1
        return victim

    def _let_in(self, left: int) -> None:
        while self.waiting and left:
            one = self.waiting[0]
            if sum(group.most(one.known, self.in_flight) for group in self.layers) > self.free:
                self.capacity_waits += 1
                return
            self.running.append(self.waiting.popleft())
            left -= self._compute(one, left)

    def _write(self) -> list[str]:
        for one in self.running:
            one.written += one.computed == one.known
        over = [one.name for one in self.running if one.written >= one.writes]
        self.running = [one for one in self.running if one.written < one.writes]
        return over

    def _held(self, start: int, end: int) -> int:
        return sum(group.held(start, end) for group in self.layers)
