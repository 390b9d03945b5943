"""The room of one engine as it was seen last, looked at again when that may have changed."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from anyio import to_thread

from ingest.corpus.errors import ModelUnavailable
from service.capacity.room import Room, one_at_a_time
from service.engine.cache import CacheSeen

LOG = logging.getLogger("citeward.capacity")


@dataclass(slots=True)
class EngineRoom:
    """An engine that starts anew may have another room: see `doubt`."""

    look: Callable[[], CacheSeen]  # errors as of `look_at_cache`
    context_window: int
    self_test: Callable[[CacheSeen], str | None] = lambda _: None  # what is not as we reckon, in words
    seen: CacheSeen | None = None
    alarm: str | None = None
    is_watched: bool = False  # somebody looks every few seconds
    doubts: int = 1  # how often it was said that the engine may be another one now
    settled: int = 0  # how many of them had been raised when the last look began
    looking: threading.Lock = field(
        default_factory=threading.Lock
    )  # so that what was seen last is the newest

    async def now(self) -> Room:
        """:raises ModelUnavailable: if there is no engine."""
        if self.is_doubted or not self.is_watched:
            await to_thread.run_sync(self.see)
        return self.last

    @property
    def last(self) -> Room:
        return self.seen.room if self.seen else one_at_a_time(self.context_window)

    @property
    def is_doubted(self) -> bool:
        """What was seen may be of an engine that is no more."""
        return self.settled != self.doubts

    def doubt(self) -> None:
        """The engine broke off, or could not be reached. A look that had begun by then does not settle it."""
        self.doubts += 1

    def see(self) -> None:
        """:raises ModelUnavailable: if there is no engine."""
        with self.looking:
            doubts = self.doubts
            try:
                seen = self.look()
            except OSError:  # too busy to say; what it said holds, or else nothing is known
                seen = self.seen or CacheSeen(one_at_a_time(self.context_window))
            except ModelUnavailable:
                self.doubt()
                raise
            if self.seen is None or seen.room != self.seen.room:
                self._tell_of(seen)
            self.seen, self.settled = seen, doubts

    def _tell_of(self, seen: CacheSeen) -> None:
        self.alarm = self.self_test(seen)
        told = json.dumps({"event": "kv_room", "blocks": seen.room.reservable, "alarm": self.alarm})
        LOG.log(logging.ERROR if self.alarm else logging.INFO, told)

    def standing(self) -> str:
        """In words, for operators."""
        if self.alarm is not None:
            return self.alarm
        if self.seen is None:
            return "unknown: the engine was not seen yet"
        room = self.seen.room
        if not room.is_said:
            return "unknown: the engine does not say how large its KV cache is; one answer at a time"
        return (
            f"{room.reservable} blocks: {room.longest_at_once} sequences of {room.longest} tokens at a time, "
            "shorter ones more"
        )
