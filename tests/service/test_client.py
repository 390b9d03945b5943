"""The service's client: what came instead of an answer is said, and a key goes to one address only."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from ingest.corpus.errors import InvalidInput, Unavailable
from service.client import Client, Problem
from service.evaluation.asking.keys import read_keys

PROBLEM = b'{"detail": "No room.", "code": "no_capacity", "why": "It is full.", "next_step": "Ask later."}'


@contextmanager
def answering(status: int, body: bytes, location: str = "") -> Iterator[tuple[str, list[str]]]:
    """The address of a server that always answers so, and the paths that it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            if location:
                self.send_header("Location", location)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def test_a_problem_is_told_in_the_service_s_words() -> None:
    with answering(503, PROBLEM) as (url, _), pytest.raises(Problem) as refused:
        Client(url, "k").send("GET", "/v1/users")
    error = refused.value
    assert (error.status, error.code, error.why) == (503, "no_capacity", "It is full.")
    assert error.what == "GET /v1/users: No room. (503)"
    assert error.next_step == "Ask later."


@pytest.mark.parametrize("body", [b"<html>Bad gateway</html>", b"[]", b""])
def test_what_is_no_problem_document_has_the_status_for_a_code(body: bytes) -> None:
    with answering(502, body) as (url, _), pytest.raises(Problem) as refused:
        Client(url, "k").send("GET", "/")
    assert refused.value.code == "http_502"


def test_a_key_does_not_follow_a_redirect() -> None:
    with (
        answering(200, b"{}") as (elsewhere, asked),
        answering(302, b"", location=elsewhere) as (url, _),
        pytest.raises(Problem) as refused,
    ):
        Client(url, "k").send("GET", "/v1/users")
    assert refused.value.status == 302
    assert asked == []


def test_what_does_not_answer_as_the_service_would_is_said_so() -> None:
    with answering(200, b"<html>") as (url, _), pytest.raises(Unavailable, match="does not answer"):
        Client(url, "k").send("GET", "/")
    with pytest.raises(Unavailable, match="does not answer"):
        Client(url, "k").send("GET", "/")  # it is gone
    with pytest.raises(InvalidInput, match="no address of a service"):
        Client("file:///etc/passwd", "k")


@pytest.mark.parametrize(
    "text", ["", "cw_short", "[]", '{"ana": "x"}', '{"citeward-evaluator": 3}', '"cw"', "[3]"]
)
def test_a_file_without_keys_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "keys"
    path.write_text(text)
    with pytest.raises(InvalidInput, match="cannot be used"):
        read_keys(path)
    with pytest.raises(InvalidInput, match=r"cannot be read\. No such file"):
        read_keys(tmp_path / "missing")
