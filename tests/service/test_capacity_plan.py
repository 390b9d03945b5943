"""Plans: terms that add up, verdicts that follow from blocks, levers that bring what they say, curves."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as Xml
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from typer.testing import CliRunner

from ingest.corpus.errors import InvalidInput, NotFound
from service.capacity.assumed import assumptions
from service.capacity.blocks import sequences
from service.capacity.curve import curve, html_of, svg_of
from service.capacity.geometry import Geometry, geometries, geometry_of
from service.capacity.gpus import KNOWN, gpu_of, larger
from service.capacity.levers import levers
from service.capacity.log_row import LogRow, read_log
from service.capacity.memory import GIB, MARGIN, Serving, memory_terms
from service.capacity.planner import Wish, plan
from service.capacity.printed import row_layout
from service.capacity.raw import raw_kv_bytes, raw_weight_bytes
from service.capacity.shapes import Request, read_trace, requests_of
from service.capacity.simulate import simulate
from service.cli import app

DATA = os.environ.get("CITEWARD_EVAL_DATA")
PRESENT = pytest.mark.skipif(not DATA, reason="CITEWARD_EVAL_DATA names no folder of evaluation data")

LLAMA = {
    "model_type": "llama", "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
    "hidden_size": 4096, "intermediate_size": 14336, "vocab_size": 128256, "tie_word_embeddings": False,
    "torch_dtype": "bfloat16", "max_position_embeddings": 131072,
}  # fmt: skip
SHAPE = Request(8000, 1024)
SERVING = ("tensor_parallel", "utilization", "batched_tokens", "weights_gib")


def model(**changes: object) -> Geometry:
    return geometry_of("m", {**LLAMA, **changes})


def wish(**changes: Any) -> Wish:
    serving = Serving(gpu_of(changes.pop("gpu", "h100-80gb")), **{
        name: changes.pop(name) for name in SERVING if name in changes
    })  # fmt: skip
    return Wish(serving, changes.pop("requests", (SHAPE,)), changes.pop("concurrency", 16), **changes)


# --- the sums on paper ----------------------------------------------------------------------------


def test_raw_sums_worked_by_hand() -> None:
    assert raw_kv_bytes(32, 8, 128, 2, 16 * 8192) == 16 * GIB
    assert [round(raw_weight_bytes(7_000_000_000, bits) / GIB, 1) for bits in (16, 4)] == [13.0, 3.3]


@pytest.mark.parametrize("name", ["layers", "kv_heads", "head_dim", "bytes_per_value", "tokens"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), True])
def test_raw_sums_refuse_what_is_not_above_0(name: str, value: Any) -> None:
    sizes: dict[str, Any] = {"layers": 32, "kv_heads": 8, "head_dim": 128, "bytes_per_value": 2, "tokens": 10}
    with pytest.raises(InvalidInput) as caught:
        raw_kv_bytes(**{**sizes, name: value})
    assert caught.value.field == name
    with pytest.raises(InvalidInput):
        raw_weight_bytes(value, 16)
    with pytest.raises(InvalidInput):
        raw_weight_bytes(7, value)


@given(some.integers(1, 10**6), some.integers(1, 64))
@settings(deadline=None)  # machines are shared
def test_raw_bytes_double_with_tokens_and_with_concurrency(tokens: int, concurrency: int) -> None:
    once = raw_kv_bytes(32, 8, 128, 2, tokens * concurrency)
    assert raw_kv_bytes(32, 8, 128, 2, 2 * tokens * concurrency) == 2 * once


# --- plans ----------------------------------------------------------------------------------------


def test_terms_and_cache_are_the_whole_gpu() -> None:
    found = plan(model(), wish())
    assert sum(one.bytes for one in found.terms) + found.room.kv_bytes == int(79.1 * GIB)
    assert [one.name for one in found.terms] == [
        "reserve", "CUDA context and runtime", "weights", "activation and workspace",
        "communication and framework caches", "CUDA graphs", "error of the estimates",
    ]  # fmt: skip
    assert found.estimate_error == MARGIN


def test_weights_are_counted_on_the_fullest_rank() -> None:
    one, two = (plan(model(), wish(tensor_parallel=ranks)).terms[2] for ranks in (1, 2))
    assert (one.bytes, one.origin) == (2 * 8030261248, "counted")
    norms = 65 * 4096
    assert two.bytes == (8030261248 - norms) + 2 * norms


def test_room_is_what_blocks_make_of_it() -> None:
    found = plan(model(), wish())
    assert found.room.bytes_per_block == 2 * 2**20
    assert found.room.blocks == found.room.kv_bytes // (2 * 2**20)
    assert found.room.blocks_each == 564  # ceil(9024 / 16)
    assert found.room.at_once == (found.room.blocks - 1) // 564
    assert found.fits == (found.room.at_once >= 16)


def test_a_window_in_every_layer_stops_growing_and_pays_for_two_steps_in_flight() -> None:
    """ceil((4096 − 1 + 2 × 8192) / 16) + 1, for any length beyond."""
    mistral = model(model_type="mistral", sliding_window=4096)
    each = [plan(mistral, wish(requests=(Request(one, 1),))).room.blocks_each for one in (30000, 90000)]
    assert each == [1281, 1281]


def test_longer_than_the_window_never_fits() -> None:
    found = plan(model(max_position_embeddings=4096), wish(concurrency=1))
    assert not found.fits
    assert "window of 4,096" in found.why


def test_weights_that_do_not_fit_leave_nothing() -> None:
    found = plan(model(), wish(gpu="t4-16gb"))
    assert found.room.kv_bytes < 0
    assert (found.room.blocks, found.room.at_once, found.fits) == (0, 0, False)
    assert "nothing is left" in found.why


def test_an_engine_that_would_not_start_does_not_fit() -> None:
    small = {"gpu": "l4-24gb", "requests": (Request(900, 100),), "concurrency": 1}
    free = plan(model(), wish(**small))
    assert free.fits
    assert any("refuses to start" in one for one in free.notes)
    told = plan(model(), wish(**small, max_model_len=131072))
    assert not told.fits
    assert f"{told.room.longest_start:,} would do" in told.why
    assert plan(model(), wish(**small, max_model_len=told.room.longest_start)).fits


def test_quantised_weights_beside_a_plain_cache_are_told_of() -> None:
    fp8 = model(quantization_config={"quant_method": "fp8"})
    assert any("KV cache is not" in one for one in plan(fp8, wish()).notes)
    assert not any("KV cache is not" in one for one in plan(fp8, wish(kv_dtype="fp8")).notes)
    assert plan(fp8, wish()).terms[2].origin == "estimated"


def test_ranks_beyond_the_heads_are_told_of() -> None:
    few = model(num_key_value_heads=2)
    assert any("copied" in one for one in plan(few, wish(tensor_parallel=4)).notes)
    assert not any("copied" in one for one in plan(few, wish(tensor_parallel=2)).notes)


@pytest.mark.parametrize(
    ("changes", "wished", "field"),
    [
        ({"model_type": "nova"}, {}, "model_type"),
        ({"vision_config": {"a": 1}}, {}, "vision_config"),
        ({"quantization_config": {"quant_method": "magic"}}, {}, "quant_method"),
        ({"max_position_embeddings": None}, {}, "max_position_embeddings"),
        ({}, {"tensor_parallel": 3}, "tp"),
        ({}, {"kv_dtype": "int2"}, "kv_dtype"),
        ({}, {"utilization": 0.0}, "utilization"),
        ({}, {"utilization": 1.01}, "utilization"),
        ({}, {"concurrency": 0}, "concurrency"),
        ({}, {"requests": ()}, "requests"),
    ],
)
def test_what_is_not_known_or_would_be_refused_is_named(
    changes: dict[str, object], wished: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        plan(model(**changes), wish(**wished))
    assert caught.value.field == field


def test_measured_weights_stand_in_for_what_cannot_be_counted() -> None:
    for changes in ({"vision_config": {"a": 1}}, {"quantization_config": {"quant_method": "magic"}}):
        term = plan(model(**changes), wish(weights_gib=10.0)).terms[2]
        assert (term.bytes, term.origin) == (10 * GIB, "measured")


WISHES = some.builds(
    lambda gpu, ranks, kv, length, concurrency: wish(
        gpu=gpu, tensor_parallel=ranks, kv_dtype=kv, requests=(Request(length, 64),), concurrency=concurrency
    ),
    some.sampled_from([one.name for one in KNOWN]), some.sampled_from([1, 2, 4, 8]),
    some.sampled_from(["auto", "fp8"]),
    some.integers(1, 100_000), some.integers(1, 300),
)  # fmt: skip
MODELS = some.sampled_from([
    model(), model(model_type="mistral", sliding_window=4096),
    model(model_type="gemma3_text", head_dim=128, sliding_window=1024),
])  # fmt: skip


@given(MODELS, WISHES)
@settings(max_examples=40, deadline=None)
def test_what_is_said_to_fit_fits_in_bytes(geometry: Geometry, wished: Wish) -> None:
    """The wished requests' worst-case blocks, and the one that is never given out, lie within the cache."""
    found = plan(geometry, wished)
    if found.fits:
        held = (wished.concurrency * found.room.blocks_each + 1) * found.room.bytes_per_block
        assert held <= found.room.kv_bytes


