"""A process that was started as the head of a group, and all that it started: who lives, and how to end them.

Read from /proc, so that a pid which came again for somebody else is not taken for the one that was started,
and a process that has ended but was not waited for does not count as alive. Linux only.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
LOOK_SECONDS = 0.1  # between two looks at who is left


@dataclass(frozen=True, slots=True)
class Process:
    """One line of /proc/<pid>/stat."""

    pid: int
    state: str  # "Z": ended, and nobody asked how
    group: int  # pid of the group's head
    born: int  # clock ticks after the machine started


def find_process(pid: int) -> Process | None:
    """None if there is none of that pid."""
    try:
        stat = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:  # it is gone
        return None
    fields = stat.rpartition(")")[2].split()  # the name before it may hold anything
    return Process(pid, fields[0], int(fields[2]), int(fields[19]))


def lives(head: int, born: int) -> bool:
    """Whether the head itself does, whatever became of its children."""
    process = find_process(head)
    return process is not None and process.born == born and process.state != "Z"


def members(head: int, born: int) -> tuple[Process, ...]:
    """The living processes of the group whose head was started at `born`, whether the head lives or not."""
    there = find_process(head)
    if there is not None and there.born != born:
        return ()  # a group's number is not given away while one of it lives
    return tuple(one for one in _all() if one.group == head and one.state != "Z")


def end(head: int, born: int, patience_seconds: float) -> bool:
    """Ask the head to end, wait, then kill whoever of the group is left; False if nobody was alive.

    Returns when the whole group has ended.
    """
    if not members(head, born):
        return False
    with suppress(ProcessLookupError):  # its children may have outlived it
        os.kill(head, signal.SIGTERM)
    deadline = time.monotonic() + patience_seconds
    while members(head, born) and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)
    while members(head, born):
        with suppress(ProcessLookupError):
            os.killpg(head, signal.SIGKILL)
        time.sleep(LOOK_SECONDS)
    return True


def _all() -> Iterator[Process]:
    for entry in PROC.iterdir():
        process = find_process(int(entry.name)) if entry.name.isdigit() else None
        if process is not None:
            yield process
