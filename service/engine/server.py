"""One vLLM server, a process of its own with children: started, looked at and stopped as a whole."""

from __future__ import annotations

import fcntl
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ingest.corpus.errors import Conflict, Unavailable
from ingest.corpus.settings import variable
from ingest.models import Progress
from service.engine.launch import Launch, command
from service.engine.log import last_word, log_lines, start_failed
from service.engine.probe import WARM_SECONDS, ask_first, cache_numbers, is_healthy, served_model
from service.engine.process_group import end, find_process, lives, members
from service.listening import require_free
from service.settings import ServiceSettings

START_SECONDS = 1_800.0  # a large model from a hub over a slow line; a small one takes one or two minutes
STOP_SECONDS = 30.0  # vLLM ends within a few
TELL_SECONDS = 5.0  # between two signs of life
LOOK_SECONDS = 0.5
LOG, STATE, LOCK = "engine.log", "engine.json", "engine.lock"


@dataclass(frozen=True, slots=True)
class Started:
    """What is remembered of a server that was started."""

    pid: int  # of the head of its process group
    born: int  # clock ticks after the machine started
    model: str
    url: str
    since: float  # seconds since 1970
    stopping: bool = False  # a stop is under way


@dataclass(frozen=True, slots=True)
class EngineStatus:
    running: bool  # the server that `start` started lives
    ready: bool  # something answers at the address
    url: str
    model: str | None
    max_model_len: int | None  # tokens of one sequence
    kv_tokens: int | None  # tokens that the KV cache holds, of all sequences together
    kv_blocks: int | None  # one of which is never given out
    block_size: int | None  # tokens
    uptime_seconds: int | None
    pid: int | None
    log: Path


def engine_folder(settings: ServiceSettings) -> Path:
    """Where log and state lie."""
    return settings.corpus.home / "engine"


