"""A plan as a command or a request asks for it, made a wish: names become figures, defaults vLLM's own."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from ingest.corpus.errors import InvalidInput
from service.capacity.curve import CurvePoint, curve
from service.capacity.geometry import Geometry
from service.capacity.gpus import gpu_of
from service.capacity.levers import Lever, levers
from service.capacity.memory import Serving
from service.capacity.planner import Plan, Profile, Wish, plan
from service.capacity.shapes import Request
from service.capacity.versions import default_batch, version_of

LARGE_BATCH = 2048  # tokens of a step: beyond it vLLM runs more sequences at once by default


@dataclass(frozen=True, slots=True)
class Options:
    """Names as vLLM's options have them, shorter where a plan is all about it; None: its default."""

    gpu: str
    requests: tuple[Request, ...]
    gpu_gib: float | None = None
    tp: int = 1
    kv_dtype: str = "auto"
    concurrency: int = 1
    gpu_memory_utilization: float = 0.92
    max_num_batched_tokens: int | None = None
    max_num_seqs: int | None = None
    block_size: int = 16
    max_model_len: int | None = None
    weights_gib: float | None = None
    vllm_version: str = "0.32.0"
    profile: Profile = "chat"


@dataclass(frozen=True, slots=True)
class Planned:
    plan: Plan
    levers: tuple[Lever, ...]
    curve: tuple[CurvePoint, ...]


def wish_of(options: Options) -> Wish:
    """:raises InvalidInput: for a GPU or a version that is not known, and as `Wish`."""
    version = version_of(options.vllm_version)
    if version is None:
        raise InvalidInput(f"{options.vllm_version!r} is no version of vLLM.", field="vllm_version")
    weights = options.weights_gib
    if weights is not None and not 0 < weights < inf:
        raise InvalidInput(f"weights_gib must be above 0, was: {weights}.", field="weights_gib")
    card = gpu_of(options.gpu, options.gpu_gib)
    batch = options.max_num_batched_tokens or default_batch(card.gib, "A100" if "a100" in card.name else "")
    many = options.max_num_seqs or (1024 if batch > LARGE_BATCH else 256)
    serving = Serving(card, options.tp, options.gpu_memory_utilization, batch, many, weights, version)
    return Wish(
        serving,
        options.requests,
        options.concurrency,
        options.kv_dtype,
        options.block_size,
        options.max_model_len,
        options.profile,
    )


def planned(geometry: Geometry, wish: Wish) -> Planned:
    """Does it fit, what would help, and how many at each length. Errors as of `plan`."""
    found = plan(geometry, wish)
    return Planned(found, tuple(levers(geometry, wish, found)), tuple(curve(geometry, wish, found)))
