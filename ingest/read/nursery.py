"""Processes that read one file each, forked from one that has its imports done.

To start Python for every file costs a third of a second of a core, for a page of text nearly all that reading
costs. So the first read starts a nursery, `python -m ingest.read.nursery`, whose environment is
`CHILD_ENVIRONMENT` and nothing else, and which never sees a file itself. For each read it is handed three
descriptors (the order with the file, where the answer goes, and a socket over which the two sides speak),
forks, and the child limits itself and reads.

The nursery alone kills its children, and before it waits for them, so that no number is ever another's. It
does so when told over the socket, and when that is closed: whoever asked for the read may have died.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, NoReturn, TextIO

PACKAGE_ROOT = Path(__file__).resolve().parents[2]
# All that a child sees: nothing of the service's own environment goes along, since it may hold keys.
CHILD_ENVIRONMENT = {"PYTHONPATH": str(PACKAGE_ROOT), "OPENBLAS_NUM_THREADS": "1", "LANG": "C.UTF-8"}
# What takes long to import, and only some files need.
IMPORTED = ("charset_normalizer", "markdown_it", "pypdfium2")
LONGEST_REPLY = 512 * 2**20  # bytes; more cannot come from a text within its limit
LONGEST_WORD = 64  # bytes of what is said over a socket
KILL = b"kill"
TRIES = 2  # a nursery may have died since it was last asked
NO_NURSERY = 1  # status of a child that could not even be forked
END_SECONDS = 5.0
Serve = Callable[[BinaryIO, TextIO], None]  # reads an order and the file after it, writes the answer


@dataclass(frozen=True, slots=True)
class Exit:
    """What a child left behind."""

    reply: bytes
    status: int  # negative: the signal that ended it
    timed_out: bool
    peak_mib: float


# --- the side of whoever wants a file read -------------------------------------------------------


def read_apart(order: bytes, seconds: float) -> Exit:
    """The answer of a child that was given `order` on its standard input; killed when the time is over."""
    for _ in range(TRIES):
        asked = nursery()
        left = _read_once(asked, order, seconds)
        if left is not None:
            return left
        _leave(asked)
    return Exit(b"", NO_NURSERY, timed_out=False, peak_mib=0.0)


def _read_once(asked: Nursery, order: bytes, seconds: float) -> Exit | None:
    """None: the nursery is no more."""
    with ExitStack() as opened:
        handed = opened.enter_context(tempfile.TemporaryFile())
        handed.write(order)
        handed.seek(0)
        ours, theirs = (opened.enter_context(one) for one in socket.socketpair(type=socket.SOCK_SEQPACKET))
        reading, writing = os.pipe()
        answer = opened.enter_context(os.fdopen(reading, "rb"))
        try:
            asked.begin(handed.fileno(), writing, theirs.fileno())
        except OSError:
            return None
        finally:
            os.close(writing)
            theirs.close()
        late = threading.Event()
        timer = threading.Timer(seconds, _stop, (ours, late))
        timer.start()
        try:
            reply = answer.read(LONGEST_REPLY)
            said = ours.recv(LONGEST_WORD)
        except ConnectionError:
            return None
        finally:  # at an interrupt the socket closes, and so ends the child
            timer.cancel()
            timer.join()
    if not said:
        return None
    status, peak_kib = said.split()
    return Exit(reply, int(status), late.is_set(), int(peak_kib) / 1024)


def _stop(child: socket.socket, late: threading.Event) -> None:
    late.set()
    with suppress(OSError):
        child.send(KILL)


@dataclass(slots=True, eq=False)
class Nursery:
    """Threads may share it; a process that was forked from this one has its own."""

    owner: int = field(default_factory=os.getpid)
    control: socket.socket = field(init=False)
    process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.control, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-s", "-m", "ingest.read.nursery", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=CHILD_ENVIRONMENT,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    @property
    def serves(self) -> bool:
        return self.owner == os.getpid() and self.process.poll() is None

    def begin(self, handed: int, writing: int, child: int) -> None:
        """:raises OSError: if it is no more."""
        socket.send_fds(self.control, [b"read"], [handed, writing, child])

    def close(self) -> None:
        """Ends its children too."""
        self.control.close()
        if self.owner == os.getpid():
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(END_SECONDS)


_at_work: list[Nursery] = []
_looking = threading.Lock()


def nursery() -> Nursery:
    """The one of this process, started if there is none."""
    with _looking:
        if not _at_work or not _at_work[0].serves:
            close()
            _at_work.append(Nursery())
        return _at_work[0]


def _leave(dead: Nursery) -> None:
    """It closed its sockets, which comes before it can be waited for."""
    with _looking:
        if dead in _at_work:
            _at_work.remove(dead)
            dead.close()


def close() -> None:
    while _at_work:
        _at_work.pop().close()


atexit.register(close)


# --- the nursery ---------------------------------------------------------------------------------


def main(control: socket.socket, serve: Serve) -> None:
    """Forks and buries, until whoever started it is gone."""
    children: dict[socket.socket, int] = {}
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    while True:
        watched: list[socket.socket | int] = [control, woken, *children]
        ready, _, _ = select.select(watched, [], [])
        if woken in ready:
            os.read(woken, 2**12)
        for child in [one for one in children if one in ready]:
            if child.recv(LONGEST_WORD) != KILL:  # nobody waits for it any more
                _end(children.pop(child), child)
            else:
                _kill(children[child])
        if control in ready:
            word, descriptors, _, _ = socket.recv_fds(control, LONGEST_WORD, 3)
            if not word:
                break
            child, number = _fork(descriptors, serve, [control, *children], [woken, wake])
            children[child] = number
        for child, number in [*children.items()]:
            if _has_ended(child, number):
                del children[child]
    for child, number in children.items():
        _end(number, child)


def _fork(
    descriptors: list[int], serve: Serve, others: list[socket.socket], pipes: list[int]
) -> tuple[socket.socket, int]:
    handed, writing, speaking = descriptors
    number = os.fork()
    if number == 0:
        _live(handed, writing, serve, [speaking, *pipes, *(one.fileno() for one in others)])
    with suppress(OSError):  # the child does it too: whichever comes first
        os.setpgid(number, number)
    os.close(handed)
    os.close(writing)
    return socket.socket(fileno=speaking), number


def _live(handed: int, writing: int, serve: Serve, not_its_own: list[int]) -> NoReturn:
    """The child's whole life."""
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setpgid(0, 0)
        for one in not_its_own:
            os.close(one)
        os.dup2(handed, 0)
        os.dup2(writing, 1)
        os.close(handed)
        os.close(writing)
        with os.fdopen(0, "rb") as order, os.fdopen(1, "w", encoding="utf-8") as answer:
            serve(order, answer)
        status = 0
    finally:
        os._exit(status)


def _has_ended(child: socket.socket, number: int) -> bool:
    """Waits for it if so, and says how it ended."""
    ended, status, usage = os.wait4(number, os.WNOHANG)
    if not ended:
        return False
    with child, suppress(OSError):
        child.send(f"{os.waitstatus_to_exitcode(status)} {usage.ru_maxrss}".encode())
    return True


def _end(number: int, child: socket.socket) -> None:
    _kill(number)
    child.close()
    os.waitpid(number, 0)


def _kill(number: int) -> None:
    """It and all that it started: it leads a group."""
    os.killpg(number, signal.SIGKILL)


if __name__ == "__main__":
    for module in IMPORTED:
        with suppress(ImportError):  # whoever needs it says so
            import_module(module)
    main(socket.socket(fileno=int(sys.argv[1])), import_module("ingest.read.child").serve)