def start(launch: Launch, folder: Path, tell: Progress) -> EngineStatus:
    """Start the server and return when it has answered a first request; one that lives already is kept.

    Whatever goes wrong while it is waited for, nothing of it stays alive.

    :raises Unavailable: if there is no environment, or the server ends or is not ready in time.
    :raises Conflict: if another model runs, another start is under way, the port is taken, or the server is
        stopped meanwhile.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _one_at_a_time(folder):
        started = _alive(folder)
        if started is None:
            started = _spawn(launch, folder, tell)
        else:  # perhaps not ready yet, if the command that started it was killed
            _require_same(started, launch)
            tell(f"The engine is running already (process {started.pid}).")
        try:
            _wait_until_ready(started, folder / LOG, tell)
            _warm_up(started, folder / LOG, tell)
        except BaseException as error:  # an interrupt, too: nobody would look after the server
            stopped = isinstance(error, Unavailable) and _is_being_stopped(folder)
            stop(folder)
            if stopped:
                raise Conflict(
                    "vLLM was stopped before it was ready.",
                    why="A `citeward engine stop` came while it started.",
                    next_step="Start it again if it is wanted.",
                ) from error
            raise
    return status(launch.url, folder)


def status(url: str, folder: Path) -> EngineStatus:
    """What is known of the server at `url`, whoever started it, and of the one that was started from here."""
    started = _alive(folder)
    served = served_model(url)
    cache = cache_numbers(url) if served else {}
    return EngineStatus(
        running=started is not None,
        ready=bool(served),
        url=url,
        model=served.get("id", started.model if started else None),
        max_model_len=served.get("max_model_len"),
        kv_tokens=cache.get("kv_cache_size_tokens"),
        kv_blocks=cache.get("num_gpu_blocks"),
        block_size=cache.get("block_size"),
        uptime_seconds=int(time.time() - started.since) if started else None,
        pid=started.pid if started else None,
        log=folder / LOG,
    )


def stop(folder: Path) -> bool:
    """End the server that was started from here and all its children; False if none lived."""
    started = _read_state(folder)
    if started is None:
        return False
    _write_state(folder, replace(started, stopping=True))  # read by a start that is still waiting
    stopped = end(started.pid, started.born, STOP_SECONDS)
    (folder / STATE).unlink(missing_ok=True)
    return stopped


# --- conditions of a start ---------------------------------------------------------------------


def _require_same(started: Started, launch: Launch) -> None:
    if (started.model, started.url) != (launch.name, launch.url):
        raise Conflict(
            f"The engine runs already, with {started.model} at {started.url}.",
            why=f"{launch.name} at {launch.url} was asked for.",
            next_step="Run `citeward engine stop` first.",
        )


def _require_environment(python: Path) -> None:
    if not python.exists():
        raise Unavailable(
            "There is no environment with vLLM.",
            why=f"{python} does not exist.",
            next_step=f"Run `make install-engine`, or set {variable('engine_python')} to its interpreter.",
        )


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    with (folder / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Conflict(
                "Another `citeward engine start` is under way.", next_step="Wait for it, or stop the engine."
            ) from error
        yield


# --- the process, and what outlives the command that started it --------------------------------


def _spawn(launch: Launch, folder: Path, tell: Progress) -> Started:
    _require_environment(launch.python)
    require_free(
        launch.host,
        launch.port,
        "The engine",
        f"Stop what listens there, or set {variable('engine_url')} to a free port of this machine.",
    )
    tell(f"Starting vLLM with {launch.name}, log in {folder / LOG}")
    with (folder / LOG).open("wb") as log:
        process = subprocess.Popen(
            command(launch),
            cwd=folder,  # python -m would also import from a folder that is full of other things
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # and so a process group
        )
    there = find_process(process.pid)  # not waited for, so that it is there even if it has ended
    assert there is not None
    process.returncode = 0  # it may live on, and Popen must not complain that nobody waited for it
    started = Started(process.pid, there.born, launch.name, launch.url, time.time())
    _write_state(folder, started)
    return started


def _alive(folder: Path) -> Started | None:
    """What was started and lives, were it a child of it alone."""
    started = _read_state(folder)
    return started if started is not None and members(started.pid, started.born) else None


def _is_being_stopped(folder: Path) -> bool:
    """By another command, or it was: a stop leaves no state."""
    left = _read_state(folder)
    return left is None or left.stopping


def _write_state(folder: Path, started: Started) -> None:
    (folder / STATE).write_text(json.dumps(asdict(started)) + "\n", encoding="utf-8")


def _read_state(folder: Path) -> Started | None:
    """None if nothing was started, or what a killed command left is not whole."""
    try:
        return Started(**json.loads((folder / STATE).read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None


# --- waiting -----------------------------------------------------------------------------------


def _wait_until_ready(started: Started, log: Path, tell: Progress) -> None:
    began = told = time.monotonic()
    while not is_healthy(started.url):
        now = time.monotonic()
        if not lives(started.pid, started.born):
            raise start_failed(log_lines(log))
        if now - began > START_SECONDS:
            raise Unavailable(
                f"vLLM was not ready within {START_SECONDS:.0f} s and was stopped.",
                why=f"The last it said is: {last_word(log_lines(log))}",
                next_step=f"Look at {log}, then start it again.",
            )
        if now - told >= TELL_SECONDS:
            told = now
            tell(f"  … {now - began:.0f} s: {last_word(log_lines(log))}")
        time.sleep(LOOK_SECONDS)
    tell(f"It answers after {time.monotonic() - began:.0f} s.")


def _warm_up(started: Started, log: Path, tell: Progress) -> None:
    try:
        took = ask_first(started.url, started.model, WARM_SECONDS)
    except (OSError, ValueError) as error:
        raise Unavailable(
            "vLLM started, and its first request failed.",
            why=f"{error}; the last it said is: {last_word(log_lines(log))}",
            next_step=f"Look at {log}. The model must be one that chats, with a chat template.",
        ) from error
    tell(f"The first request took {took:.0f} s.")
