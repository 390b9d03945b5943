"""A circuit breaker around a language model: one that is dead is left alone, or each request waits for it."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Literal

from ingest.corpus.errors import ModelBadOutput, ModelTimeout, ModelUnavailable
from service.engine.chat import unavailable
from service.seams import Generator
from service.types import DraftStatement, Generated, GenerationTask

LOG = logging.getLogger("citeward.engine")
FAILURES = 3  # in a row, then it is left alone
COOL_DOWN_SECONDS = 30.0


@dataclass(slots=True)
class CircuitBreaker:
    """Closed until `FAILURES` drafts in a row found the model gone or too slow; open while it cools down;
    then half open: one draft at a time tries it, and the first that comes to its end closes the circuit.

    Bad output is no failure here, nor is a request refused for what it holds: whoever sends that is there.
    A draft that its reader leaves tells nothing.
    """

    model: Generator
    clock: Callable[[], float] = time.monotonic  # seconds
    failures: int = 0  # in a row
    open_until: float = 0.0  # of `clock`; means something once there are `FAILURES`
    trying: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def kind(self) -> Literal["vllm", "quoting"]:
        return self.model.kind

    @property
    def version(self) -> str:
        return self.model.version

    async def draft(self, task: GenerationTask) -> AsyncGenerator[DraftStatement | Generated]:
        """Without evidence the model is not asked, and nothing is learned of it.

        :raises ModelUnavailable: at once, while the model is left alone. Other errors are the model's.
        """
        is_trial = bool(task.evidence) and self._admit()
        try:
            async with aclosing(self.model.draft(task)) as drafts:
                async for drafted in drafts:
                    if isinstance(drafted, Generated) and task.evidence:
                        self._answered()  # now: the reader may ask for nothing after this
                    yield drafted
        except (ModelUnavailable, ModelTimeout):
            self._failed()
            raise
        except ModelBadOutput:
            self._answered()
            raise
        finally:
            if is_trial:
                self.trying = False  # nobody else writes it while a trial runs

    def _admit(self) -> bool:
        """Whether this draft is the trial.

        :raises ModelUnavailable: if the circuit is open, or another draft tries it.
        """
        with self.lock:
            if self.failures < FAILURES:
                return False
            if self.trying or self.clock() < self.open_until:
                raise unavailable(
                    f"It failed {self.failures} times in a row, and is tried again {COOL_DOWN_SECONDS:g} s "
                    "after the last."
                )
            self.trying = True
            return True

    def _answered(self) -> None:
        with self.lock:
            was_open, self.failures = self.failures >= FAILURES, 0
        if was_open:
            LOG.info(json.dumps({"event": "circuit_closed"}))

    def _failed(self) -> None:
        with self.lock:
            self.failures += 1
            self.open_until = self.clock() + COOL_DOWN_SECONDS
            failures = self.failures
        if failures >= FAILURES:
            LOG.warning(
                json.dumps({"event": "circuit_open", "failures": failures, "seconds": COOL_DOWN_SECONDS})
            )
