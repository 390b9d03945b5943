"""A live service under load: what is sent when, what it came to, and what is named as holding it back."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ingest.corpus.errors import InvalidInput, NotFound, Unavailable
from service.capacity.kv_watch import KvWatch, series_of
from service.capacity.load import Sent, ask_with, closed_loop, open_loop
from service.capacity.load_level import KvSeen, Slo, best, level_of
from service.capacity.prefill import prefill_at
from service.capacity.traffic import Asking, levels, rates, read_traffic
from service.cli import app
from service.client import Client
from tests.scripted_engine import scripted_engine
from tests.service.test_api_capacity import models_page
from tests.serving import serving
from tests.world import World, canary

SLO = Slo(first=1.0, whole=2.0)
TRAFFIC = tuple(Asking(f"question {number}") for number in range(3))


def sent(outcome: str = "answered", began: float = 0.0, seconds: float = 1.0, **told: float) -> Sent:
    timings = {"e2e": seconds * 1000, **told}
    return Sent(began, began + seconds, outcome, timings, input_tokens=100, output_tokens=10)


# --- the traffic -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("1..8", (1, 2, 4, 8)),
        ("1..10", (1, 2, 4, 8, 10)),
        ("3..20", (3, 6, 12, 20)),
        ("5..5", (5,)),
        ("1, 7,3", (1, 7, 3)),
        ("64", (64,)),
    ],
)
def test_levels_are_doubled_or_as_listed(said: str, found: tuple[int, ...]) -> None:
    assert levels(said) == found


@pytest.mark.parametrize(
    "said", ["", "0", "0..4", "8..1", "1..2000", "one", "1,,2", "-1", "1.5", "1..", "2048"]
)
def test_levels_that_are_none_are_refused(said: str) -> None:
    with pytest.raises(InvalidInput, match="how many"):
        levels(said)


def test_rates_are_questions_a_second() -> None:
    assert rates("0.5, 2,.25") == (0.5, 2.0, 0.25)
    for said in ("", "0", "a", "1,,2", "-1", "inf", "1e9", "nan"):
        with pytest.raises(InvalidInput, match="a second"):
            rates(said)


def test_traffic_is_read_in_its_order(tmp_path: Path) -> None:
    rows = [{"question": "年假有几天？"}, {"question": "Hi?", "collections": ["handbook"]}]
    (tmp_path / "t.jsonl").write_text("\n\n".join(json.dumps(row) for row in rows), "utf-8")
    assert read_traffic(tmp_path / "t.jsonl") == (Asking("年假有几天？"), Asking("Hi?", ("handbook",)))
    with pytest.raises(NotFound):
        read_traffic(tmp_path / "missing.jsonl")


@pytest.mark.parametrize(
    "line", ["", "x", "[]", "{}", '{"question": " "}', '{"question": "a", "collections": [1]}']
)
def test_a_line_that_is_no_question_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "t.jsonl").write_text(line, "utf-8")
    with pytest.raises(InvalidInput, match=r"t\.jsonl"):
        read_traffic(tmp_path / "t.jsonl")


# --- sending -----------------------------------------------------------------------------------


class Counting:
    """Takes its time, and knows how many were under way at once."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.under_way, self.most = seconds, 0, 0
        self.asked: list[str] = []
        self.lock = threading.Lock()

    def __call__(self, asking: Asking) -> Sent:
        with self.lock:
            self.asked.append(asking.question)
            self.under_way += 1
            self.most = max(self.most, self.under_way)
        began = time.perf_counter()
        time.sleep(self.seconds)
        with self.lock:
            self.under_way -= 1
        return Sent(began, time.perf_counter(), "answered", {"e2e": self.seconds * 1000})


def test_a_closed_loop_asks_the_next_question_only_when_one_is_answered() -> None:
    send = Counting(0.02)
    found = closed_loop(TRAFFIC, 3, 10, send)
    assert (len(found), send.most) == (10, 3)
    assert sorted(send.asked) == sorted([one.question for one in TRAFFIC] * 3 + ["question 0"])


