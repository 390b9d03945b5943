"""The engine's blocks against ours: agreement is silent, and each kind of drift names its likely cause."""

from __future__ import annotations

from typing import Any

import pytest

from service.capacity.geometry import Geometry, geometry_of
from service.capacity.room import room_of
from service.capacity.self_test import find_drift
from service.engine.cache import CacheSeen

LONGEST, GIB = 4096, 2**30
SMALL = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "vocab_size": 49152,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
}
WINDOWS = SMALL | {
    "model_type": "gemma3_text",
    "architectures": ["Gemma3ForCausalLM"],
    "num_hidden_layers": 8,
    "num_attention_heads": 4,
    "num_key_value_heads": 1,
    "head_dim": 64,
    "sliding_window": 256,
    "sliding_window_pattern": 8,
    "layer_types": ["sliding_attention"] * 7 + ["full_attention"],
}


def geometry(config: dict[str, Any]) -> Geometry:
    made = geometry_of("model", config)
    assert made.kept, made.unknown
    return made


def seen(blocks: int, of_longest: int, **labels: str) -> CacheSeen:
    said = {
        "num_gpu_blocks": str(blocks),
        "block_size": "128",
        "effective_attention_block_size": "128",
        "kv_cache_max_concurrency": str(blocks / of_longest),
        "cache_dtype": "auto",
        "num_gpu_blocks_override": "None",
        "kv_cache_memory_bytes": "None",
        "mamba_cache_mode": "none",
        **labels,
    }
    return CacheSeen(room_of(said, LONGEST, 0.0), tuple(sorted(said.items())))


# What real servers said of these shapes, with and without the bytes that they were given.
AGREE: dict[str, tuple[dict[str, Any], int, int, dict[str, str]]] = {
    "one kind of layers": (SMALL, 364, 32, {}),
    "and their memory": (SMALL, 364, 32, {"kv_cache_memory_bytes": str(GIB)}),
    "run in float32, whatever config.json says": (SMALL, 182, 32, {"kv_cache_memory_bytes": str(GIB)}),
    "windows beside a full layer": (WINDOWS, 400, 165, {}),
    "a count of blocks that was given": (
        SMALL,
        33,
        32,
        {"kv_cache_memory_bytes": str(GIB), "num_gpu_blocks_override": "33"},
    ),
}


@pytest.mark.parametrize(("config", "blocks", "longest", "labels"), AGREE.values(), ids=AGREE.keys())
def test_what_real_engines_said_agrees(
    config: dict[str, Any], blocks: int, longest: int, labels: dict[str, str]
) -> None:
    assert find_drift(geometry(config), seen(blocks, longest, **labels)) is None


@pytest.mark.parametrize(("said", "is_drift"), [(31, False), (33, False), (30, True), (34, True)])
def test_more_than_one_block_is_drift(said: int, is_drift: bool) -> None:
    assert (find_drift(geometry(SMALL), seen(340, said)) is not None) is is_drift


DRIFTS: dict[str, tuple[dict[str, Any], CacheSeen, str]] = {
    "windows charged as full": (WINDOWS, seen(400, 32), "disable-hybrid"),
    "layers of a draft": (SMALL, seen(364, 64), "draft model"),
    "a divided sequence": (SMALL, seen(364, 16), "context parallelism"),
    "another dtype": (SMALL, seen(500, 32, kv_cache_memory_bytes=str(GIB)), "kv-cache-dtype"),
    "a dtype that nobody knows": (SMALL, seen(364, 32, cache_dtype="odd"), "cannot be compared"),
}


@pytest.mark.parametrize(("config", "said", "cause"), DRIFTS.values(), ids=DRIFTS.keys())
def test_drift_names_both_numbers_and_the_likely_cause(
    config: dict[str, Any], said: CacheSeen, cause: str
) -> None:
    told = find_drift(geometry(config), said)
    assert told is not None
    assert cause in told


def test_an_engine_that_does_not_say_cannot_be_tested() -> None:
    nothing = CacheSeen(room_of({}, LONGEST, 0.0))
    assert find_drift(geometry(SMALL), nothing) is None
