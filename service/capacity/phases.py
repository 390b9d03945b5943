"""What no engine can beat on this hardware: bounds of each phase, never one latency. They are no predictions.

Prefill is bound by reckoning, decoding by reading: weights once a step, and the cache of all in flight.
"""

from __future__ import annotations

from dataclasses import dataclass

from service.capacity.geometry import Geometry
from service.capacity.memory import Serving
from service.capacity.model.feed_forward import EXPERTS
from service.capacity.model.kv_dtype import KvDtype
from service.capacity.model.tensors import total
from service.capacity.model.weights import weights_of
from service.capacity.shapes import Request


@dataclass(frozen=True, slots=True)
class Phases:
    """Seconds are at least so many, tokens a second at most. None: the GPU's speed is not known."""

    prefill_seconds: float | None  # of one prompt, alone; the least of a TTFT
    prefill_tokens_per_second: float | None
    inter_token_seconds: float | None  # with all wished requests in flight
    output_tokens_per_second: float | None  # of one request
    aggregate_tokens_per_second: float | None
    end_to_end_seconds: float | None


def phases_of(
    geometry: Geometry, serving: Serving, request: Request, concurrency: int, kv: KvDtype
) -> Phases:
    gpu, ranks = serving.gpu, serving.tensor_parallel
    if not gpu.bandwidth or not gpu.flops or geometry.weights is None:
        return Phases(None, None, None, None, None, None)
    active = _active_parameters(geometry)
    prefill = 2 * active * request.input_tokens / (gpu.flops * ranks)
    used = min(_parameters_but_embedding(geometry), concurrency * active)
    read = weights_of(geometry.tensors, geometry.facts, ranks).total * used / total(geometry.tensors)
    cached = geometry.kv_bytes_per_token(kv, "full", "latent") * request.input_tokens * concurrency / ranks
    between = (read + cached) / gpu.bandwidth
    return Phases(
        prefill_seconds=prefill,
        prefill_tokens_per_second=request.input_tokens / prefill if prefill else None,
        inter_token_seconds=between,
        output_tokens_per_second=1 / between,
        aggregate_tokens_per_second=concurrency / between,
        end_to_end_seconds=prefill + between * request.output_tokens,
    )


def _parameters_but_embedding(geometry: Geometry) -> int:
    return total(one for one in geometry.tensors if one.part != "embedding")


def _active_parameters(geometry: Geometry) -> int:
    """Those that one token passes: of experts, the chosen ones."""
    number, chosen = geometry.facts.get(*EXPERTS), geometry.facts.get("num_experts_per_tok", "moe_k")
    share = chosen / number if isinstance(number, int) and isinstance(chosen, int) and number else 1.0
    return int(
        sum(
            one.elements * (share if one.part == "experts" else 1)
            for one in geometry.tensors
            if one.part != "embedding"
        )
    )
