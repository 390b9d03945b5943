"""`citeward capacity load`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Annotated

import typer

from ingest.corpus.errors import CitewardError
from service.capacity.kv_watch import KvWatch
from service.capacity.load import ask_with, body_of, closed_loop, open_loop
from service.capacity.load_level import Level, Loop, Percentiles, Slo, best, level_of
from service.capacity.prefill import Prefill, prefill_at
from service.capacity.traffic import Asking, levels, rates, read_traffic
from service.cli.show import Json, say, show, show_json, show_rows
from service.client import Client
from service.evaluation.asking.keys import read_keys

PATIENCE_SECONDS = 1_800.0  # what is slower than its SLO is counted so, and not cut off
LEAST = 8  # questions of one rate


def load(
    shape: Annotated[
        Path, typer.Option("--shape", help="JSONL: `question`, and `collections` if wanted, in each line.")
    ],
    key_file: Annotated[Path, typer.Option("--key-file", help="A file with the key to ask with.")],
    url: Annotated[str, typer.Option("--url", help="The service.")] = "http://127.0.0.1:8080",
    concurrency: Annotated[
        str,
        typer.Option("--concurrency", help="Closed loop, how many ask at once: 1..64 doubles, 1,4,16 lists."),
    ] = "1..8",
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Questions of each of them.")] = 4,
    rate: Annotated[
        str, typer.Option("--rate", help="Open loop besides: questions a second, as 0.5,1,2.")
    ] = "",
    seconds: Annotated[
        float, typer.Option("--seconds", min=1, max=86_400, help="How long each rate is held.")
    ] = 60.0,
    first: Annotated[
        float,
        typer.Option(
            "--slo-first", min=0.001, max=86_400, help="Good is an answer that begins in so many seconds,"
        ),
    ] = 5.0,
    whole: Annotated[
        float, typer.Option("--slo-whole", min=0.001, max=86_400, help="and is complete in so many.")
    ] = 30.0,
    prefill: Annotated[
        int | None,
        typer.Option("--prefill", min=1, help="Time the engine itself too: 1, 2, 4, 8 times so many tokens."),
    ] = None,
    vllm: Annotated[str, typer.Option("--vllm", help="The engine, for --prefill.")] = "http://127.0.0.1:8001",
    as_json: Json = False,
) -> None:
    """Ask a live service real questions, more and more at once: what does it bear, and what holds it back?

    Each level is a row: what came back and within the SLO, what was turned away, where the time went. Of the
    answers only their times are used. Ends with 1 if a question failed other than by being turned away.
    """
    at_once, a_second, slo = levels(concurrency), rates(rate) if rate else (), Slo(first, whole)
    traffic, client = read_traffic(shape), Client(url, read_keys(key_file).evaluator, PATIENCE_SECONDS)
    send, watch = ask_with(client), KvWatch(lambda: _metrics(client))
    _warm(traffic[0], client)

    def level(loop: Loop, load: float, number: int) -> Level:
        say(f"{_load_of(loop, load)}: {number} questions")
        with watch.watching():
            if loop == "closed":
                sent = closed_loop(traffic, int(load), number, send)
            else:
                sent = open_loop(traffic, load, number, send)
        return level_of(loop, load, sent, slo, watch.found())

    found = [level("closed", each, each * rounds) for each in at_once]
    found += [level("open", each, max(LEAST, ceil(each * seconds))) for each in a_second]
    read = prefill_at(vllm, prefill, PATIENCE_SECONDS) if prefill else ()
    _show(found, read, as_json)
    if any(one.failed for one in found):
        raise typer.Exit(1)


def _warm(asking: Asking, client: Client) -> None:
    """The first answer after a start is slow, and no level's. Errors as of `Client.send`."""
    client.send("POST", "/v1/ask", body_of(asking))


def _metrics(client: Client) -> str:
    try:
        return client.text("/metrics")
    except CitewardError:  # not for this key, or too busy: then the cache is not seen
        return ""


def _show(found: Sequence[Level], read: Sequence[Prefill], as_json: bool) -> None:
    top = best(found)
    if as_json:
        levels_told = [{"level": one, **_rates(one)} for one in found]
        show_json({"levels": levels_told, "best": top and top.load, "prefill": read})
        return
    show_rows(found, COLUMNS, as_json=False)
    for one in found:
        show(f"{_load(one)}: {one.bottleneck}")
    if top is not None and top.good:
        show(f"Most good answers a second: {top.good_a_second:.2f}, at {_load(top)}.")
    if read:
        show_rows(read, PREFILL, as_json=False)


def _rates(level: Level) -> Mapping[str, float]:
    return {
        "answers_a_second": level.answers_a_second,
        "good_a_second": level.good_a_second,
        "tokens_a_second": level.tokens_a_second,
    }


def _load(level: Level) -> str:
    return _load_of(level.loop, level.load)


def _load_of(loop: Loop, load: float) -> str:
    return f"{load:g} at once" if loop == "closed" else f"{load:g} a second"


def _counts(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {code}" for code, count in counted.items()) or "0"


def _spread(level: Level, name: str) -> str:
    found: Percentiles = next(one for one in level.phases if one.name == name)
    return " / ".join("–" if one is None else f"{one:.0f}" for one in (found.p50, found.p95, found.p99))


def _kv(level: Level) -> str:
    if level.kv is None:
        return "–"
    used = "–" if level.kv.most_used is None else f"{level.kv.most_used:.0f}"
    return f"{used} / {level.kv.most_reserved:.0f} / {level.kv.reservable:.0f}"


def _preempted(level: Level) -> str:
    return "–" if level.kv is None or level.kv.preemptions is None else f"{level.kv.preemptions:.0f}"


PREFILL = {
    "prompt tokens": lambda one: f"{one.tokens:,}",
    "prefill s": lambda one: f"{one.seconds:.2f}",
    "tokens/s": lambda one: f"{one.tokens_a_second:,.0f}",
    "against linear": lambda one: f"{one.against_linear:.2f}",
}
COLUMNS = {
    "load": _load,
    "sent": lambda one: one.sent,
    "back": lambda one: one.came_back,
    "good": lambda one: one.good,
    "turned away": lambda one: _counts(one.turned_away),
    "failed": lambda one: _counts(one.failed),
    "degraded": lambda one: _counts(one.degraded),
    "answers/s": lambda one: f"{one.answers_a_second:.2f}",
    "good/s": lambda one: f"{one.good_a_second:.2f}",
    "tokens/s": lambda one: f"{one.tokens_a_second:.1f}",
    "late s": lambda one: f"{one.late:.1f}",
    "queue ms p50 / p95 / p99": lambda one: _spread(one, "queue"),
    "ttft": lambda one: _spread(one, "ttft"),
    "e2e": lambda one: _spread(one, "e2e"),
    "KV used / reserved / of": _kv,
    "preempted": _preempted,
}
