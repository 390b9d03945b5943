"""Does it fit, how many at once, and what would make it fit: a model, a GPU and requests to a plan.

A pure function. Blocks and pages are exact, as vLLM deals them out; of the memory that the cache gets, the
parts are counted or estimated, and each says which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ingest.corpus.errors import InvalidInput
from service.capacity.blocks import NULL_BLOCK, Engine, Layout, sequences
from service.capacity.geometry import Geometry
from service.capacity.memory import GIB, MARGIN, MemoryTerm, Serving, memory_terms
from service.capacity.model.kv_dtype import KvDtype, kv_dtype_of
from service.capacity.phases import Phases, phases_of
from service.capacity.shapes import Request
from service.capacity.simulate import Mixed, simulate
from service.capacity.versions import batches_in_flight

Profile = Literal["offline", "chat", "batch"]


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be served, and on what. Several requests are a mixture of lengths."""

    serving: Serving
    requests: tuple[Request, ...]
    concurrency: int
    kv_dtype: str = "auto"
    block_size: int = 16
    max_model_len: int | None = None  # None: the longest that the model was made for
    profile: Profile = "chat"

    def __post_init__(self) -> None:
        counts = (
            self.concurrency,
            self.serving.tensor_parallel,
            self.block_size,
            self.serving.batched_tokens,
        )
        names = ("concurrency", "tp", "block_size", "batched_tokens")
        for name, value in zip(names, counts, strict=True):
            if value < 1:
                raise InvalidInput(f"{name} must be at least 1, was: {value}.", field=name)
        if not 0 < self.serving.utilization <= 1:
            said = f"utilization must be above 0, up to 1, was: {self.serving.utilization}."
            raise InvalidInput(said, field="utilization")
        if not self.requests:
            raise InvalidInput("There is no request to plan for.", field="requests")

    @property
    def longest(self) -> Request:
        return max(self.requests, key=lambda one: one.tokens)


@dataclass(frozen=True, slots=True)
class Room:
    """The KV cache of one rank, in blocks."""

    kv_bytes: int  # below 0: the weights and the work alone do not fit
    bytes_per_block: int
    block_size: int
    groups: int
    blocks: int
    blocks_each: int  # that the longest request takes at most
    at_once: int  # requests of that length that fit for certain
    printed_tokens: int  # what the engine will print as KV cache size, and as maximum concurrency
    printed_concurrency: float
    longest_start: int  # the longest max_model_len with which the engine starts at all


@dataclass(frozen=True, slots=True)
class Plan:
    model: str
    gpu: str
    kv_dtype: str
    max_model_len: int
    fits: bool
    why: str
    terms: tuple[MemoryTerm, ...]
    room: Room
    mixed: Mixed | None  # where requests differ in length
    kv_to_weights: float  # bytes of the wished requests' cache over bytes of weights, on one rank
    notes: tuple[str, ...]
    phases: Phases
    profile: Profile
    estimate_error: float  # of the GPU's memory, as measured; already taken off


def plan(geometry: Geometry, wish: Wish) -> Plan:
    """:raises InvalidInput: a fact of the model is not known, or vLLM would refuse; `field` names it."""
    require_known(geometry, wish.serving)
    dtype = kv_dtype_of(wish.kv_dtype, geometry.dtype, geometry.facts.quantization)
    longest, engine = window(geometry, wish), engine_of(wish)
    layout = geometry.layout(engine, dtype, wish.serving.tensor_parallel)
    terms = memory_terms(geometry, wish.serving)
    room = _room(wish, layout, engine, terms, longest)
    mixed = None
    if len(wish.requests) > 1:
        usable = max(0, room.blocks - NULL_BLOCK)
        mixed = simulate(wish.requests, lambda tokens: layout.blocks_for(tokens, engine), usable, longest)
    fits, why = _verdict(wish, room, mixed, longest)
    return Plan(
        model=geometry.id,
        gpu=f"{wish.serving.tensor_parallel} × {wish.serving.gpu.name}",
        kv_dtype=dtype.name,
        max_model_len=longest,
        fits=fits,
        why=why,
        terms=terms,
        room=room,
        mixed=mixed,
        kv_to_weights=wish.concurrency * room.blocks_each * room.bytes_per_block / _bytes(terms, "weights"),
        notes=(*_notes(geometry, wish, dtype), *_start(room, longest)),
        phases=phases_of(geometry, wish.serving, wish.longest, wish.concurrency, dtype),
        profile=wish.profile,
        estimate_error=MARGIN,
    )


