"""`citeward capacity plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ingest.corpus.errors import InvalidInput
from service.capacity.curve import html_of, svg_of
from service.capacity.geometry import Geometry, geometries
from service.capacity.gpus import GPUS
from service.capacity.memory import GIB
from service.capacity.planner import Plan, Profile
from service.capacity.shapes import Request, read_trace, requests_of
from service.capacity.wishes import Options, planned, wish_of
from service.cli.show import Json, say, show, show_json, show_rows

Folder = Annotated[
    Path, typer.Option("--model", metavar="DIR", help="A folder with config.json, or the file.")
]
GpuName = Annotated[str, typer.Option("--gpu", help=f"One of {', '.join(GPUS)}; or any, with --gpu-gib.")]
GpuGib = Annotated[float | None, typer.Option("--gpu-gib", help="Its memory, as CUDA reports it.")]
Tp = Annotated[int, typer.Option("--tp", min=1, help="Ranks of tensor parallelism.")]
KvDtypeName = Annotated[str, typer.Option("--kv-dtype", help="As vLLM's --kv-cache-dtype.")]
Concurrency = Annotated[int, typer.Option("--concurrency", min=1, help="Requests at once.")]
Input = Annotated[
    str, typer.Option("--input", help="Tokens of a prompt: 8000, or p50=800,p95=6000,p100=9000.")
]
Output = Annotated[str, typer.Option("--output", help="Tokens of an answer, likewise.")]
Trace = Annotated[
    Path | None, typer.Option("--trace", help="JSONL of real requests: input and output, in tokens.")
]
Utilization = Annotated[float, typer.Option("--gpu-memory-utilization", help="As vLLM's.")]
Batched = Annotated[
    int | None,
    typer.Option("--max-num-batched-tokens", min=1, help="As vLLM's; else its default for the GPU."),
]
MostSequences = Annotated[int | None, typer.Option("--max-num-seqs", min=1, help="As vLLM's; likewise.")]
BlockSize = Annotated[int, typer.Option("--block-size", min=1, help="Tokens of a block.")]
Longest = Annotated[
    int | None, typer.Option("--max-model-len", min=1, help="Else what the model was made for.")
]
WeightsGib = Annotated[float | None, typer.Option("--weights-gib", help="Measured, of the whole model.")]
EngineVersion = Annotated[str, typer.Option("--vllm-version", help="Whose rules hold.")]
Goal = Annotated[Profile, typer.Option("--profile", help="Whose figures are shown.")]
Plot = Annotated[Path | None, typer.Option("--plot", help="Where to draw the curve: a .svg or .html file.")]


def plan(
    model: Folder,
    gpu: GpuName,
    gpu_gib: GpuGib = None,
    tp: Tp = 1,
    kv_dtype: KvDtypeName = "auto",
    concurrency: Concurrency = 1,
    input_tokens: Input = "8000",
    output_tokens: Output = "1024",
    trace: Trace = None,
    utilization: Utilization = 0.92,
    batched_tokens: Batched = None,
    most_sequences: MostSequences = None,
    block_size: BlockSize = 16,
    max_model_len: Longest = None,
    weights_gib: WeightsGib = None,
    vllm_version: EngineVersion = "0.32.0",
    profile: Goal = "chat",
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Whether a model and its readers fit on GPUs, how many at once, and what would make them fit.

    Ends with 1 if they do not. Blocks are exact; the memory left for them is counted in part and estimated in
    part, and each part says which.
    """
    wish = wish_of(
        Options(
            gpu=gpu,
            requests=read_trace(trace) if trace else requests_of(input_tokens, output_tokens),
            gpu_gib=gpu_gib,
            tp=tp,
            kv_dtype=kv_dtype,
            concurrency=concurrency,
            gpu_memory_utilization=utilization,
            max_num_batched_tokens=batched_tokens,
            max_num_seqs=most_sequences,
            block_size=block_size,
            max_model_len=max_model_len,
            weights_gib=weights_gib,
            vllm_version=vllm_version,
            profile=profile,
        )
    )
    found = planned(_one(model), wish)
    if plot is not None:
        drawn = svg_of(found.curve, wish, found.plan)
        plot.write_text(html_of(drawn) if plot.suffix == ".html" else drawn, "utf-8")
    if as_json:
        show_json(found)
    else:
        _show(found.plan, wish.longest)
        show_rows(found.levers, LEVERS, as_json=False)
    if plot is not None:
        say(f"Written: {plot}")
    if not found.plan.fits:
        raise typer.Exit(1)


def _one(path: Path) -> Geometry:
    found = list(geometries(path))
    if len(found) != 1:
        raise InvalidInput(
            f"{path} holds {len(found)} models.", next_step="Give one model's folder.", field="model"
        )
    return found[0]


def _show(found: Plan, longest: Request) -> None:
    show(f"{found.model} on {found.gpu}, KV {found.kv_dtype}: {'fits' if found.fits else 'DOES NOT FIT'}")
    show(found.why)
    show_rows(found.terms, TERMS, as_json=False)
    room = found.room
    show(f"KV cache          {room.kv_bytes / GIB:8.2f} GiB  what is left of one GPU")
    show(
        f"{room.blocks:,} blocks of {room.bytes_per_block:,} bytes, groups of layers: {room.groups}, exact;"
        f" {room.blocks_each:,} for one request of {longest.tokens:,} tokens"
    )
    printed = f"{room.printed_tokens:,} tokens, {room.printed_concurrency:.2f}x at {found.max_model_len:,}"
    show(f"The engine will print {printed}")
    show(f"The wished cache is {found.kv_to_weights:.2f} times the weights")
    if found.mixed is not None:
        show(
            f"Mixed lengths: {found.mixed.mean_at_once:.1f} at once on average, {found.mixed.never} fit never"
        )
    for note in found.notes:
        show(note)
    for name, value in _of_profile(found):
        show(f"{name}: {'not known for this GPU' if value is None else f'{value:,.4g}'}")


def _of_profile(found: Plan) -> tuple[tuple[str, float | None], ...]:
    """Bounds that matter to what is aimed at."""
    phases = found.phases
    prefill = ("prefill of one prompt, seconds at least", phases.prefill_seconds)
    rate = ("tokens a second of all, at most", phases.aggregate_tokens_per_second)
    if found.profile == "chat":
        return prefill, ("seconds between tokens, at least", phases.inter_token_seconds)
    if found.profile == "batch":
        return rate, ("seconds of one request, at least", phases.end_to_end_seconds)
    return rate, ("prompt tokens a second, at most", phases.prefill_tokens_per_second)


TERMS = {
    "part": lambda one: one.name,
    "GiB": lambda one: f"{one.bytes / GIB:.2f}",
    "how known": lambda one: one.origin,
    "from": lambda one: one.how,
}
LEVERS = {
    "what would help": lambda one: one.name,
    "change": lambda one: one.change,
    "at once": lambda one: one.at_once,
    "gain": lambda one: f"{one.gain:+d}",
    "fits": lambda one: "yes" if one.fits else "no",
}
