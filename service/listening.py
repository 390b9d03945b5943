"""Whether a server could listen somewhere, asked before anything slow is begun for it."""

from __future__ import annotations

import socket

from ingest.corpus.errors import Conflict


def require_free(host: str, port: int, server: str, next_step: str) -> None:
    """:raises Conflict: if `server` cannot listen there, with what the system says of it."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as a server does after a restart
            probe.bind(address)
    except OSError as error:
        raise Conflict(
            f"{server} cannot listen on {host} port {port}.", why=f"{error}.", next_step=next_step
        ) from error
