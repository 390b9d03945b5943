"""Spans to a collector, by OpenTelemetry's SDK and its exporter over HTTP.

The SDK is imported only where a collector is named: others need not have it. What is sent waits in a
queue with an end, and goes out from a thread of its own: a slow collector costs spans, never an answer.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from ingest.corpus.errors import Unavailable
from ingest.corpus.settings import variable
from service.spans import Span

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
    from opentelemetry.trace import Span as Recorded

LOG = logging.getLogger("citeward.telemetry")
TRACES_PATH = "/v1/traces"  # OTLP's, beneath the collector's address
MOST_WAITING = 4096  # spans; a question has some twenty
BATCH = 512  # spans of one request
SEND_EVERY_MS = 1000
SEND_SECONDS = 5.0  # one batch, tries included
CLOSE_SECONDS = 5.0  # for what is left when the service stops
EXPORTER_LOG = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
LONGEST_REASON = 300  # characters


class FirstWords(logging.Handler):
    """What the exporter says first of a batch: why it cannot be sent. Its own log says that at every try."""

    words = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.words = self.words or record.getMessage()[:LONGEST_REASON]


@dataclass(slots=True)
class Sender:
    """Meets the SDK's `SpanExporter`: counts what is lost, and says so once until a batch gets through."""

    exporter: SpanExporter
    waiting: int = 0  # spans taken in and not yet sent
    dropped: int = 0  # spans, ever
    is_losing: bool = False  # and it has been said
    is_reached: bool = True  # the collector, by the last batch
    is_closed: bool = False
    is_given_up: bool = False  # what waited then
    reason: FirstWords = field(default_factory=FirstWords)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def takes(self, spans: int) -> bool:
        """Whether there is room for a trace; in the queue itself, half of one could be lost."""
        with self.lock:
            if self.waiting + spans <= MOST_WAITING and not self.is_closed:
                self.waiting += spans
                return True
        self._lost(spans, "The queue is full.")
        return False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        from opentelemetry.sdk.trace.export import SpanExportResult

        self.reason.words, result = "", SpanExportResult.FAILURE
        try:
            if not self.is_closed:
                result = self.exporter.export(spans)
        except Exception as error:  # the thread that sends must go on
            self.reason.words = type(error).__name__
        with self.lock:
            if self.is_given_up:  # counted as lost already
                return result
            self.waiting -= len(spans)
        self.is_reached = result is SpanExportResult.SUCCESS
        if self.is_reached:
            self._through()
        else:
            self._lost(len(spans), self.reason.words)
        return result

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self.exporter.force_flush(timeout_millis)

    def shutdown(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            self.exporter.shutdown()

    def give_up(self) -> None:
        """What still waits is lost."""
        with self.lock:
            left, self.waiting, self.is_given_up = self.waiting, 0, True
        if left:
            self._lost(left, "The service stops.")

    def _lost(self, spans: int, why: str) -> None:
        with self.lock:
            self.dropped += spans
            is_known, self.is_losing = self.is_losing, True
        if not is_known:
            LOG.warning(json.dumps({"event": "spans_dropped", "spans": spans, "why": why}))

    def _through(self) -> None:
        with self.lock:
            was_losing, self.is_losing = self.is_losing, False
        if was_losing:
            LOG.info(json.dumps({"event": "spans_sent_again", "dropped": self.dropped}))


@dataclass(frozen=True, slots=True)
class Telemetry:
    provider: TracerProvider
    sender: Sender

    @property
    def dropped(self) -> int:
        """Spans that never reached the collector."""
        return self.sender.dropped

    def send(self, span: Span, traceparent: str = "") -> None:
        """Takes a whole trace and returns at once, whatever becomes of it.

        :param traceparent: the W3C header of who asked. It says what the span is part of and nothing else:
            whether it is recorded is not up to him. One that is malformed is none.
        """
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        nothing = _empty_context()  # else whatever runs around here would be the parent
        given = {"traceparent": traceparent} if traceparent else {}
        parent = TraceContextTextMapPropagator().extract(given, nothing)
        root = self._started(span, parent)
        # None is, where the SDK's own OTEL_SDK_DISABLED says so.
        if root.is_recording() and self.sender.takes(sum(1 for _ in span.walk())):
            self._end(root, span, parent)

    def _started(self, span: Span, parent: Context) -> Recorded:
        from opentelemetry.trace import SpanKind

        kinds = {"server": SpanKind.SERVER, "internal": SpanKind.INTERNAL, "client": SpanKind.CLIENT}
        tracer = self.provider.get_tracer("citeward")
        return tracer.start_span(
            span.name, parent, kinds[span.kind], dict(span.attributes), start_time=span.start_ns
        )

    def _end(self, recorded: Recorded, span: Span, parent: Context) -> None:
        """With all that is within it."""
        from opentelemetry.trace import Status, StatusCode, set_span_in_context

        inside = set_span_in_context(recorded, parent)
        for child in span.children:
            self._end(self._started(child, inside), child, inside)
        if span.error:
            recorded.set_status(Status(StatusCode.ERROR, span.error))
        recorded.end(span.end_ns)

    def close(self) -> None:
        """Sends what is left, for `CLOSE_SECONDS` at most; nothing, if the collector was gone just now."""
        if not self.sender.is_reached:
            self.sender.shutdown()
        closing = threading.Thread(target=self.provider.shutdown, name="telemetry closes", daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)
        self.sender.shutdown()
        self.sender.give_up()


def open_telemetry(endpoint: str, version: str) -> Telemetry:
    """:param endpoint: the collector's address, without OTLP's path.
    :param version: of the program.
    :raises Unavailable: if the SDK is not installed.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError as error:
        raise Unavailable(
            f"{variable('otlp_endpoint')} is set, and OpenTelemetry is not installed.",
            why=f"Traces are sent with its SDK, which only the extra `telemetry` brings: {error}.",
            next_step=f"pip install 'citeward[telemetry]', or unset {variable('otlp_endpoint')}.",
        ) from error
    address = endpoint.rstrip("/") + TRACES_PATH
    return telemetry_over(OTLPSpanExporter(address, timeout=SEND_SECONDS), version)


def telemetry_over(exporter: SpanExporter, version: str) -> Telemetry:
    """The same over another exporter."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.sampling import ALWAYS_ON

    sender = Sender(exporter)
    log = logging.getLogger(EXPORTER_LOG)
    log.propagate, log.handlers = False, [sender.reason]  # told once, by the sender
    # Never the process's own provider: libraries would send through it, and nobody looks at what they say.
    provider = TracerProvider(
        sampler=ALWAYS_ON,
        resource=Resource.create({"service.name": "citeward", "service.version": version}),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(
        BatchSpanProcessor(
            cast("SpanExporter", sender),
            max_queue_size=MOST_WAITING,
            schedule_delay_millis=SEND_EVERY_MS,
            max_export_batch_size=BATCH,
        )
    )
    return Telemetry(provider, sender)


def _empty_context() -> Context:
    from opentelemetry.context import Context

    return Context()
