"""A real vLLM gives a model the blocks that its config.json foretells, whatever the layers keep."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedModel,
)

from service.bootstrap import open_self_test
from service.capacity.blocks import NULL_BLOCK, Engine, layout_of
from service.capacity.geometry import geometries
from service.capacity.model.kv_dtype import kv_dtype_of
from service.engine.cache import look_at_cache
from service.engine.launch import cpu_dtype, has_gpu
from tests.vllm_server import MAX_MODEL_LEN, MODEL, START_SECONDS, engine_of

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.timeout(START_SECONDS),
    pytest.mark.skipif(has_gpu(), reason="only without a GPU is the cache's size given"),
]
GIB = 2**30
SMALL: dict[str, Any] = {
    "vocab_size": 49_152,  # of the tokenizer
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 64,
    "max_position_embeddings": MAX_MODEL_LEN,
    "sliding_window": 256,
}


def seven_windows_and_one_that_keeps_all() -> PreTrainedModel:
    kinds = ["sliding_attention"] * 7 + ["full_attention"]
    return Gemma3ForCausalLM(Gemma3TextConfig(**SMALL, num_hidden_layers=8, layer_types=kinds))


def windows_alone() -> PreTrainedModel:
    return MistralForCausalLM(MistralConfig(**SMALL, num_hidden_layers=3))


RANDOM: Mapping[str, Callable[[], PreTrainedModel]] = {
    "one in eight keeps all": seven_windows_and_one_that_keeps_all,
    "windows alone": windows_alone,
}


def model_of(kind: str, folder: Path) -> Path:
    """One with random weights, with the tokenizer of the tests' own."""
    if kind not in RANDOM:
        return MODEL
    torch.manual_seed(0)
    RANDOM[kind]().save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(MODEL / name, folder)
    return folder


def every_size(kind: str) -> list[object]:
    return [pytest.param(kind, gib, marks=pytest.mark.slow) for gib in (1, 2, 3)]


@pytest.mark.parametrize(
    ("kind", "gib"),
    [
        ("one in eight keeps all", 1),
        *every_size("one in eight keeps all")[1:],
        *every_size("windows alone"),
        *every_size("all keep all"),  # in each run by test_engine_room.py, of one size
    ],
)
def test_the_engine_has_the_blocks_that_the_config_foretells(kind: str, gib: int, tmp_path: Path) -> None:
    if not MODEL.exists():
        pytest.skip("the tests' language model is not pulled: make test pulls it")
    model = model_of(kind, tmp_path / "model")
    geometry = next(iter(geometries(model)))
    with engine_of(model, gib, tmp_path / "engine") as status:
        seen = look_at_cache(status.url, MAX_MODEL_LEN, 0.0)
    engine = Engine(block_size=status.block_size or 0, in_flight_tokens=MAX_MODEL_LEN)  # fills any window
    kv = kv_dtype_of("auto", cpu_dtype())
    layout = layout_of(geometry.cached(kv), engine, block_fixed=True)
    assert seen.room.usable + NULL_BLOCK == layout.blocks_in(gib * GIB)
    assert seen.room.longest_blocks == layout.blocks_for(MAX_MODEL_LEN, engine)
    assert open_self_test(model)(seen) is None
