"""What a running vLLM has counted, from its page of metrics: means over all requests since it started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from service.engine.probe import cache_labels, sample


@dataclass(frozen=True, slots=True)
class Counted:
    """None where the engine does not say, or nothing was asked yet. Times in seconds, lengths in tokens."""

    labels: Mapping[str, str]  # of `vllm:cache_config_info`
    running: float | None
    waiting: float | None
    kv_share: float | None  # of the blocks, used now
    preemptions: float | None
    prompt_tokens: float | None  # of one request
    output_tokens: float | None
    allowed_tokens: float | None  # its max_tokens
    queue_seconds: float | None
    prefill_seconds: float | None
    decode_seconds: float | None
    token_seconds: float | None  # between two tokens of one answer
    prefix_hits: float | None  # share of the prompt tokens that were in the cache already


def counted(metrics: str) -> Counted:
    """:param metrics: the page, as text."""
    asked = sample(metrics, "vllm:prefix_cache_queries_total")
    hits = sample(metrics, "vllm:prefix_cache_hits_total")
    return Counted(
        labels=cache_labels(metrics),
        running=sample(metrics, "vllm:num_requests_running"),
        waiting=sample(metrics, "vllm:num_requests_waiting"),
        kv_share=sample(metrics, "vllm:kv_cache_usage_perc"),
        preemptions=sample(metrics, "vllm:num_preemptions_total"),
        prompt_tokens=_mean(metrics, "vllm:request_prompt_tokens"),
        output_tokens=_mean(metrics, "vllm:request_generation_tokens"),
        allowed_tokens=_mean(metrics, "vllm:request_params_max_tokens"),
        queue_seconds=_mean(metrics, "vllm:request_queue_time_seconds"),
        prefill_seconds=_mean(metrics, "vllm:request_prefill_time_seconds"),
        decode_seconds=_mean(metrics, "vllm:request_decode_time_seconds"),
        token_seconds=_mean(metrics, "vllm:inter_token_latency_seconds"),
        prefix_hits=hits / asked if hits is not None and asked else None,
    )


def _mean(metrics: str, name: str) -> float | None:
    """Of a histogram."""
    total, count = sample(metrics, f"{name}_sum"), sample(metrics, f"{name}_count")
    return total / count if total is not None and count else None
