"""What the server says before it loads anything."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from ingest.corpus.errors import Conflict
from ingest.corpus.settings import CorpusSettings
from service.app import serve
from service.listening import require_free
from service.settings import ServiceSettings


def test_a_taken_port_is_told_before_database_and_model_are_opened(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        nothing_there = CorpusSettings(home=tmp_path / "none", embedder="no-such-model")
        with pytest.raises(Conflict, match=f"port {port}.*in use.*CITEWARD_PORT"):
            serve(ServiceSettings(corpus=nothing_there, port=port))
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_port_is_taken_or_free_and_still_free_when_it_was_looked_at(host: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        once = socket.create_server((host, 0), family=family)
    except OSError:
        pytest.skip(f"this machine has no {host}")
    with once:
        port = once.getsockname()[1]
        with pytest.raises(Conflict, match=f"The service cannot listen on {host} port {port}.*in use"):
            require_free(host, port, "The service", "Take another.")
    for _ in range(2):
        require_free(host, port, "The service", "Take another.")
    with socket.create_server((host, port), family=family):
        pass


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
def test_an_address_that_is_none_of_this_machine_is_said_so(host: str) -> None:
    with pytest.raises(Conflict, match=f"cannot listen on {host} port 8080.*Take another"):
        require_free(host, 8080, "The service", "Take another.")
