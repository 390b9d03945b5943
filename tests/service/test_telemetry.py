"""What sends traces: where it is off, where its collector fails, and when the service stops."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ingest.corpus.errors import InvalidInput, Unavailable
from service.adapters.telemetry import BATCH, CLOSE_SECONDS, MOST_WAITING, Sender, Telemetry, telemetry_over
from service.bootstrap import config_hash, open_traces
from service.settings import ServiceSettings, load_settings
from service.spans import Span

TRACES = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
PATIENCE_SECONDS = 20.0


@dataclass(slots=True)
class Kept:
    """A telemetry whose spans stay here."""

    memory: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    telemetry: Telemetry = field(init=False)

    def __post_init__(self) -> None:
        self.telemetry = telemetry_over(self.memory, "0.0")

    def spans(self) -> tuple[ReadableSpan, ...]:
        self.telemetry.provider.force_flush()
        return tuple(self.memory.get_finished_spans())

    def roots(self) -> list[ReadableSpan]:
        return [one for one in self.spans() if one.name == "ask"]

    def inside(self, parent: ReadableSpan) -> list[ReadableSpan]:
        """In the order in which they began."""
        of_it = [one for one in self.spans() if one.parent and one.parent.span_id == parent.context.span_id]
        return sorted(of_it, key=lambda one: one.start_time or 0)


@pytest.fixture
def kept() -> Iterator[Kept]:
    kept = Kept()
    yield kept
    kept.telemetry.close()


@dataclass(frozen=True, slots=True)
class Posted:
    path: str
    body: bytes


@dataclass(slots=True)
class Collector:
    """A real HTTP server that takes what is sent to it, or never says so."""

    url: str = ""
    heard: list[Posted] = field(default_factory=list)
    asked: threading.Event = field(default_factory=threading.Event)
    may_answer: threading.Event = field(default_factory=threading.Event)

    def is_asked(self) -> bool:
        return self.asked.wait(PATIENCE_SECONDS)

    def let_go(self) -> None:
        self.may_answer.set()

    def groups(self) -> list[Any]:
        return [one for posted in self.heard for one in _parsed(posted.body).resource_spans]

    def spans(self) -> list[Any]:
        return [span for group in self.groups() for scope in group.scope_spans for span in scope.spans]


def _parsed(body: bytes) -> Any:
    return ExportTraceServiceRequest.FromString(body)


@contextmanager
def collecting(answers: bool = True) -> Iterator[Collector]:
    collector = Collector()
    if answers:
        collector.let_go()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.asked.set()
            collector.may_answer.wait(PATIENCE_SECONDS)
            collector.heard.append(Posted(self.path, body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_words: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="collector")
    thread.start()
    try:
        yield collector
    finally:
        collector.let_go()
        server.shutdown()
        server.server_close()
        thread.join()


class Failing(InMemorySpanExporter):
    """Takes nothing until it is told to."""

    takes = False

    def export(self, spans: Any) -> SpanExportResult:
        return super().export(spans) if self.takes else SpanExportResult.FAILURE


def trace(spans: int = 1) -> Span:
    return Span(
        "ask", "server", 1, 2, children=tuple(Span("pack", "internal", 1, 2) for _ in range(spans - 1))
    )


def events(caplog: pytest.LogCaptureFixture) -> list[str]:
    said = (json.loads(one.message) for one in caplog.records if one.name == "citeward.telemetry")
    return [one["event"] for one in said]


def test_what_would_be_seen_if_a_text_were_in_a_span(kept: Kept) -> None:
    """Else the tests that look for one prove nothing."""
    kept.telemetry.send(Span("zqname", "internal", 1, 2, {"citeward.note": ("zqvalue",)}))
    (said,) = (one.to_json() for one in kept.spans())
    assert "zqname" in said
    assert "zqvalue" in said


def test_what_is_lost_is_counted_and_said_once_until_something_gets_through(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    exporter = Failing()
    telemetry = telemetry_over(exporter, "0.0")
    for _ in range(3):
        telemetry.send(trace(2))
        telemetry.provider.force_flush()
    assert (telemetry.dropped, events(caplog)) == (6, ["spans_dropped"])
    exporter.takes = True
    telemetry.send(trace(2))
    telemetry.provider.force_flush()
    assert (telemetry.dropped, events(caplog)) == (6, ["spans_dropped", "spans_sent_again"])
    telemetry.close()
    assert len(exporter.get_finished_spans()) == 2


def test_the_queue_has_an_end_and_takes_whole_traces_only() -> None:
    class Stuck(InMemorySpanExporter):
        begun, goes_on = threading.Event(), threading.Event()

        def export(self, spans: Any) -> SpanExportResult:
            self.begun.set()
            self.goes_on.wait(PATIENCE_SECONDS)
            return super().export(spans)

    exporter = Stuck()
    telemetry = telemetry_over(exporter, "0.0")
    size = 10
    for _ in range(BATCH // size + 1):
        telemetry.send(trace(size))
    assert exporter.begun.wait(PATIENCE_SECONDS)
    began = time.monotonic()
    for _ in range(MOST_WAITING // size):
        telemetry.send(trace(size))
    assert time.monotonic() - began < PATIENCE_SECONDS / 2
    assert telemetry.dropped == (BATCH // size + 1) * size
    exporter.goes_on.set()
    telemetry.close()
    traces: dict[int, int] = {}
    for one in exporter.get_finished_spans():
        traces[one.context.trace_id] = traces.get(one.context.trace_id, 0) + 1
    assert set(traces.values()) == {size}
    assert len(traces) == MOST_WAITING // size


def test_what_is_left_is_sent_when_the_service_stops(kept: Kept) -> None:
    kept.telemetry.send(trace(3))
    kept.telemetry.close()
    assert len(kept.memory.get_finished_spans()) == 3
    assert kept.telemetry.dropped == 0


def test_stopping_waits_for_nobody_longer_than_its_bound() -> None:
    with collecting(answers=False) as collector:
        telemetry = open_traces(ServiceSettings(otlp_endpoint=collector.url))
        assert telemetry is not None
        telemetry.send(trace(3))
        assert collector.is_asked()
        began = time.monotonic()
        telemetry.close()
        assert time.monotonic() - began < CLOSE_SECONDS + 5
    assert telemetry.dropped == 3


def test_what_was_given_up_is_not_lost_again_when_its_sending_ends() -> None:
    class Slow:
        def export(self, _spans: object) -> object:
            sender.give_up()  # the service stops meanwhile
            return SpanExportResult.FAILURE

    sender = Sender(cast("SpanExporter", Slow()))
    assert sender.takes(2)
    sender.export([cast("ReadableSpan", None)] * 2)
    assert (sender.dropped, sender.waiting) == (2, 0)


def test_the_sdk_may_be_switched_off_by_its_own_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    kept = Kept()
    for _ in range(MOST_WAITING):
        kept.telemetry.send(trace(2))
    assert (kept.spans(), kept.telemetry.dropped) == ((), 0)
    kept.telemetry.close()


# --- off, or not to be had ---------------------------------------------------------------------


def test_without_a_collector_nothing_of_it_is_imported() -> None:
    """FastAPI itself imports OpenTelemetry's interfaces, which do nothing; not the SDK, nor an exporter."""
    program = (
        "import sys, service.app, service.bootstrap\n"
        "from service.settings import ServiceSettings\n"
        "service.app.create_app(ServiceSettings())\n"
        "assert service.bootstrap.open_traces(ServiceSettings()) is None\n"
        "heavy = ('opentelemetry.sdk', 'opentelemetry.exporter', 'google.protobuf', 'requests')\n"
        "print([name for name in sys.modules if name.startswith(heavy)])\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OTEL")}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.strip() == "[]"


