"""What one GPU's memory goes to before the KV cache gets the rest. Weights are counted, the others estimated.

Estimates lean to the large side. How far they were off is measured against engines' logs (docs/capacity.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from service.capacity.geometry import Geometry, Origin
from service.capacity.gpus import Gpu
from service.capacity.model.decoder import HIDDEN
from service.capacity.model.facts import DTYPE_BYTES
from service.capacity.model.feed_forward import EXPERTS, WIDTH
from service.capacity.model.weights import weights_of
from service.capacity.versions import GRAPHS_ESTIMATED, Version

GIB, MIB = 2**30, 2**20
CONTEXT = 0.5 * GIB  # of CUDA and its libraries, on any GPU; lies in what utilisation leaves free
LOGITS_KEPT = 3  # copies of the logits that sampling holds at once, each of 4 bytes a value
HIDDEN_KEPT = 4  # hidden states held at once: residual, normed, attention's and the network's output
WIDE_KEPT = 3  # gate, up, and their product
GRAPH_A_LAYER = 16 * MIB
# Of a GPU's memory: over the six logged starts that state all that is needed, the estimates left the cache
# from 5.5 % too little to 1.7 % too much (median 0.6 % too little).
MARGIN = 0.02
TALK_ALONE, TALK = (
    0.1 * GIB,
    0.5 * GIB,
)  # buffers of communication and what libraries take, alone or in company


@dataclass(frozen=True, slots=True)
class MemoryTerm:
    """Bytes of one GPU that go to one thing, and how that was found."""

    name: str
    bytes: int
    origin: Origin
    how: str


@dataclass(frozen=True, slots=True)
class Serving:
    """How an engine is started."""

    gpu: Gpu
    tensor_parallel: int = 1
    utilization: float = 0.92
    batched_tokens: int = 8192  # max_num_batched_tokens
    most_sequences: int = 1024  # max_num_seqs
    weights_gib: float | None = None  # measured, of the whole model
    version: Version = (0, 32, 0)


def memory_terms(geometry: Geometry, serving: Serving) -> tuple[MemoryTerm, ...]:
    """All but the KV cache, in the order in which a GPU fills: reserve, weights, work, talk, graphs."""
    total = int(serving.gpu.gib * GIB)
    reserve = total - ceil(total * serving.utilization)
    return (
        MemoryTerm("reserve", reserve, "counted", f"{1 - serving.utilization:.0%}, left free by the engine"),
        MemoryTerm(
            "CUDA context and runtime", max(0, int(CONTEXT) - reserve), "estimated",
            "half a GiB, as far as the reserve does not hold it",
        ),
        _weights(geometry, serving),
        _work(geometry, serving),
        _talk(serving),
        _graphs(geometry, serving),
        MemoryTerm("error of the estimates", int(total * MARGIN), "measured", f"{MARGIN:.0%} of the memory"),
    )  # fmt: skip


def _weights(geometry: Geometry, serving: Serving) -> MemoryTerm:
    if geometry.weights is None:
        each = ceil((serving.weights_gib or 0) * GIB / serving.tensor_parallel)
        return MemoryTerm("weights", each, "measured", "an even share of the whole model's")
    rank = weights_of(geometry.tensors, geometry.facts, serving.tensor_parallel)
    if serving.weights_gib is not None:
        share = rank.total / geometry.weights.total
        measured = ceil(serving.weights_gib * GIB * share)
        return MemoryTerm(
            "weights", measured, "measured", f"{serving.weights_gib:.2f} GiB of the whole model"
        )
    origin: Origin = "estimated" if rank.estimated else "counted"
    return MemoryTerm(
        "weights", rank.total, origin, f"parameters by {rank.method or rank.dtype}, on one of the ranks"
    )


def _work(geometry: Geometry, serving: Serving) -> MemoryTerm:
    """The larger of what layers hold of a full batch, and what sampling holds of all sequences' logits."""
    facts, ranks = geometry.facts, serving.tensor_parallel
    width = DTYPE_BYTES[geometry.dtype]
    hidden, vocabulary = facts.whole(*HIDDEN), facts.whole("vocab_size", "padded_vocab_size")
    wide = _number(geometry, *WIDTH) or 4 * hidden
    chosen = _number(geometry, "num_experts_per_tok", "moe_k", "top_k_experts")
    if chosen and _number(geometry, *EXPERTS):
        wide = max(wide, chosen * (_number(geometry, "moe_intermediate_size") or wide))
        hidden_kept = HIDDEN_KEPT + chosen  # what each expert gives back
    else:
        hidden_kept = HIDDEN_KEPT
    layers = serving.batched_tokens * width * (WIDE_KEPT * ceil(wide / ranks) + hidden_kept * hidden)
    logits = LOGITS_KEPT * 4 * serving.most_sequences * vocabulary
    how = f"{serving.batched_tokens:,} tokens in a step, {serving.most_sequences:,} sequences sampled"
    return MemoryTerm("activation and workspace", max(layers, logits), "estimated", how)


def _talk(serving: Serving) -> MemoryTerm:
    amount = TALK_ALONE if serving.tensor_parallel == 1 else TALK
    how = "one rank" if serving.tensor_parallel == 1 else f"{serving.tensor_parallel} ranks"
    return MemoryTerm("communication and framework caches", int(amount), "estimated", how)


def _graphs(geometry: Geometry, serving: Serving) -> MemoryTerm:
    layers = geometry.facts.depth()
    how = f"{layers} layers of {GRAPH_A_LAYER // MIB} MiB"
    if serving.version < GRAPHS_ESTIMATED:
        how += "; this version takes them from beyond its budget"
    return MemoryTerm("CUDA graphs", layers * GRAPH_A_LAYER, "estimated", how)


def _number(geometry: Geometry, *names: str) -> int:
    value = geometry.facts.get(*names)
    return value if isinstance(value, int) else 0
