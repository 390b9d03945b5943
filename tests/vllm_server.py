"""A real vLLM server on SmolLM2, started once in a run of the tests however many workers take part."""

from __future__ import annotations

import fcntl
import os
import shlex
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from service.engine import server
from service.engine.launch import Launch, has_gpu
from service.engine.server import EngineStatus

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".venv-vllm" / "bin" / "python"
MODEL = ROOT / "var" / "models" / "smollm2-135m-instruct"
MISSING = "no vLLM or no model for it: make test installs both"
START_SECONDS = 900  # two minutes on two busy cores, in which the first test that asks for the server waits
KV_GIB = 1
MAX_MODEL_LEN = 4096


@pytest.fixture(scope="session")
def vllm_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineStatus]:
    """What `citeward engine status` says of it: `url`, `model`, `max_model_len`, `kv_tokens`, `log`, …"""
    require_engine()
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / "engine"
    with _users(shared) as users:
        found = server.status(users.read_text(), folder) if users.exists() else None
        if found is None or not found.ready:
            found = server.start(_launch_of(MODEL, KV_GIB), folder, print)
        users.write_text(found.url)
        (shared / f"uses-engine-{os.getpid()}").touch()
    yield found
    with _users(shared):
        (shared / f"uses-engine-{os.getpid()}").unlink()
        if not list(shared.glob("uses-engine-*")):
            assert server.stop(folder), "the server had ended before the tests had"


@contextmanager
def engine_of(model: Path, kv_gib: int, folder: Path) -> Iterator[EngineStatus]:
    """A server of its own for this model; log and state in `folder`."""
    if not PYTHON.exists():
        pytest.skip("no vLLM: make test installs it")
    with _running(_launch_of(model, kv_gib), folder) as started:
        yield started


@pytest.fixture
def engine_alone(
    vllm_server: EngineStatus, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EngineStatus]:
    """The server, while no other test that asks for it so makes it work: two at once take their time."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with (shared / "engine.turn").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield vllm_server


@contextmanager
def small_engine(folder: Path, blocks: int, max_model_len: int) -> Iterator[EngineStatus]:
    """A server of one's own whose KV cache has so few blocks, and keeps no prefix for a second request."""
    folder.mkdir(parents=True)
    python = folder / "python"  # a launch has no word for these two, as nobody but tests wants them
    options = f"--num-gpu-blocks-override {blocks} --no-enable-prefix-caching"
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(str(PYTHON))} "$@" {options}\n')
    python.chmod(0o755)
    with _running(
        replace(_launch_of(MODEL, KV_GIB), python=python, max_model_len=max_model_len), folder
    ) as one:
        yield one


def has_engine() -> bool:
    """Whether one can be started."""
    return PYTHON.exists() and (MODEL / "pack.json").exists()


def require_engine() -> None:
    """Skips the test where there is none."""
    if not has_engine():
        pytest.skip(MISSING)


@contextmanager
def _running(launch: Launch, folder: Path) -> Iterator[EngineStatus]:
    try:
        yield server.start(launch, folder, lambda _said: None)
    finally:
        server.stop(folder)


@contextmanager
def _users(shared: Path) -> Iterator[Path]:
    """One worker at a time; the file holds the server's address once there is one."""
    with (shared / "engine.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield shared / "engine.url"


def _launch_of(model: Path, kv_gib: int) -> Launch:
    return Launch(
        python=PYTHON,
        model=str(model),
        name=model.name,
        host="127.0.0.1",
        port=_free_port(),
        max_model_len=MAX_MODEL_LEN,
        kv_gib=kv_gib,
        gpu=has_gpu(),
        threads=1,  # two that wait for each other are slow where other tests run
    )


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
    return port
