"""Settings that an engine's log does not print: what the row or a default says, then what else may be so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from service.capacity.blocks import Engine
from service.capacity.log_row import LogRow
from service.capacity.printed import way_of_reporting
from service.capacity.versions import batches_in_flight, default_batch

BATCHES = (2048, 8192, 16384)  # the defaults of max_num_batched_tokens; two may be in flight
GPU_BLOCK, CPU_BLOCK = 16, 128  # tokens


@dataclass(frozen=True, slots=True)
class Assumption:
    """`said` is "" where the row or a default decides it, else what would have to be so."""

    engine: Engine
    said: str


def assumptions(row: LogRow) -> Iterator[Assumption]:
    """At least one; those that say nothing come first."""
    states = any(one.kind == "state" for one in row.layers)
    block = row.block_size or (CPU_BLOCK if row.on_cpu else GPU_BLOCK)
    # Before windows had groups of their own, every layer was charged in full.
    hybrid = way_of_reporting(row) != "blocks*block_size"
    plain = Engine(block, speculative_tokens=row.num_spec_tokens or 0, hybrid=hybrid)
    for tokens, flight in _in_flight(row):
        yield Assumption(replace(plain, in_flight_tokens=tokens), flight)
        if states:
            said = " and ".join(
                filter(None, (flight, "states without prefix caching, which it does not state"))
            )
            yield Assumption(replace(plain, in_flight_tokens=tokens, aligned_states=False), said)


def flight_matters(row: LogRow) -> bool:
    """Whether tokens in flight change what the row printed: only windows hold them."""
    windows = any(one.kind in ("sliding", "chunked") for one in row.layers)
    return windows and (row.kv_tokens is None or way_of_reporting(row) == "concurrency*max_model_len")


def tokens_in_flight(row: LogRow) -> int | None:
    """As far as the row and vLLM's defaults decide them."""
    batch = row.max_num_batched_tokens
    if row.on_cpu:
        return batch or default_batch(None)  # one step at a time
    if batch is None and row.gpu_gib is not None:
        batch = default_batch(row.gpu_gib, row.gpu or "")
    if batch is None or row.version is None:
        return None
    return batch * batches_in_flight(row.version, asynchronous=True, pipeline_parallel=row.pp or 1)


def _in_flight(row: LogRow) -> Iterator[tuple[int, str]]:
    """(tokens, what would have to be so)"""
    if not flight_matters(row):
        yield BATCHES[0], ""
        return
    stated = tokens_in_flight(row)
    if stated is not None:
        yield stated, ""
    for tokens in sorted({one * steps for one in BATCHES for steps in (1, 2)} - {stated}):
        yield tokens, f"{tokens:,} tokens in flight, which it does not state"
