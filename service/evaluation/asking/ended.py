"""A run that is told to end cleans up first, as one that is interrupted does."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ENDING = (signal.SIGTERM, signal.SIGHUP)  # Python makes an exception of SIGINT alone
KILLED = 128  # and the signal's number: what a shell says of a process that a signal ended


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Within it a signal that would end the process raises SystemExit: `with` and `finally` do their work.

    A signal for which something else was said already, as by nohup, is left so. Python lets the main thread
    alone say what a signal does; in another one this does nothing.
    """
    ours: list[signal.Signals] = []

    def end(number: int, _: object) -> None:
        for one in ours:  # `timeout` sends it twice, and the second must not cut off the cleaning up
            signal.signal(one, signal.SIG_IGN)
        raise SystemExit(KILLED + number)

    if threading.current_thread() is threading.main_thread():
        ours += [one for one in ENDING if signal.getsignal(one) is signal.SIG_DFL]
    for one in ours:
        signal.signal(one, end)
    try:
        yield
    finally:
        for one in ours:
            signal.signal(one, signal.SIG_DFL)