@given(MODELS, WISHES, some.integers(1, 50_000))
@settings(max_examples=40, deadline=None)
def test_longer_requests_never_fit_more_often(geometry: Geometry, wished: Wish, more: int) -> None:
    (request,) = wished.requests
    longer = replace(wished, requests=(replace(request, input_tokens=request.input_tokens + more),))
    assert plan(geometry, longer).room.at_once <= plan(geometry, wished).room.at_once


@given(MODELS, WISHES)
@settings(max_examples=40, deadline=None)
def test_each_lever_brings_what_planning_with_it_says(geometry: Geometry, wished: Wish) -> None:
    without = plan(geometry, wished)
    for one in levers(geometry, wished, without):
        assert one.at_once - one.gain == without.room.at_once or one.name == "concurrency"
        if one.name in ("context", "output") and without.max_model_len >= wished.longest.tokens:
            assert one.fits, one  # it was computed to be enough


def test_levers_are_named_in_their_order() -> None:
    wished = wish(gpu="l4-24gb", concurrency=64)
    names = [one.name for one in levers(model(), wished, plan(model(), wished))]
    assert names == [
        "concurrency", "KV dtype", "weight quantisation", "weight quantisation", "TP", "GPU",
        "max_num_batched_tokens",
    ]  # fmt: skip
    roomy = wish(concurrency=64)
    assert [one.name for one in levers(model(), roomy, plan(model(), roomy))][:1] == ["context"]


