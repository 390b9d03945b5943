"""What one level of load came to: how much was answered in time, where time went, and what held it back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Literal

from service.capacity.load import Sent
from service.evaluation.scoring.figures import REJECTIONS
from service.percentile import percentile_if_enough

QUOTED = "quoting"  # among what an answer was degraded to: no language model made it
PHASES = ("queue", "engine_queue", "prefill", "ttft", "itl_p50", "decode", "generate", "check", "e2e")
# Parts of the whole that do not overlap, and what it means where most time goes into one of them.
PARTS = {
    "queue": "room in the KV cache: questions wait for it. Shorter prompts or answers, or a larger cache.",
    "engine_queue": "the engine's own queue: more are let in than it runs at once. See max_num_seqs.",
    "prefill": "prefill: prompts are read too slowly. Less evidence, or more reckoning power.",
    "decode": "decode: answers are written too slowly. Shorter answers, or more memory bandwidth.",
    "own": "Citeward's own work: searching and checking. More processes, or a smaller search depth.",
    "unseen": "before the service: connections, or its threads. More processes of it.",
}
OTHER = "the engine, in phases that it does not tell apart."


Loop = Literal["closed", "open"]


@dataclass(frozen=True, slots=True)
class Slo:
    """An answer is good if it came back within these, in seconds, and was not quoted for want of a model."""

    first: float  # to the first statement, or to the refusal
    whole: float


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Of milliseconds, by nearest rank; None where too few have it."""

    name: str
    p50: float | None
    p95: float | None
    p99: float | None


@dataclass(frozen=True, slots=True)
class KvSeen:
    """What the service said of the engine's cache while it was loaded, in blocks."""

    reservable: float
    most_reserved: float
    most_used: float | None  # None: the engine does not say
    preemptions: float | None  # in this time


@dataclass(frozen=True, slots=True)
class Level:
    loop: Loop
    load: float  # at once, or a second
    sent: int
    came_back: int
    good: int  # of these within the SLO
    turned_away: Mapping[str, int]  # by code
    failed: Mapping[str, int]
    degraded: Mapping[str, int]
    seconds: float  # from the first question sent to the last answer
    output_tokens: int
    phases: tuple[Percentiles, ...]
    shares: Mapping[str, float]  # of the time of those that came back, by part
    bottleneck: str
    kv: KvSeen | None = None
    late: float = 0.0  # seconds that the latest question was behind its time: else the loop was not open

    @property
    def answers_a_second(self) -> float:
        return self.came_back / self.seconds if self.seconds else 0.0

    @property
    def good_a_second(self) -> float:
        """Goodput."""
        return self.good / self.seconds if self.seconds else 0.0

    @property
    def tokens_a_second(self) -> float:
        return self.output_tokens / self.seconds if self.seconds else 0.0


def level_of(loop: Loop, load: float, sent: Sequence[Sent], slo: Slo, kv: KvSeen | None = None) -> Level:
    back = [one for one in sent if one.came_back]
    others = Counter(one.outcome for one in sent if not one.came_back)
    shares = _shares(back)
    return Level(
        loop=loop,
        load=load,
        sent=len(sent),
        came_back=len(back),
        good=sum(_is_good(one, slo) for one in back),
        turned_away={code: count for code, count in others.items() if code in REJECTIONS},
        failed={code: count for code, count in others.items() if code not in REJECTIONS},
        degraded=Counter(step for one in back for step in one.degraded),
        seconds=max(one.ended for one in sent) - min(one.began for one in sent) if sent else 0.0,
        output_tokens=sum(one.output_tokens for one in back),
        phases=tuple(_percentiles(name, back) for name in PHASES),
        shares=shares,
        bottleneck=_bottleneck(shares),
        kv=kv,
        late=max((one.late for one in sent), default=0.0),
    )


def best(levels: Sequence[Level]) -> Level | None:
    """That with the most good answers a second: beyond it more load only makes readers wait."""
    return max(levels, key=lambda one: one.good_a_second, default=None)


def _is_good(sent: Sent, slo: Slo) -> bool:
    first = sent.timings_ms.get("first_statement", sent.timings_ms["e2e"]) / 1000
    on_time = first + sent.late <= slo.first and sent.seconds + sent.late <= slo.whole
    return on_time and QUOTED not in sent.degraded


def _shares(sent: Sequence[Sent]) -> dict[str, float]:
    each = [_milliseconds(one) for one in sent]
    parts = {part: fsum(one[part] for one in each) for part in (*PARTS, "other")}
    whole = fsum(parts.values())
    return {part: spent / whole for part, spent in parts.items()} if whole else {}


def _milliseconds(sent: Sent) -> dict[str, float]:
    """The time of one answer in parts that add up to what its reader waited."""
    told = sent.timings_ms
    generated = told.get("generate", 0.0)
    engine = {part: told.get(part, 0.0) for part in ("queue", "engine_queue", "prefill")}
    # Checks of earlier statements lie between two tokens as well, and are Citeward's own work.
    engine["decode"] = min(told.get("decode", 0.0), max(generated - fsum(engine.values()), 0.0))
    own = max(told["e2e"] - generated, 0.0)
    return {
        **engine,
        "own": own,
        "other": max(generated - fsum(engine.values()), 0.0),
        "unseen": max(sent.seconds * 1000 - told["e2e"], 0.0),
    }


def _bottleneck(shares: Mapping[str, float]) -> str:
    if not shares:
        return "nothing came back"
    part = max(shares, key=lambda one: shares[one])
    return f"{shares[part]:.0%} in {PARTS.get(part, OTHER)}"


def _percentiles(name: str, sent: Sequence[Sent]) -> Percentiles:
    values = [one.timings_ms[name] for one in sent if name in one.timings_ms]
    return Percentiles(name, *(percentile_if_enough(values, percent) for percent in (50, 95, 99)))