def test_an_open_loop_asks_however_slow_the_answers_are() -> None:
    send = Counting(0.5)
    found = open_loop(TRAFFIC, 100.0, 20, send)
    assert len(found) == 20
    assert send.most > 10  # a closed loop of one would have taken ten seconds
    assert max(one.began for one in found) - min(one.began for one in found) < 2.0


# --- what it came to ---------------------------------------------------------------------------


def test_a_level_counts_each_end_once() -> None:
    found = level_of(
        "closed",
        4,
        [
            sent(began=0.0, seconds=1.0, first_statement=900.0),
            sent("refused", began=0.5, seconds=0.5),
            sent(began=0.0, seconds=1.5, first_statement=1400.0),  # begins too late
            sent(began=0.0, seconds=4.0, first_statement=500.0),  # ends too late
            sent("queue_full", began=1.0, seconds=0.1),
            sent("unavailable", began=1.0, seconds=0.1),
        ],
        SLO,
    )
    assert (found.sent, found.came_back, found.good) == (6, 4, 2)
    assert (found.turned_away, found.failed) == ({"queue_full": 1}, {"unavailable": 1})
    assert (found.seconds, found.output_tokens) == (4.0, 40)
    assert (found.answers_a_second, found.good_a_second, found.tokens_a_second) == (1.0, 0.5, 10.0)


def test_an_answer_that_was_quoted_for_want_of_a_model_is_not_good() -> None:
    quoted = replace(sent(), degraded=("quoting",))
    shorter = replace(sent(), degraded=("shorter_output",))
    assert [level_of("closed", 1, [one], SLO).good for one in (quoted, shorter)] == [0, 1]


def test_a_question_that_was_sent_late_has_less_time() -> None:
    found = level_of("open", 1, [replace(sent(), late=0.5), replace(sent(), late=1.5)], SLO)
    assert (found.good, found.late) == (0, 1.5)
    assert level_of("open", 1, [replace(sent(seconds=0.4), late=0.5)], SLO).good == 1


BUSY: dict[str, tuple[dict[str, float], str]] = {
    "room": ({"queue": 700, "prefill": 100, "decode": 100, "generate": 900}, "KV cache"),
    "engine": ({"engine_queue": 500, "prefill": 100, "decode": 100, "generate": 900}, "max_num_seqs"),
    "prefill": ({"queue": 10, "prefill": 700, "decode": 100, "generate": 900}, "prefill"),
    "decode": ({"queue": 10, "prefill": 100, "decode": 700, "generate": 900}, "decode"),
    "own work": ({"retrieve": 800, "generate": 100, "prefill": 50}, "own work"),
    "checks between tokens": (
        {"generate": 400, "prefill": 100, "decode": 800, "check": 500},
        "own work",
    ),
    "untold": ({"generate": 900}, "does not tell apart"),
}


@pytest.mark.parametrize(("told", "named"), BUSY.values(), ids=BUSY.keys())
def test_what_takes_most_time_is_named(told: dict[str, float], named: str) -> None:
    found = level_of("closed", 1, [sent(**told)], SLO)
    assert named in found.bottleneck
    assert sum(found.shares.values()) == pytest.approx(1.0)


def test_time_that_no_stage_has_is_named_too() -> None:
    slow = replace(sent(seconds=10.0), timings_ms={"e2e": 100.0})
    assert "before the service" in level_of("closed", 1, [slow], SLO).bottleneck


def test_nothing_that_came_back_is_no_bottleneck() -> None:
    assert level_of("open", 1, [sent("unavailable")], SLO).bottleneck == "nothing came back"
    assert level_of("open", 1, [], SLO).seconds == 0


def test_the_best_level_is_that_with_most_good_answers_a_second() -> None:
    few = level_of("closed", 1, [sent()], SLO)
    many = level_of("closed", 2, [sent(), sent()], SLO)
    late = level_of("closed", 4, [sent(seconds=3.0)] * 4, SLO)
    assert best([few, many, late]) == many
    assert best([]) is None


# --- the cache meanwhile -----------------------------------------------------------------------


