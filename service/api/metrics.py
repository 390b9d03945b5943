"""What the service counts of itself, in its own registry. No label names a tenant, person or document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from ingest.corpus.errors import Unavailable
from service.adapters.telemetry import Telemetry
from service.capacity.admission import Admission
from service.types import Answer

ENGINE_PHASES = frozenset({"engine_queue", "prefill", "ttft", "decode", "itl_p50", "itl_p95"})
RESULTS = ("admitted", "over_budget", "queue_full", "no_capacity", "cancelled")
RATES = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)  # tokens a second
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})  # others are invented


class Metrics:
    def __init__(self) -> None:
        # Else each series has a twin that says when it began. For the whole process: a registry has no say.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "citeward_requests", "Requests answered", ["method", "route", "status"], registry=self.registry
        )
        self.request_seconds = Histogram(
            "citeward_request_seconds",
            "Time from request to the end of the response",
            ["method", "route"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self.stage_seconds = Histogram(
            "citeward_stage_seconds",
            "Time of one stage of a question",
            ["stage"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self.engine_seconds = Histogram(
            "citeward_engine_seconds",
            "Time of one phase of a generation by the language model's server; itl: between two tokens",
            ["phase"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self.queue_seconds = Histogram(
            "citeward_queue_seconds",
            "Time that a question waited for room in the KV cache of the language model's server",
            buckets=SECONDS,
            registry=self.registry,
        )
        self.engine_rate = Histogram(
            "citeward_engine_tokens_per_second",
            "Tokens a second of one generation, from its first token to its last",
            buckets=RATES,
            registry=self.registry,
        )
        self.answers = Counter(
            "citeward_answers", "Questions answered or refused", ["outcome", "code"], registry=self.registry
        )
        self.engine_faults = Counter(
            "citeward_engine_faults",
            "Generations in which something of the language model's server was not as it must be",
            ["code"],
            registry=self.registry,
        )

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """:param route: the template, such as `/v1/documents/{document_id}`."""
        known = method if method in METHODS else "other"
        self.requests.labels(known, route, str(status)).inc()
        self.request_seconds.labels(known, route).observe(seconds)

    def count_answer(self, answer: Answer) -> None:
        self.answers.labels(answer.outcome, answer.refusal.code if answer.refusal else "none").inc()
        for name, value in answer.timings_ms.items():
            if name == "tokens_per_second":
                self.engine_rate.observe(value)
            elif name == "queue":
                self.queue_seconds.observe(value / 1000)
            elif name in ENGINE_PHASES:
                self.engine_seconds.labels(name).observe(value / 1000)
            else:
                self.stage_seconds.labels(name).observe(value / 1000)

    def count_engine_faults(self, codes: Iterable[str]) -> None:
        for code in codes:
            self.engine_faults.labels(code).inc()

    def follow_spans(self, telemetry: Telemetry) -> None:
        self.registry.register(SpansShown(telemetry))

    def follow(self, admission: Admission) -> None:
        """Show what it counts, as it stands whenever it is asked."""
        self.registry.register(AdmissionShown(admission))

    def exposition(self) -> bytes:
        """Prometheus's text format."""
        return generate_latest(self.registry)


@dataclass(frozen=True, eq=False)  # a registry keeps it by what it is, not by what it says
class AdmissionShown(Collector):
    """Who was let in, who waits, and how much room is left. Blocks are those of the engine's KV cache."""

    admission: Admission

    def collect(self) -> Iterator[Metric]:
        try:
            figures = self.admission.figures()
        except Unavailable:  # what else is counted is shown all the same
            return
        waiting = GaugeMetricFamily(
            "citeward_queue_depth", "Questions that wait for room, of all processes", labels=["priority"]
        )
        for priority in ("interactive", "batch"):
            waiting.add_metric([priority], figures.waiting.get(priority, 0))
        results = CounterMetricFamily(
            "citeward_admissions",
            "Generations let in, turned away, or left",
            labels=["result"],
        )
        for result in RESULTS:
            results.add_metric([result], figures.counts.get(result, 0))
        blocks = GaugeMetricFamily("citeward_kv_blocks", "Blocks of the KV cache", labels=["of"])
        blocks.add_metric(["reserved"], figures.reserved)
        seen = figures.seen
        if seen is not None:
            blocks.add_metric(["reservable"], seen.room.reservable)
        if seen is not None and seen.used is not None:
            blocks.add_metric(["used"], seen.used)
        yield from (waiting, results, blocks)
        if seen is not None and seen.preemptions is not None:
            yield CounterMetricFamily(
                "citeward_engine_preemptions",
                "Generations that the language model's server has put back, since it started",
                seen.preemptions,
            )


@dataclass(frozen=True, eq=False)
class SpansShown(Collector):
    """What was lost of the traces."""

    telemetry: Telemetry

    def collect(self) -> Iterator[Metric]:
        yield CounterMetricFamily(
            "citeward_spans_dropped",
            "Spans of traces that did not reach their collector",
            self.telemetry.dropped,
        )
