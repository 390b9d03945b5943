"""The service behind a real server, for tests that need connections of their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from service.app import create_app
from service.parts import Parts

PATIENCE_SECONDS = 120.0


@contextmanager
def serving(parts: Parts) -> Iterator[int]:
    """The port of a real server."""
    server = uvicorn.Server(uvicorn.Config(create_app(parts), port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, name="service")
    thread.start()
    try:
        wait_until(lambda: server.started, PATIENCE_SECONDS)
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


def wait_until(there: Callable[[], bool], seconds: float) -> float:
    """Seconds that it took."""
    began = time.perf_counter()
    while not there():
        assert time.perf_counter() - began < seconds, "it did not come to be"
        time.sleep(0.05)
    return time.perf_counter() - began
