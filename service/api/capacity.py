"""Whether a model and its readers fit on GPUs: the planner, for admins."""

from __future__ import annotations

from typing import Annotated, Any

from anyio import to_thread
from pydantic import Field

from service.api.door import admin_routes
from service.api.errors import problems
from service.api.schemas import Sent
from service.capacity.geometry import geometry_of
from service.capacity.planner import Profile
from service.capacity.shapes import requests_of
from service.capacity.wishes import Options, Planned, planned, wish_of

admin = admin_routes("capacity")
MOST = 1_000_000  # more than any of these counts ever is
Count = Annotated[int, Field(ge=1, le=MOST)]
Lengths = Annotated[
    str, Field(max_length=200, description="Tokens: 8000, or p50=800,p95=6000,p100=9000.", examples=["8000"])
]
EXAMPLE = {
    "model_type": "qwen2",
    "architectures": ["Qwen2ForCausalLM"],
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "vocab_size": 152064,
    "max_position_embeddings": 32768,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


class PlanRequest(Sent):
    """Names as vLLM's options have them; what is absent is its default."""

    config: Annotated[dict[str, Any], Field(description="The model's config.json.", examples=[EXAMPLE])]
    gpu: Annotated[str, Field(max_length=60, examples=["h100-80gb"])]
    gpu_gib: Annotated[float | None, Field(gt=0, le=10_000, description="Of a GPU that is not known.")] = None
    tp: Count = 1
    kv_dtype: Annotated[str, Field(max_length=60)] = "auto"
    concurrency: Count = 1
    input: Lengths = "8000"
    output: Lengths = "1024"
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] = 0.92
    max_num_batched_tokens: Count | None = None
    max_num_seqs: Count | None = None
    block_size: Count = 16
    max_model_len: Annotated[int, Field(ge=1, le=100_000_000)] | None = None
    weights_gib: Annotated[float | None, Field(gt=0, le=100_000)] = None
    vllm_version: Annotated[str, Field(max_length=30)] = "0.32.0"
    profile: Profile = "chat"


@admin.post("/v1/capacity/plan", summary="Does a model fit, and for how many?", responses=problems(422))
async def plan(body: PlanRequest) -> Planned:
    """What takes a GPU's memory, how many requests fit for certain, what would help, and the capacity curve.

    Nothing is downloaded or started; 422 names a fact of the model that is not known.
    """
    return await to_thread.run_sync(_planned, body)


def _planned(body: PlanRequest) -> Planned:
    given = body.model_dump(exclude={"config", "input", "output"})
    options = Options(requests=requests_of(body.input, body.output), **given)
    return planned(geometry_of("model", body.config), wish_of(options))