def page(reserved: int, used: int, preemptions: int) -> str:
    return (
        "# TYPE citeward_kv_blocks gauge\n"
        f'citeward_kv_blocks{{of="reserved"}} {reserved}.0\nciteward_kv_blocks{{of="reservable"}} 64.0\n'
        f'citeward_kv_blocks{{of="used"}} {used}.0\nciteward_engine_preemptions_total {preemptions}.0\n'
    )


def reading(*pages: str) -> Callable[[], str]:
    left = list(pages)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


def test_the_cache_is_watched_from_before_to_after() -> None:
    watch = KvWatch(reading(page(0, 0, 3), page(40, 20, 5), page(0, 0, 5)))
    with watch.watching():
        time.sleep(0.8)
    assert watch.found() == KvSeen(reservable=64, most_reserved=40, most_used=20, preemptions=2)


def test_a_cache_that_nobody_tells_of_is_not_known() -> None:
    watch = KvWatch(lambda: "")
    with watch.watching():
        pass
    assert watch.found() is None
    assert series_of("citeward_kv_blocks nonsense\n\n# x\n") == {}


# --- reading prompts ---------------------------------------------------------------------------


def test_prompts_are_timed_at_multiples_of_a_length_that_the_engine_takes() -> None:
    with scripted_engine() as engine:
        engine.pages |= {"/v1/models": models_page(4096), "/v1/completions": b"{}"}
        found = prefill_at(engine.url, 512, 5.0)
        shorter = prefill_at(engine.url, 1000, 5.0)
    assert [one.tokens for one in found] == [512, 1024, 2048]  # and 4096 leave no room for a first token
    assert [one.tokens for one in shorter] == [1000, 2000, 4000]
    assert found[0].against_linear == 1.0
    assert all(one.seconds > 0 and one.tokens_a_second > 0 for one in found)


def test_what_cannot_be_timed_is_told() -> None:
    with scripted_engine() as engine:
        engine.pages |= {"/v1/models": models_page(4096)}
        with pytest.raises(Unavailable, match="did not read 64 tokens"):
            prefill_at(engine.url, 64, 5.0)
        for tokens in (0, 4096, 10**9):
            with pytest.raises(InvalidInput, match="cannot be sent"):
                prefill_at(engine.url, tokens, 5.0)
    with pytest.raises(Unavailable, match="No engine"):
        prefill_at("http://127.0.0.1:9", 64, 5.0)


# --- the command -------------------------------------------------------------------------------


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_real_service_is_loaded_over_http(world: World, tmp_path: Path) -> None:
    questions = [f"What is {canary('acme', 'handbook')}?", "What is the merger called?"]
    shape, key = tmp_path / "t.jsonl", tmp_path / "key"
    shape.write_text("\n".join(json.dumps({"question": one}) for one in questions), "utf-8")
    key.write_text(world.bob.key, "utf-8")
    words = ("--concurrency", "1..4", "--rounds", "2", "--rate", "20", "--seconds", "1")
    with serving(world.parts) as port:
        done = loaded(f"http://127.0.0.1:{port}", shape, key, *words)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["levels"]
    assert [(row["level"]["loop"], row["level"]["load"]) for row in found] == [
        ("closed", 1),
        ("closed", 2),
        ("closed", 4),
        ("open", 20),
    ]
    assert [row["level"]["sent"] for row in found] == [2, 4, 8, 20]
    assert all(row["level"]["came_back"] == row["level"]["sent"] for row in found)
    assert all(row["answers_a_second"] > 0 for row in found)


def test_a_service_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"question": "Hi?"}', "utf-8")
    (tmp_path / "key").write_text("cw_abcdefgh_" + "x" * 43, "utf-8")
    done = loaded("http://127.0.0.1:9", tmp_path / "t.jsonl", tmp_path / "key")
    assert done.exit_code != 0


def test_what_fails_is_told_by_its_code() -> None:
    send = ask_with(Client("http://127.0.0.1:9", "cw_none"))
    assert send(Asking("Hi?")).outcome == "unavailable"


def loaded(url: str, shape: Path, key: Path, *words: str) -> Any:
    where = ("--url", url, "--shape", str(shape), "--key-file", str(key))
    return CliRunner().invoke(app, ["capacity", "load", *where, *words, "--json"])
