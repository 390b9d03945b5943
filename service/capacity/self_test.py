"""Our arithmetic of blocks against the engine's own: an operator should know where the two part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ingest.corpus.errors import InvalidInput
from service.capacity.blocks import NULL_BLOCK, Engine, Layout, layout_of
from service.capacity.geometry import Geometry
from service.capacity.model.kv_dtype import kv_dtype_of
from service.engine.cache import CacheSeen

MOST_DRIFT = 1  # blocks
RANKS = (1, 2, 4, 8, 16)  # tensor parallelism, which the engine does not tell here
RUN_WIDER = "float32"  # what an engine may make of any model, which it does not tell either
BATCHES = 2**30  # tokens in flight, no fewer than any engine's
DRAFT = "Likely cause: a draft model or speculative tokens, which have layers of their own."
NO_HYBRID = "Likely cause: --disable-hybrid-kv-cache-manager, which charges windows as if they kept all."
DIVIDED = "Likely cause: context parallelism, which divides a sequence between ranks, or another model."
DTYPE = "Likely cause: another model, another --kv-cache-dtype, or layers that it stores otherwise."


def find_drift(geometry: Geometry, seen: CacheSeen) -> str | None:
    """What differs by more than a block, with its likely cause; None if nothing does, or it cannot be told.

    Reckoned from the model's config.json: blocks of the longest sequence, and, where the engine was given its
    cache in bytes, how many blocks these are.
    """
    labels = dict(seen.labels)
    if not seen.room.is_said or not geometry.kept or not labels.get("block_size", "").isdecimal():
        return None
    engine = Engine(
        block_size=int(labels["block_size"]), aligned_states=labels.get("mamba_cache_mode") != "none"
    )
    try:
        return _sequence_drift(geometry, engine, labels, seen) or _memory_drift(
            geometry, engine, labels, seen
        )
    except InvalidInput as error:  # a dtype or pages that we do not know
        return f"the engine's blocks cannot be compared with config.json: {error.what}"


def _sequence_drift(
    geometry: Geometry, engine: Engine, labels: Mapping[str, str], seen: CacheSeen
) -> str | None:
    """How many tokens are in flight is not told, and windows are charged for them: any number will do."""
    layout, longest, said = _layout(geometry, engine, labels), seen.room.longest, seen.room.longest_blocks
    least = layout.blocks_for(longest, replace(engine, in_flight_tokens=0))
    most = layout.blocks_for(longest, replace(engine, in_flight_tokens=BATCHES))
    if least - MOST_DRIFT <= said <= most + MOST_DRIFT:
        return None
    plain = replace(engine, hybrid=False)
    without_hybrid = _layout(geometry, plain, labels).blocks_for(longest, plain)
    cause = DIVIDED if said < least else DRAFT
    if abs(said - without_hybrid) <= MOST_DRIFT:
        cause = NO_HYBRID
    ours = str(least) if least == most else f"{least} to {most}"
    return f"drift: {longest} tokens take {said} blocks as the engine says, {ours} by config.json. {cause}"


def _memory_drift(
    geometry: Geometry, engine: Engine, labels: Mapping[str, str], seen: CacheSeen
) -> str | None:
    memory, given = labels.get("kv_cache_memory_bytes", ""), labels.get("num_gpu_blocks_override", "None")
    if not memory.isdecimal() or given != "None":
        return None
    said = seen.room.usable + NULL_BLOCK
    ours = [
        _layout(replace(geometry, dtype=dtype), engine, labels, ranks).blocks_in(int(memory))
        for dtype in (geometry.dtype, RUN_WIDER)
        for ranks in RANKS
    ]
    if any(abs(said - blocks) <= MOST_DRIFT for blocks in ours):
        return None
    return f"drift: {memory} bytes are {said} blocks as the engine says, {ours[0]} by config.json. {DTYPE}"


def _layout(geometry: Geometry, engine: Engine, labels: Mapping[str, str], ranks: int = 1) -> Layout:
    kv = kv_dtype_of(labels.get("cache_dtype", "auto"), geometry.dtype)
    return layout_of(geometry.cached(kv, ranks), engine, block_fixed=True)