# --- mixtures of lengths --------------------------------------------------------------------------


def test_lengths_are_read_as_one_or_as_percentiles() -> None:
    assert requests_of("8000", "1024") == (Request(8000, 1024),)
    mixed = requests_of("p50=100,p100=200", "7")
    assert (len(mixed), mixed[0], mixed[50], mixed[75], mixed[100]) == (
        101, Request(100, 7), Request(100, 7), Request(150, 7), Request(200, 7),
    )  # fmt: skip
    assert requests_of("p100=5", "p100=6")[0] == Request(5, 6)


@pytest.mark.parametrize(
    "said",
    ["", "many", "-5", "0", "p50", "p50=100,p10=50", "p50=100,p95=50", "p101=5", "p50=0", "p50=1;p60=2"],
)
def test_lengths_of_another_form_are_refused(said: str) -> None:
    for sides in ((said, "1"), ("1", said)):
        with pytest.raises(InvalidInput) as caught:
            requests_of(*sides)
        assert caught.value.field in ("input", "output")


def test_a_trace_is_read_by_any_of_its_names(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text('{"input": 5, "output": 6}\n\n{"prompt_tokens": 7, "completion_tokens": 8, "at": 0.5}\n')
    assert read_trace(path) == (Request(5, 6), Request(7, 8))
    for wrong in ('{"input": 5}', "[]", "{", '{"input": true, "output": 1}', '{"input": 0, "output": 0}', ""):
        path.write_text(wrong)
        with pytest.raises(InvalidInput):
            read_trace(path)
    with pytest.raises(NotFound):
        read_trace(tmp_path / "none")


def test_a_mixture_of_one_length_is_that_length() -> None:
    found = simulate([SHAPE, SHAPE], lambda tokens: tokens // 16, 5640, 131072)
    assert (found.at_once, found.mean_at_once, found.never) == (10, 10.0, 0)


def test_what_fits_never_is_counted_and_left_out() -> None:
    found = simulate(
        [Request(100, 100), Request(10**6, 1), Request(9000, 1)], lambda tokens: tokens // 10, 200, 5000
    )
    assert (found.never, found.at_once) == (2, 10)
    nothing = simulate([Request(10**6, 1)], lambda tokens: tokens, 10, 5000)
    assert (nothing.never, nothing.at_once) == (1, 0)


@given(
    some.lists(some.builds(Request, some.integers(1, 4000), some.integers(1, 1000)), min_size=2, max_size=20)
)
@settings(max_examples=30, deadline=None)
def test_a_mixture_lies_between_its_longest_and_its_shortest(requests: list[Request]) -> None:
    each = [-(-one.tokens // 16) for one in requests]
    found = simulate(requests, lambda tokens: -(-tokens // 16), 3000, 131072)
    assert 3000 // max(each) <= found.at_once <= found.mean_at_once <= 3000 // min(each)


def test_long_answers_are_met_more_often_than_they_come() -> None:
    """Half of the requests, but ten times as long in flight: far fewer fit than of requests drawn evenly."""
    requests = [Request(90, 10), Request(900, 100)]
    found = simulate(requests, lambda tokens: tokens, 11000, 131072)
    evenly = 11000 / (0.5 * 100 + 0.5 * 1000)
    assert found.mean_at_once < 0.7 * evenly


def test_a_plan_for_a_mixture_goes_by_the_draws() -> None:
    requests = requests_of("p50=800,p95=6000,p100=30000", "p50=200,p100=1024")
    found = plan(model(), wish(requests=requests, concurrency=1))
    assert found.mixed is not None
    assert found.room.at_once <= found.mixed.at_once
    assert plan(model(), wish(requests=requests, concurrency=found.mixed.at_once)).fits
    assert not plan(model(), wish(requests=requests, concurrency=found.mixed.at_once + 1)).fits


# --- the curve ------------------------------------------------------------------------------------


@given(MODELS, WISHES)
@settings(max_examples=20, deadline=None)
def test_the_curve_never_rises_and_can_be_drawn(geometry: Geometry, wished: Wish) -> None:
    found = plan(geometry, wished)
    points = curve(geometry, wished, found)
    assert [one.tokens for one in points] == sorted({one.tokens for one in points})
    assert [one.at_once for one in points] == sorted((one.at_once for one in points), reverse=True)
    assert points[-1].tokens == found.max_model_len
    root = Xml.fromstring(svg_of(points, wished, found))  # our own
    assert root.tag.endswith("svg")
    assert ("fits" in Xml.tostring(root, "unicode")) or not found.fits


def test_a_drawing_is_inert_whatever_a_model_is_called() -> None:
    named = replace(model(), id='</title><script>alert(1)</script>"')
    found = plan(named, wish())
    drawn = html_of(svg_of(curve(named, wish(), found), wish(), found))
    assert "<script" not in drawn
    assert "http" not in drawn.replace('xmlns="http://www.w3.org/2000/svg"', "")


# --- GPUs -----------------------------------------------------------------------------------------


def test_a_gpu_is_known_or_described() -> None:
    assert gpu_of("H100-80GB").gib == 79.1
    assert gpu_of("own", 12.5).gib == 12.5
    for name, gib, field in (("own", None, "gpu"), ("own", 0.0, "gpu_gib"), ("own", float("nan"), "gpu_gib")):
        with pytest.raises(InvalidInput) as caught:
            gpu_of(name, gib)
        assert caught.value.field == field
    assert larger(gpu_of("b200-180gb")) is None
    assert plan(model(), replace(wish(), serving=Serving(gpu_of("own", 40.0)))).phases.prefill_seconds is None


# --- the command ----------------------------------------------------------------------------------


def run(*arguments: str) -> tuple[int, str]:
    ended = CliRunner().invoke(app, ["capacity", "plan", *arguments])
    return ended.exit_code, ended.stdout


def test_the_command_plans_draws_and_fails_where_it_does_not_fit(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    arguments = ["--model", str(tmp_path), "--gpu", "h100-80gb", "--input", "8000", "--output", "1024"]
    code, out = run(*arguments, "--concurrency", "16", "--plot", str(tmp_path / "c.svg"), "--json")
    found = json.loads(out)
    assert (code, found["plan"]["fits"]) == (0, True)
    assert found["levers"]
    assert found["curve"]
    assert (tmp_path / "c.svg").read_text().startswith("<svg")
    assert run(*arguments, "--concurrency", "5000")[0] == 1
    for profile in ("offline", "chat", "batch"):
        code, out = run(*arguments, "--profile", profile, "--plot", str(tmp_path / "c.html"))
        assert code == 0
        assert "what would help" in out
    assert "<!doctype html>" in (tmp_path / "c.html").read_text()
    assert run(*arguments, "--vllm-version", "newest")[0] == 2
    assert run("--model", str(tmp_path), "--gpu", "abacus")[0] == 2


def test_raw_sums_have_commands() -> None:
    kv = ["--layers", "32", "--kv-heads", "8", "--head-dim", "128", "--tokens", "8192", "--sequences", "16"]
    ended = CliRunner().invoke(app, ["capacity", "kv", *kv])
    assert "16.0 GiB" in ended.stdout
    assert "raw" in ended.stdout
    ended = CliRunner().invoke(app, ["capacity", "weights", "--parameters", "7e9", "--bits", "4", "--json"])
    assert json.loads(ended.stdout)["raw_bytes"] == 3.5e9
    assert (
        CliRunner().invoke(app, ["capacity", "weights", "--parameters", "7e9", "--bits", "0"]).exit_code == 2
    )


def test_the_command_takes_a_trace(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    (tmp_path / "trace.jsonl").write_text('{"input": 800, "output": 100}\n{"input": 8000, "output": 1000}\n')
    code, out = run(
        "--model", str(tmp_path), "--gpu", "h100-80gb", "--trace", str(tmp_path / "trace.jsonl"), "--json"
    )
    assert code == 0
    assert json.loads(out)["plan"]["mixed"]["requests"] == 2


# --- the estimate's own error ---------------------------------------------------------------------

# GPU of a log → (its name here, or its memory; tokens in a step, where its version had no chunks)
MACHINES = {
    "RTX 3090 24G": "rtx3090-24gb", "H100 80G": "h100-80gb", "T4 16G": "t4-16gb", "H200 141G": "h200-141gb",
    "4x A100 80G": "a100-80gb", "RTX 5090 32G": "rtx5090-32gb", "2x 16G (15.77 GiB)": 15.77,
}  # fmt: skip
NAMES = {"Llama-3 8B class": "meta-llama/Llama-3.1-8B", "MiniMaxAI/MiniMax-M2 ": "MiniMaxAI/MiniMax-M2.5"}


def logged(row: LogRow) -> float | None:
    """GiB of the KV cache, as printed or as so many blocks take."""
    if row.available_kv_gib is not None:
        return row.available_kv_gib
    if row.num_blocks is None or not row.layers:
        return None
    return row.num_blocks * row_layout(row, next(iter(assumptions(row))).engine).bytes_per_block / GIB


@PRESENT
def test_the_estimates_error_is_as_it_is_stated() -> None:
    """Over the logged starts that state GPU and utilisation, and whose model is among the published ones."""
    assert DATA is not None
    models = {one.id: one for one in geometries(Path(DATA) / "kv" / "models.jsonl")}
    lines = (Path(DATA) / "kv" / "logs.jsonl").read_text("utf-8").splitlines()
    errors = []
    for row, line in zip(read_log(Path(DATA) / "kv" / "logs.jsonl"), map(json.loads, lines), strict=True):
        name = next((full for part, full in NAMES.items() if line["model"].startswith(part)), line["model"])
        machine, kv = MACHINES.get(line["gpu"]), logged(row)
        if name not in models or machine is None or kv is None or line["gpu_memory_utilization"] is None:
            continue
        gpu = gpu_of("own", machine) if isinstance(machine, float) else gpu_of(machine)
        batch = row.max_model_len or 2048 if not row.version or row.version < (0, 10, 0) else 8192
        if line["gpu"] in ("4x A100 80G", "RTX 5090 32G"):
            batch = 2048
        serving = Serving(gpu, row.tp or 1, line["gpu_memory_utilization"], batch, 256)
        terms = memory_terms(models[name], serving)
        ours = gpu.gib - sum(one.bytes for one in terms if one.name != "error of the estimates") / GIB
        errors.append((ours - kv) / gpu.gib)
    assert len(errors) >= 5
    assert max(errors) <= MARGIN  # what the plan takes off again: never optimistic
    assert abs(median(errors)) <= 0.02
    assert min(errors) >= -0.06


@PRESENT
def test_every_published_model_can_be_planned_for() -> None:
    assert DATA is not None
    wished = wish(gpu="b200-180gb", max_model_len=8192, requests=(Request(4000, 100),))
    for one in geometries(Path(DATA) / "kv" / "models.jsonl"):
        found = plan(one, wished)
        assert found.room.at_once == sequences(found.room.blocks, found.room.blocks_each), one.id
