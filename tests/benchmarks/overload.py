"""What two sides under the same load came to: pure, with engine, service and clock outside."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from service.percentile import percentile
from tests.crowded import MIXED, NEVER_FITS, Ask, Counted, Stream

TURNED_AWAY = frozenset({"over_budget", "queue_full", "no_capacity"})  # 413, 429, 503
# What a bare engine says of a request that is longer than it takes.
TOO_LONG = frozenset({"over_budget", "http_400"})


@dataclass(frozen=True, slots=True)
class Side:
    """One side of the comparison."""

    sent: int
    whole: int
    good: int  # whole within the deadline, counted from when it was due
    others: Mapping[str, int]  # how the others ended, by code
    preemptions: int
    tokens_a_second: float  # written while questions came
    good_a_second: float  # while questions came
    waits: tuple[float, float] | None  # seconds to the first token, p50 and p95
    longest: float  # seconds that the slowest whole answer took
    silence: float  # seconds, the longest within a stream
    standstill: float  # seconds, the longest without a token of anybody after the too long request had come
    refused_in: float | None  # seconds in which the too long request was refused; None: it was not

    @property
    def late(self) -> int:
        return self.whole - self.good

    @property
    def errors(self) -> int:
        return sum(count for code, count in self.others.items() if code not in TURNED_AWAY | TOO_LONG)


@dataclass(frozen=True, slots=True)
class Overhead:
    """Time to the first token of pairs of equal requests: medians, in seconds."""

    pairs: int
    bare: float
    service: float  # searching excluded
    more: float  # of the differences within a pair
    door: float  # of the service's: from sending to the search
    searching: float
    packing: float  # from the search to the generator: evidence, prompt, is it enough?

    @property
    def ratio(self) -> float:
        return self.service / self.bare


def mixed(number: int, seed: int, first: int = 0) -> list[Ask]:
    """Questions of the mixed kinds, numbered from `first`."""
    chance = random.Random(seed)
    return [Ask(first + place, chance.choice(list(MIXED))) for place in range(number)]


def arrivals(rate: float, seconds: float, seed: int, first: int = 0) -> list[tuple[float, Ask]]:
    """Questions at times as of readers who know nothing of each other (Poisson), `rate` a second on average.

    In the middle comes one that never fits, beside the others and numbered behind them.
    """
    chance, times, at = random.Random(seed), [], 0.0
    while (at := at + chance.expovariate(rate)) < seconds:
        times.append(at)
    due = list(zip(times, mixed(len(times), seed, first), strict=True))
    return sorted([*due, (seconds / 2, Ask(first + len(times), NEVER_FITS))], key=lambda one: one[0])


def longest_silence(streams: Iterable[Stream]) -> float:
    """Between two pieces of one stream; 0 without any."""
    gaps = [after - before for one in streams for before, after in pairwise(one.pieces)]
    return max(gaps, default=0.0)


def longest_standstill(streams: Iterable[Stream], begin: float, end: float) -> float:
    """From `begin` to `end`, without a piece of any stream."""
    times = sorted(at for one in streams for at in one.pieces if begin < at < end)
    return max(after - before for before, after in pairwise([begin, *times, end]))


def side_of(
    streams: Sequence[Stream],
    begin: float,
    seconds: float,
    deadline: float,
    meanwhile: Counted,
    in_all: Counted,
) -> Side:
    """:param begin: when the first could come; they came for so many seconds.
    :param meanwhile: what the engine counted in these, `in_all`: until all had ended."""
    whole = [one for one in streams if one.is_whole]
    good = sum(one.ended - one.began <= deadline for one in whole)
    too_long = next((one for one in streams if one.ask.kind == NEVER_FITS), None)
    first = [one.pieces[0] - one.began for one in whole if one.pieces]
    end = begin + seconds
    return Side(
        sent=len(streams),
        whole=len(whole),
        good=good,
        others=dict(Counter(one.outcome for one in streams if not one.is_whole)),  # `asdict` spoils a Counter
        preemptions=in_all.preemptions,
        tokens_a_second=meanwhile.tokens / seconds,
        good_a_second=good / seconds,
        waits=(percentile(first, 50), percentile(first, 95)) if first else None,
        longest=max((one.ended - one.began for one in whole), default=0.0),
        silence=longest_silence(streams),
        standstill=longest_standstill(streams, too_long.began if too_long else begin, end),
        refused_in=too_long.ended - too_long.began if too_long and too_long.outcome in TOO_LONG else None,
    )


def overhead_of(pairs: Sequence[tuple[Stream, Stream]]) -> Overhead:
    """:param pairs: of the bare engine and of the service; those count of which both wrote something."""
    told = [(bare, ours) for bare, ours in pairs if bare.pieces and ours.pieces]
    bare = [one.pieces[0] - one.began for one, _ in told]
    searching = [one.reached["pack"] - one.reached["retrieve"] for _, one in told]
    service = [one.pieces[0] - one.began - less for (_, one), less in zip(told, searching, strict=True)]
    return Overhead(
        pairs=len(told),
        bare=median(bare),
        service=median(service),
        more=median(ours - theirs for theirs, ours in zip(bare, service, strict=True)),
        door=median(one.reached["retrieve"] - one.began for _, one in told),
        searching=median(searching),
        packing=median(one.reached["generate"] - one.reached["pack"] for _, one in told),
    )


# --- as it is shown ----------------------------------------------------------------------------


def overload_table(bare: Side, service: Side, deadline: float) -> str:
    rows = [
        ("questions sent", *(f"{one.sent}" for one in (bare, service))),
        ("whole answers", *(f"{one.whole}" for one in (bare, service))),
        (f"of these later than {deadline:.0f} s", *(f"{one.late}" for one in (bare, service))),
        ("turned away", *(_counts(one, turned_away=True) for one in (bare, service))),
        ("errors", *(_counts(one, turned_away=False) for one in (bare, service))),
        ("preemptions", *(f"{one.preemptions}" for one in (bare, service))),
        ("output tokens/s", *(f"{one.tokens_a_second:.1f}" for one in (bare, service))),
        ("· of bare", "", f"{share(service.tokens_a_second, bare.tokens_a_second)}"),
        ("goodput, answers/s", *(f"{one.good_a_second:.2f}" for one in (bare, service))),
        ("first token p50 / p95, s", *(_waits(one) for one in (bare, service))),
        ("slowest whole answer, s", *(f"{one.longest:.1f}" for one in (bare, service))),
        ("longest silence within a stream, s", *(f"{one.silence:.2f}" for one in (bare, service))),
        ("the too long one is refused in, s", *(_seconds(one.refused_in) for one in (bare, service))),
        ("longest standstill of all after it, s", *(f"{one.standstill:.2f}" for one in (bare, service))),
    ]
    return _table(("", "bare", "Citeward"), rows)


def overhead_table(found: Overhead) -> str:
    bare, service, more, *parts = (
        f"{seconds * 1000:.0f}"
        for seconds in (found.bare, found.service, found.more, found.door, found.packing, found.searching)
    )
    head = ("pairs", "bare, ms", "Citeward, ms", "median difference, ms", "ratio of medians")
    parted = ("· before the search, ms", "· evidence and prompt, ms", "searching (left out), ms")
    row = (f"{found.pairs}", bare, service, more, f"{found.ratio:.3f}", *parts)
    return _table((*head, *parted), [row])


def share(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole else "–"


def _counts(side: Side, turned_away: bool) -> str:
    told = TURNED_AWAY | TOO_LONG
    said = {code: count for code, count in side.others.items() if (code in told) == turned_away}
    return ", ".join(f"{count} {code}" for code, count in sorted(said.items())) or "0"


def _waits(side: Side) -> str:
    return "–" if side.waits is None else f"{side.waits[0]:.1f} / {side.waits[1]:.1f}"


def _seconds(seconds: float | None) -> str:
    return "not refused" if seconds is None else f"{seconds:.2f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
