"""Work in pieces that is given up at a deadline: the caller goes on, the work ends at its next piece."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Executor
from itertools import takewhile
from threading import Event
from typing import TypeVar

T = TypeVar("T")


def all_within(seconds: float, pieces: Iterable[T], worker: Executor) -> list[T]:
    """All of them, made by the worker one after the other; the wait for the worker counts.

    :raises TimeoutError: if they are not all there in time. Other errors as of making them.
    """
    given_up = Event()
    making = worker.submit(lambda: list(takewhile(lambda _: not given_up.is_set(), pieces)))
    try:
        return making.result(seconds)
    except TimeoutError:
        given_up.set()
        making.cancel()  # if it has not begun
        raise
