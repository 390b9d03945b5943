"""Time spent by stage in answering a question."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class StageClock:
    """Milliseconds by stage, added up; monotonic, so a clock that jumps changes nothing."""

    started: float = field(default_factory=time.perf_counter)
    stages_ms: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.stages_ms[name] = self.stages_ms.get(name, 0.0) + self._since(start)

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
        return {**stages, "e2e": self._since(self.started)}

    @staticmethod
    def _since(start: float) -> float:
        return round((time.perf_counter() - start) * 1000, 3)
