"""Questions asked of a live service by many at once, and what became of each.

Closed loop: so many ask, each again when answered, so a slow service is asked less. Open loop: questions come
at a rate whatever the service does, as readers do. Only the second shows what happens beyond capacity.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import cycle, islice

from ingest.corpus.errors import Unavailable
from service.capacity.traffic import MOST_AT_ONCE, Asking
from service.client import Client, Problem

UNANSWERED = "unavailable"
SEED = 20_26


@dataclass(frozen=True, slots=True)
class Sent:
    """One question and its end. `began` and `ended` are seconds of one monotonic clock."""

    began: float
    ended: float
    outcome: str  # "answered", "refused", or the code of what was returned instead
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    degraded: tuple[str, ...] = ()
    late: float = 0.0  # seconds after it should have been sent, in an open loop

    @property
    def came_back(self) -> bool:
        return self.outcome in ("answered", "refused")

    @property
    def seconds(self) -> float:
        return self.ended - self.began


Send = Callable[[Asking], Sent]


def ask_with(client: Client) -> Send:
    """Sends questions with this client, as a reader's page would."""

    def send(asking: Asking) -> Sent:
        began = time.perf_counter()
        try:
            answer = client.send("POST", "/v1/ask", body_of(asking))
        except Problem as problem:
            return Sent(began, time.perf_counter(), problem.code)
        except Unavailable:
            return Sent(began, time.perf_counter(), UNANSWERED)
        return Sent(
            began,
            time.perf_counter(),
            answer["outcome"],
            answer["timings_ms"],
            answer["usage"]["input_tokens"],
            answer["usage"]["output_tokens"],
            tuple(answer["degraded"]),
        )

    return send


def body_of(asking: Asking) -> dict[str, object]:
    """What /v1/ask is sent."""
    if asking.collections is None:
        return {"question": asking.question}
    return {"question": asking.question, "collections": list(asking.collections)}


def closed_loop(traffic: Sequence[Asking], at_once: int, number: int, send: Send) -> tuple[Sent, ...]:
    """`number` questions, never more than `at_once` under way."""
    with ThreadPoolExecutor(at_once) as readers:
        return tuple(readers.map(send, _questions(traffic, number)))


def open_loop(traffic: Sequence[Asking], rate: float, number: int, send: Send) -> tuple[Sent, ...]:
    """`number` questions, `rate` a second on average, at times drawn as of readers who know nothing of each
    other (Poisson), the same ones each time.
    """
    due, waits = 0.0, random.Random(SEED)
    with ThreadPoolExecutor(MOST_AT_ONCE) as readers:
        started, under_way = time.perf_counter(), []
        for asking in _questions(traffic, number):
            due += waits.expovariate(rate)
            time.sleep(max(0.0, started + due - time.perf_counter()))
            under_way.append(readers.submit(_sent_when_due, asking, started + due, send))
        return tuple(one.result() for one in under_way)


def _sent_when_due(asking: Asking, due: float, send: Send) -> Sent:
    late = max(0.0, time.perf_counter() - due)
    return replace(send(asking), late=late)


def _questions(traffic: Sequence[Asking], number: int) -> Iterator[Asking]:
    return islice(cycle(traffic), number)
