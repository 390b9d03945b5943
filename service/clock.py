"""Time spent by stage in answering a question."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")
LONGEST_TOLD = ("check",)  # stages that come once a statement: how long one of them held it back at most


@dataclass(slots=True)
class StageClock:
    """Milliseconds by stage, added up; monotonic, so a clock that jumps changes nothing."""

    started: float = field(default_factory=time.perf_counter)
    stages_ms: dict[str, float] = field(default_factory=dict)
    longest_ms: dict[str, float] = field(default_factory=dict)  # of the times that a stage was gone through

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = self._since(start)
            self.stages_ms[name] = self.stages_ms.get(name, 0.0) + spent
            self.longest_ms[name] = max(self.longest_ms.get(name, 0.0), spent)

    async def each(self, name: str, pieces: AsyncIterator[T]) -> AsyncGenerator[T, None]:
        """The pieces as they come, the time waited for them added to the stage."""
        while True:
            with self.stage(name):
                try:
                    piece = await anext(pieces)
                except StopAsyncIteration:
                    return
            yield piece

    def mark(self, name: str) -> None:
        """The time since the start, kept once: the first of its kind."""
        self.stages_ms.setdefault(name, self._since(self.started))

    def timings_ms(self) -> dict[str, float]:
        stages = {name: round(value, 3) for name, value in self.stages_ms.items()}
        longest = {
            f"{name}_longest": self.longest_ms[name] for name in LONGEST_TOLD if name in self.longest_ms
        }
        return {**stages, **longest, "e2e": self._since(self.started)}

    @staticmethod
    def _since(start: float) -> float:
        return round((time.perf_counter() - start) * 1000, 3)
