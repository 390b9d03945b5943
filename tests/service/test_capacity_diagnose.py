"""Ten steps, always in their order: each cause is found where it lies; what is unseen is not called well."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from typer.testing import CliRunner

from ingest.corpus.database import Database
from ingest.corpus.settings import CorpusSettings
from service.capacity.diagnose import Findings, Verdict, diagnose
from service.capacity.geometry import geometry_of
from service.capacity.room import room_of
from service.capacity.shapes import Request
from service.cli import app
from service.cli.local import Installation
from service.engine.metrics import counted
from service.history import AnswerRow, lengths_of_answers
from service.settings import ServiceSettings
from tests.scripted_engine import scripted_engine
from tests.service.test_api_capacity import ANSWERS, admitting, models_page
from tests.service.test_self_test import SMALL

LABELS = {
    "num_gpu_blocks": "364",
    "block_size": "128",
    "effective_attention_block_size": "128",
    "kv_cache_max_concurrency": str(364 / 32),
    "cache_dtype": "auto",
    "enable_prefix_caching": "True",
}
AT_WORK = {
    "vllm:num_requests_running": 4.0,
    "vllm:num_requests_waiting": 0.0,
    "vllm:kv_cache_usage_perc": 0.25,
    "vllm:num_preemptions_total": 0.0,
    "vllm:prefix_cache_queries_total": 1000.0,
    "vllm:prefix_cache_hits_total": 250.0,
    "vllm:request_params_max_tokens_sum": 5120.0,
    "vllm:request_params_max_tokens_count": 10.0,
    "vllm:request_prompt_tokens_sum": 20000.0,
    "vllm:request_prompt_tokens_count": 10.0,
    "vllm:request_generation_tokens_sum": 2000.0,
    "vllm:request_generation_tokens_count": 10.0,
    "vllm:request_queue_time_seconds_sum": 0.1,
    "vllm:request_queue_time_seconds_count": 10.0,
    "vllm:request_prefill_time_seconds_sum": 10.0,
    "vllm:request_prefill_time_seconds_count": 10.0,
    "vllm:request_decode_time_seconds_sum": 40.0,
    "vllm:request_decode_time_seconds_count": 10.0,
    "vllm:inter_token_latency_seconds_sum": 40.0,
    "vllm:inter_token_latency_seconds_count": 2000.0,
}
ASKED = tuple(Request(1500 + 20 * number, 100 + number) for number in range(40))


def page(labels: dict[str, str] | None = None, **changed: float) -> str:
    said = ",".join(f'{name}="{value}"' for name, value in (LABELS | (labels or {})).items())
    renamed = {f"vllm:{name}": value for name, value in changed.items()}
    lines = [f'vllm:cache_config_info{{{said},engine="0"}} 1.0']
    lines += [f'{name}{{engine="0",model_name="m"}} {value}' for name, value in (AT_WORK | renamed).items()]
    return "\n".join(lines) + "\n"


def findings(metrics: str | None = None, **changed: Any) -> Findings:
    seen = counted(metrics or page())
    well = Findings(
        counted=seen,
        room=room_of(seen.labels, 4096, 0.05),
        drift=None,
        geometry=geometry_of("model", SMALL),
        real=ASKED,
        tested=(*ASKED, Request(2400, 200)),
        max_new_tokens=256,
        context_window=4096,
        headroom=0.05,
    )
    return replace(well, **changed)


def verdicts(found: Findings) -> dict[int, Verdict]:
    return {step.number: step.verdict for step in diagnose(found)}


def test_the_steps_are_ten_in_this_order() -> None:
    steps = diagnose(findings())
    assert [step.number for step in steps] == list(range(1, 11))
    assert [step.title.split()[0] for step in steps] == [
        *("Real", "KV", "Weights,", "Concurrency,", "Room", "Prefill", "Capacity", "KV", "Real", "Head-room")
    ]
    assert all(step.read and step.why for step in steps)


def test_where_all_is_well_it_says_so_and_decoding_is_bound_by_bandwidth() -> None:
    steps = diagnose(findings())
    assert [step.number for step in steps if step.verdict != "well"] == [6]
    assert "bandwidth" in steps[5].why


def test_figures_are_those_that_the_engine_counted() -> None:
    read = {step.number: " | ".join(step.read) for step in diagnose(findings())}
    assert "2000 in, 200 out" in read[1]
    assert "held now by one of 4 active: 2904 tokens" in read[1]  # .25 of 363 blocks of 128, by 4
    assert "23,040 bytes a token" in read[2]
    assert "prefill 1,000 ms" in read[6]
    assert "between two tokens: 20 ms" in read[6]
    assert "2,000 tokens a second" in read[6]
    assert "in the cache: 25%" in read[6]


FAULTS: dict[str, tuple[Findings, int, Verdict, str]] = {
    "a prompt near the window": (findings(real=(*ASKED, Request(3900, 100))), 1, "look", "window"),
    "another model": (findings(drift="drift: 364 blocks"), 2, "wrong", "drift"),
    "put back": (findings(page(num_preemptions_total=3.0)), 4, "wrong", "put generations back"),
    "waiting for KV": (
        findings(page(num_requests_waiting=5.0, kv_cache_usage_perc=0.97)),
        4,
        "wrong",
        "wait for KV",
    ),
    "waiting for a place": (findings(page(num_requests_waiting=5.0)), 4, "look", "not for KV"),
    "short sequences in large blocks": (
        findings(page(request_prompt_tokens_sum=900.0, request_generation_tokens_sum=100.0)),
        4,
        "look",
        "Blocks are large",
    ),
    "far more output held than written": (findings(max_new_tokens=2048), 5, "look", "2,048 tokens are held"),
    "an engine for longer sequences": (
        findings(room=room_of(LABELS, 32_768, 0.05)),
        5,
        "look",
        "far longer",
    ),
    "slow prefill": (findings(page(request_prefill_time_seconds_sum=400.0)), 6, "look", "reckoning"),
    "no capacity": (findings(page(request_queue_time_seconds_sum=900.0)), 6, "wrong", "capacity"),
    "more than fits for certain": (findings(page(num_requests_running=40.0)), 7, "look", "fit for certain"),
    "prefix caching off": (findings(page({"enable_prefix_caching": "False"})), 8, "look", "off"),
    "a full and wide cache": (findings(page(kv_cache_usage_perc=0.95)), 8, "look", "full width"),
    "tested with shorter ones": (
        findings(tested=(Request(500, 50),)),
        9,
        "wrong",
        "Real sequences are longer",
    ),
    "theory's 100 %": (findings(headroom=0.0), 10, "wrong", "promised"),
    "all of the GPU": (findings(page({"gpu_memory_utilization": "1.0"})), 10, "wrong", "all of the GPU"),
}


@pytest.mark.parametrize(("found", "number", "verdict", "why"), FAULTS.values(), ids=FAULTS.keys())
def test_each_cause_is_found_where_it_lies(found: Findings, number: int, verdict: Verdict, why: str) -> None:
    step = diagnose(found)[number - 1]
    assert step.verdict == verdict
    assert why in step.why
    assert step.next_step


def test_quantised_weights_beside_a_plain_cache_are_told() -> None:
    config = SMALL | {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128}}
    step = diagnose(findings(geometry=geometry_of("model", config)))[2]
    assert (step.verdict, "KV cache is not" in step.why) == ("look", True)
    assert sum("GiB" in one for one in step.read) == 4


def test_what_is_not_seen_is_unknown_and_never_well() -> None:
    nothing = findings(counted=None, room=None, geometry=None, real=(), tested=())
    assert verdicts(nothing) == dict.fromkeys(range(1, 10), "unknown") | {10: "well"}
    assert all(step.next_step for step in diagnose(nothing)[:9])


def test_an_engine_that_was_asked_nothing_yet_is_no_error() -> None:
    fresh = findings(page().split("\n")[0], real=(), tested=())
    assert verdicts(fresh)[6] == "unknown"
    assert verdicts(fresh)[4] == "unknown"


# --- the command -------------------------------------------------------------------------------


def told(settings: ServiceSettings, *words: str) -> tuple[int, list[dict[str, Any]]]:
    ended = CliRunner().invoke(app, ["capacity", "diagnose", *words, "--json"], obj=Installation(settings))
    return ended.exit_code, json.loads(ended.stdout)["steps"]


def test_an_engine_is_asked_and_a_model_read(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(SMALL), "utf-8")
    settings = ServiceSettings(corpus=CorpusSettings(home=tmp_path / "home"), key_secret="a" * 32)
    with scripted_engine() as engine:
        engine.pages |= {"/metrics": page().encode(), "/v1/models": models_page(4096)}
        code, steps = told(settings, "--vllm", engine.url, "--model", str(tmp_path))
    assert code == 0
    assert [step["verdict"] for step in steps] == [
        *("unknown", "well", "well", "well", "unknown", "look", "well", "well", "unknown", "well")
    ]


def test_what_is_no_address_or_no_text_is_told(tmp_path: Path) -> None:
    settings = ServiceSettings(corpus=CorpusSettings(home=tmp_path), key_secret="a" * 32)
    (tmp_path / "trace.jsonl").write_bytes("{}".encode("utf-16"))
    for words, said in (
        (("--vllm", "nonsense"), "no address"),
        (("--trace", str(tmp_path / "trace.jsonl")), "UTF-8"),
    ):
        ended = CliRunner().invoke(app, ["capacity", "diagnose", *words], obj=Installation(settings))
        assert (ended.exit_code, said in ended.output) == (2, True), ended.output


def test_without_an_engine_or_a_model_all_is_unknown(tmp_path: Path) -> None:
    settings = ServiceSettings(corpus=CorpusSettings(home=tmp_path), key_secret="a" * 32)
    code, steps = told(settings, "--vllm", "http://127.0.0.1:9")
    assert (code, {step["verdict"] for step in steps[:9]}) == (0, {"unknown"})


def test_what_the_engine_does_not_say_is_unknown_and_no_zero() -> None:
    silent = page().replace("vllm:kv_cache_usage_perc", "x").replace("vllm:num_preemptions_total", "y")
    read = diagnose(findings(silent))[3].read
    assert "KV used: unknown" in read
    assert "preemptions since it started: unknown" in read


def test_only_what_can_be_lowered_is_named() -> None:
    assert "half the" in diagnose(findings())[6].why


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_real_lengths_are_those_of_answers_that_a_model_wrote(database: Database, tmp_path: Path) -> None:
    with admitting(database, tmp_path, ANSWERS) as here:
        asked = here.ask().json()["usage"]
        here.ask(max_citations=1)
        with database.reading() as session:
            found = lengths_of_answers(session, 10)
            newest = lengths_of_answers(session, 1)
    assert (asked["input_tokens"], asked["output_tokens"]) in found
    assert newest == found[:1]


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_two_drafts_of_one_answer_are_no_length(database: Database, tmp_path: Path) -> None:
    with admitting(database, tmp_path, ANSWERS) as here:
        here.ask()
        with database.writing() as session:
            (kept,) = session.scalars(select(AnswerRow.record))
            session.execute(update(AnswerRow).values(record=kept.replace('"repair":""', '"repair":"tried"')))
        with database.reading() as session:
            assert lengths_of_answers(session, 10) == ()
