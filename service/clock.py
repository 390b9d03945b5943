"""Time spent by stage in answering a question, and when each stage was gone through."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from ingest.corpus.errors import CitewardError

T = TypeVar("T")
LONGEST_TOLD = ("check",)  # stages that come once a statement: how long one of them held it back at most
CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Visit:
    """One time that a stage was gone through; seconds of `time.perf_counter`."""

    stage: str
    start: float
    end: float
    fault: str = ""  # as `fault_of` has it; empty: it came to its end


@dataclass(slots=True)
class StageClock:
    """Milliseconds by stage, added up; monotonic, so a clock that jumps changes nothing."""

    started: float = field(default_factory=time.perf_counter)
    started_at_ns: int = field(default_factory=time.time_ns)  # the same moment by the time of day
    stages_ms: dict[str, float] = field(default_factory=dict)
    longest_ms: dict[str, float] = field(default_factory=dict)  # of the times that a stage was gone through
    visits: list[Visit] = field(default_factory=list)  # in the order in which they ended

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        with self.visit(name), self._added_to(name):
            yield

    async def each(self, name: str, pieces: AsyncIterator[T]) -> AsyncGenerator[T, None]:
        """The pieces as they come, the time waited for them added to the stage; close it, or its visit lasts.

        The visit reaches from the first wait to the end, with what the caller does between two pieces.
        """
        with self.visit(name):
            while True:
                with self._added_to(name):
                    try:
                        piece = await anext(pieces)
                    except StopAsyncIteration:
                        return
                yield piece

    @contextmanager
    def visit(self, name: str) -> Iterator[None]:
        """Only noted: its time is part of another stage's."""
        start, fault = time.perf_counter(), ""
        try:
            yield
        except BaseException as error:
            fault = fault_of(error)
            raise
        finally:
            self.visits.append(Visit(name, start, time.perf_counter(), fault))

    def mark(self, name: str) -> None:
        """The time since the start, kept once: the first of its kind."""
        self.stages_ms.setdefault(name, self._since(self.started))

    def timings_ms(self) -> dict[str, float]:
        stages = {name: round(value, 3) for name, value in self.stages_ms.items()}
        longest = {
            f"{name}_longest": self.longest_ms[name] for name in LONGEST_TOLD if name in self.longest_ms
        }
        return {**stages, **longest, "e2e": self._since(self.started)}

    def at_ns(self, moment: float) -> int:
        """A moment of `time.perf_counter` by the time of day, in nanoseconds since 1970."""
        return self.started_at_ns + round((moment - self.started) * 1e9)

    @contextmanager
    def _added_to(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = self._since(start)
            self.stages_ms[name] = self.stages_ms.get(name, 0.0) + spent
            self.longest_ms[name] = max(self.longest_ms.get(name, 0.0), spent)

    @staticmethod
    def _since(start: float) -> float:
        return round((time.perf_counter() - start) * 1000, 3)


def fault_of(error: BaseException) -> str:
    """A code for what ended a piece of work, never its message: that may quote what was asked."""
    if isinstance(error, CitewardError):
        return error.code
    return type(error).__name__ if isinstance(error, Exception) else CANCELLED