def test_where_the_extra_is_missing_the_start_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, TRACES, None)
    with pytest.raises(Unavailable) as raised:
        open_traces(ServiceSettings(otlp_endpoint="http://127.0.0.1:4318"))
    assert "CITEWARD_OTLP_ENDPOINT is set, and OpenTelemetry is not installed." in raised.value.what
    assert "the extra `telemetry`" in raised.value.why
    assert "pip install 'citeward[telemetry]'" in raised.value.next_step


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:4318", "https://collector.example/otlp", "http://[::1]:4318", ""]
)
def test_addresses_of_collectors(address: str) -> None:
    assert load_settings({"CITEWARD_OTLP_ENDPOINT": address}).otlp_endpoint == address


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1:4318",
        "grpc://127.0.0.1:4317",
        "http://",
        "http://127.0.0.1:0",
        "http://127.0.0.1:70000",
        "http://ops:zqpassword@127.0.0.1:4318",
        "http://127.0.0.1:4318?key=zqpassword",
        "http://127.0.0.1:4318\n",
        " ",
    ],
)
def test_what_is_no_address_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        load_settings({"CITEWARD_OTLP_ENDPOINT": address})
    assert raised.value.field == "otlp_endpoint"
    assert "zqpassword" not in str(raised.value)


def test_answers_do_not_depend_on_it() -> None:
    named = ServiceSettings(otlp_endpoint="http://127.0.0.1:4318")
    assert config_hash(named) == config_hash(ServiceSettings())
