"""What would make it fit: each thing that can be changed alone, and what it brings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ingest.corpus.errors import InvalidInput
from service.capacity.blocks import NULL_BLOCK
from service.capacity.geometry import Geometry, geometry_of
from service.capacity.gpus import larger
from service.capacity.model.kv_dtype import kv_dtype_of
from service.capacity.planner import Plan, Wish, engine_of, plan, with_requests
from service.capacity.shapes import Request

FP8 = {"quant_method": "fp8"}
INT4 = {"quant_method": "awq", "bits": 4, "group_size": 128}
SMALL_BATCH = 2048  # tokens a step


@dataclass(frozen=True, slots=True)
class Lever:
    """One change. `gain`: requests at once more than without it; `fits`: whether it is enough alone."""

    name: str
    change: str
    at_once: int
    gain: int
    fits: bool


def levers(geometry: Geometry, wish: Wish, without: Plan) -> tuple[Lever, ...]:
    """Those that vLLM would accept: context, output, concurrency, KV, weights, ranks, GPU, batch."""
    return tuple(_levers(geometry, wish, without))


def _levers(geometry: Geometry, wish: Wish, without: Plan) -> Iterator[Lever]:
    before = at_once(without)
    yield from _shorter(geometry, wish, without)
    enough = before >= 1
    yield Lever("concurrency", f"{before} instead of {wish.concurrency}", before, 0, enough)
    for name, change, other, wanted in _changes(geometry, wish):
        try:
            found = plan(other, wanted)
        except InvalidInput:
            continue  # the engine would refuse it
        yield Lever(name, change, at_once(found), at_once(found) - before, found.fits)


def at_once(found: Plan) -> int:
    return found.mixed.at_once if found.mixed is not None else found.room.at_once


def _shorter(geometry: Geometry, wish: Wish, without: Plan) -> Iterator[Lever]:
    """The longest context, and the longest output, with which the wished number fits."""
    if without.mixed is not None or without.room.kv_bytes <= 0:
        return
    request, engine = wish.longest, engine_of(wish)
    dtype = kv_dtype_of(wish.kv_dtype, geometry.dtype, geometry.facts.quantization)
    layout = geometry.layout(engine, dtype, wish.serving.tensor_parallel)
    share = max(0, without.room.blocks - NULL_BLOCK) // wish.concurrency
    tokens = layout.longest(share, engine, without.max_model_len)
    shorter = (
        ("context", Request(tokens - request.output_tokens, request.output_tokens)),
        ("output", Request(request.input_tokens, tokens - request.input_tokens)),
    )
    for name, one in shorter:
        side = one.input_tokens if name == "context" else one.output_tokens
        if side < 1 or tokens >= request.tokens:
            continue
        found = plan(geometry, with_requests(wish, one))
        yield Lever(
            name,
            f"at most {side:,} tokens",
            found.room.at_once,
            found.room.at_once - without.room.at_once,
            found.fits,
        )


def _changes(geometry: Geometry, wish: Wish) -> Iterator[tuple[str, str, Geometry, Wish]]:
    serving = wish.serving
    kv = kv_dtype_of(wish.kv_dtype, geometry.dtype, geometry.facts.quantization)
    if kv.width > 1:
        yield "KV dtype", f"fp8 instead of {kv.name}", geometry, replace(wish, kv_dtype="fp8")
    if geometry.weights is not None and geometry.weights.method is None and serving.weights_gib is None:
        for said, scheme in (("fp8", FP8), ("int4 (AWQ, groups of 128)", INT4)):
            other = geometry_of(geometry.id, geometry.facts.values, scheme)
            yield "weight quantisation", f"{said} instead of {geometry.dtype}", other, wish
    ranks = serving.tensor_parallel * 2
    yield (
        "TP",
        f"{ranks} ranks instead of {serving.tensor_parallel}",
        geometry,
        _with(wish, tensor_parallel=ranks),
    )
    bigger = larger(serving.gpu)
    if bigger is not None:
        yield "GPU", f"{bigger.name}, {bigger.gib:.0f} GiB", geometry, _with(wish, gpu=bigger)
    if serving.batched_tokens > SMALL_BATCH:
        smaller = _with(wish, batched_tokens=SMALL_BATCH)
        yield (
            "max_num_batched_tokens",
            f"{SMALL_BATCH} instead of {serving.batched_tokens}",
            geometry,
            smaller,
        )


def _with(wish: Wish, **changes: object) -> Wish:
    return replace(wish, serving=replace(wish.serving, **changes))  # type: ignore[arg-type]  # fields of Serving
