"""Arrivals, silences and sums of the overload benchmark, without an engine."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from tests.benchmarks.overload import (
    arrivals,
    longest_silence,
    longest_standstill,
    mixed,
    overhead_of,
    overhead_table,
    overload_table,
    side_of,
)
from tests.crowded import GLANCE, MIXED, NEVER_FITS, WHOLE, Ask, Counted, Stream

DEADLINE = 10.0
NOTHING = Counted(0, 0)


def stream(
    *pieces: float,
    began: float = 0.0,
    ended: float = 0.0,
    outcome: str = WHOLE,
    kind: str = "plain",
    reached: tuple[float, ...] = (),
) -> Stream:
    stages = dict(zip(("retrieve", "pack", "generate"), reached, strict=False))
    return Stream(Ask(1, kind), began, ended or max(pieces, default=began), outcome, pieces, stages)


def test_the_same_seed_gives_the_same_questions_at_the_same_times() -> None:
    assert arrivals(2.0, 50.0, seed=1) == arrivals(2.0, 50.0, seed=1) != arrivals(2.0, 50.0, seed=2)


def test_questions_come_in_order_at_about_the_rate_and_are_all_others() -> None:
    due = arrivals(2.0, 1000.0, seed=1, first=7)
    times = [at for at, _ in due]
    assert times == sorted(times)
    assert 0 < times[0] < times[-1] < 1000.0
    assert len(due) == pytest.approx(2000, rel=0.1)
    assert {ask.number for _, ask in due} == set(range(7, 7 + len(due)))
    assert len({ask.question for _, ask in due}) == len(due)


def test_one_that_never_fits_comes_in_the_middle_beside_all_other_kinds() -> None:
    due = arrivals(2.0, 50.0, seed=1)
    assert [at for at, ask in due if ask.kind == NEVER_FITS] == [25.0]
    assert {ask.kind for _, ask in due} == {*MIXED, NEVER_FITS}


def test_kinds_are_mixed() -> None:
    kinds = [ask.kind for ask in mixed(300, seed=1)]
    assert all(kinds.count(kind) > 70 for kind in MIXED)


def test_a_silence_is_within_one_stream_and_not_before_it() -> None:
    assert longest_silence([stream(5.0, 5.5, 7.0, began=0.0), stream(20.0, 21.0)]) == 1.5
    assert longest_silence([stream(3.0), stream()]) == 0.0


def test_a_standstill_is_one_of_all_streams_and_reaches_to_both_ends() -> None:
    streams = [stream(1.0, 3.0, 8.0), stream(2.0, 4.0, 99.0)]
    assert longest_standstill(streams, 0.0, 9.0) == 4.0
    assert longest_standstill(streams, 3.5, 20.0) == 12.0
    assert longest_standstill([], 3.0, 20.0) == 17.0


def test_only_whole_answers_in_time_are_good() -> None:
    streams = [
        stream(1.0, 2.0, ended=2.0),
        stream(9.0, 11.0, ended=11.0),
        stream(5.0, ended=6.0, outcome="no_capacity"),
        stream(ended=0.1, outcome="over_budget", kind=NEVER_FITS),
        stream(ended=1.0, outcome="model_unavailable"),
    ]
    side = side_of(streams, 0.0, 20.0, DEADLINE, Counted(1, 400), Counted(3, 500))
    assert (side.sent, side.whole, side.good, side.late, side.errors) == (5, 2, 1, 1, 1)
    assert (side.preemptions, side.tokens_a_second, side.good_a_second) == (3, 20.0, 0.05)
    assert (side.waits, side.longest, side.refused_in) == ((1.0, 9.0), 11.0, 0.1)
    assert json.loads(json.dumps(asdict(side)))["others"] == side.others


def test_nothing_at_all_is_told_as_such() -> None:
    side = side_of([], 0.0, 20.0, DEADLINE, NOTHING, NOTHING)
    assert (side.sent, side.waits, side.refused_in, side.standstill) == (0, None, None, 20.0)
    assert "| not refused | not refused |" in overload_table(side, side, DEADLINE)


def test_overhead_is_of_pairs_that_both_wrote_and_without_searching() -> None:
    pairs = [
        (stream(1.0, kind=GLANCE), stream(1.5, kind=GLANCE, reached=(0.125, 0.375, 0.5))),
        (stream(2.0, kind=GLANCE), stream(2.5, kind=GLANCE, reached=(0.25, 0.5, 0.75))),
        (stream(4.0, kind=GLANCE), stream(4.5, kind=GLANCE, reached=(0.25, 0.75, 1.0))),
        (stream(kind=GLANCE), stream(9.0, kind=GLANCE, reached=(1.0, 2.0, 3.0))),
    ]
    found = overhead_of(pairs)
    assert (found.pairs, found.bare, found.service, found.more) == (3, 2.0, 2.25, 0.25)
    assert (found.ratio, found.door, found.packing, found.searching) == (1.125, 0.25, 0.25, 0.25)
    assert "| 3 | 2000 | 2250 | 250 | 1.125 | 250 | 250 | 250 |" in overhead_table(found)
