"""How full the engine's cache was while a service was loaded, read from the service's own metrics."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from service.capacity.load_level import KvSeen

EVERY_SECONDS = 0.5
SERIES = {
    'citeward_kv_blocks{of="reservable"}': "reservable",
    'citeward_kv_blocks{of="reserved"}': "reserved",
    'citeward_kv_blocks{of="used"}': "used",
    "citeward_engine_preemptions_total": "preemptions",
}


@dataclass(slots=True)
class KvWatch:
    """`read` gives the text of /metrics; what it cannot be read from is not known."""

    read: Callable[[], str]
    seen: list[dict[str, float]] = field(default_factory=list)

    @contextmanager
    def watching(self) -> Iterator[None]:
        self.seen.clear()
        over = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(over,), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()

    def found(self) -> KvSeen | None:
        """None if nothing was told: no language model, or a key that does not open the metrics."""
        told = [one for one in self.seen if "reservable" in one]
        if not told:
            return None
        counted = [one["preemptions"] for one in told if "preemptions" in one]
        used = [one["used"] for one in told if "used" in one]
        return KvSeen(
            reservable=told[-1]["reservable"],
            most_reserved=max(one.get("reserved", 0.0) for one in told),
            most_used=max(used) if used else None,
            preemptions=max(0.0, counted[-1] - counted[0]) if counted else None,
        )

    def _watch(self, over: threading.Event) -> None:
        last = False
        while not last:
            last = over.wait(EVERY_SECONDS) if self.seen else over.is_set()
            self.seen.append(series_of(self.read()))


def series_of(exposition: str) -> dict[str, float]:
    """What of SERIES a page of metrics holds."""
    found = {}
    for line in exposition.splitlines():
        name, _, value = line.rpartition(" ")
        if name in SERIES:
            found[SERIES[name]] = float(value)
    return found