def require_known(geometry: Geometry, serving: Serving) -> None:
    """:raises InvalidInput: naming the first fact that is missing."""
    if not geometry.kept or (geometry.unknown and serving.weights_gib is None):
        fact = geometry.unknown[0] if geometry.unknown else "config: no layer keeps anything"
        raise InvalidInput(
            f"{geometry.id} cannot be planned for: {fact}",
            next_step="Give its own config.json; weights that cannot be counted, with --weights-gib.",
            field=fact.partition(":")[0],
        )
    queries = geometry.facts.get("num_attention_heads", "n_head", "n_heads", "num_heads")
    if isinstance(queries, int) and queries % serving.tensor_parallel:
        raise InvalidInput(
            f"{queries} heads cannot be shared by {serving.tensor_parallel} ranks: the engine refuses that.",
            next_step="Choose a tp that divides them.",
            field="tp",
        )


def window(geometry: Geometry, wish: Wish) -> int:
    """The longest sequence in tokens, as set or as the model was made for."""
    if wish.max_model_len is not None:
        return wish.max_model_len
    return geometry.facts.whole("max_position_embeddings", "n_positions", "seq_length", "max_seq_len")


def engine_of(wish: Wish) -> Engine:
    batches = batches_in_flight(wish.serving.version, asynchronous=True)
    return Engine(wish.block_size, batches * wish.serving.batched_tokens)


def _room(wish: Wish, layout: Layout, engine: Engine, terms: Sequence[MemoryTerm], longest: int) -> Room:
    kv_bytes = int(wish.serving.gpu.gib * GIB) - sum(one.bytes for one in terms)
    blocks = layout.blocks_in(kv_bytes)
    each = layout.blocks_for(wish.longest.tokens, engine)
    printed = blocks / layout.blocks_for(longest, engine)
    return Room(
        kv_bytes, layout.bytes_per_block, layout.block_size, len(layout.groups), blocks, each,
        sequences(blocks, each), int(printed * longest), printed,
        layout.longest(max(0, blocks - NULL_BLOCK), engine, longest),
    )  # fmt: skip


def _verdict(wish: Wish, room: Room, mixed: Mixed | None, longest: int) -> tuple[bool, str]:
    need = wish.longest.tokens
    if need > longest:
        return False, f"A request of {need:,} tokens is longer than the window of {longest:,}."
    if room.kv_bytes <= 0:
        over = f"{-room.kv_bytes / GIB:.1f} GiB"
        return False, f"Weights and work take {over} more than a GPU has: nothing is left for KV."
    if wish.max_model_len is not None and room.longest_start < longest:
        said = (
            f"The engine refuses to start at a max_model_len of {longest:,}; {room.longest_start:,} would do."
        )
        return False, said
    if mixed is not None:
        at_once = mixed.at_once
        said = f"{at_once} of the mixture at once in {mixed.sure:.0%} of {mixed.draws} draws"
        return at_once >= wish.concurrency and not mixed.never, f"{said}; {wish.concurrency} are wished."
    said = f"{room.at_once:,} of {need:,} tokens at once for certain; {wish.concurrency:,} are wished."
    return room.at_once >= wish.concurrency, said


def _notes(geometry: Geometry, wish: Wish, dtype: KvDtype) -> Sequence[str]:
    found: list[str] = []
    weights = geometry.weights
    if weights is not None and weights.method is not None and dtype.width >= 2:
        said = f"Weights are quantised ({weights.method}), the KV cache is not ({dtype.name})"
        found.append(f"{said}: it takes its full width.")
    if wish.serving.tensor_parallel > 1 and any(one.kind == "latent" for one in geometry.kept):
        found.append("Latent vectors are on every rank: more ranks save no KV, only weights.")
    fewest = min((one.kv_heads for one in geometry.kept if one.kv_heads), default=0)
    if fewest and wish.serving.tensor_parallel > fewest:
        found.append(f"Beyond {fewest} ranks key and value heads are copied: more ranks save no KV.")
    return found


def _start(room: Room, longest: int) -> Sequence[str]:
    if not 0 < room.longest_start < longest:
        return ()
    return (
        f"At the model's own {longest:,} tokens the engine refuses to start: set max_model_len, to at most"
        f" {room.longest_start:,}.",
    )


def _bytes(terms: Sequence[MemoryTerm], name: str) -> int:
    return next(one.bytes for one in terms if one.name == name)


def with_requests(wish: Wish, request: Request) -> Wish:
    """The same wish for one shape."""
    return replace(wish, requests=(request,))
