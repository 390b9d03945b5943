"""Bytes of weights, worked by hand for each way to quantise; parameters as a second implementation has."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from ingest.corpus.errors import InvalidInput
from service.capacity.geometry import Geometry, geometry_of
from service.capacity.model.facts import Facts
from service.capacity.model.tensors import Tensor, total
from service.capacity.model.weights import Weights, weights_of

# Two layers of each matrix, 256 × 512; an embedding, a norm, a router.
MATRIX = Tensor("self_attn.q_proj", "attention", (256, 512), 2, 10**6, layers=2)
EXPERTS = Tensor("mlp.experts.down_proj", "experts", (256, 512), 8, 10**6, layers=2)
SPARED = (Tensor("embed_tokens", "embedding", (100, 512), 1), Tensor("norm", "norm", (512,), 3))
ELEMENTS = 2 * 256 * 512


def quantised(quantization: dict[str, Any] | None, *tensors: Tensor) -> Weights:
    return weights_of(tensors or (MATRIX, *SPARED), Facts({"torch_dtype": "bfloat16"}, quantization))


UNTOUCHED = 2 * (100 * 512 + 3 * 512)
INT4 = {"num_bits": 4, "type": "int", "group_size": 128}


def compressed(weights: dict[str, Any]) -> dict[str, Any]:
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": weights}}}


# quantization_config → (bytes of the matrix, bytes of scales and zero points)
SCHEMES: dict[str, tuple[dict[str, Any], tuple[int, int]]] = {
    "a scale of 32 bits for each 128 × 128": (
        {"quant_method": "fp8", "weight_block_size": [128, 128]}, (ELEMENTS, 2 * 2 * 4 * 4)
    ),
    "a block begun has a scale": (
        {"quant_method": "fp8", "weight_block_size": [200, 500]}, (ELEMENTS, 2 * 2 * 2 * 4)
    ),
    "a scale for each row": ({"quant_method": "fbgemm_fp8"}, (ELEMENTS, 2 * 256 * 4)),
    "scales of 16 bits, zeros of 4, the order of 512 columns": (
        {"quant_method": "gptq", "bits": 4, "group_size": 128},
        (ELEMENTS // 2, 2 * (256 * 4 * 20 + 512 * 32) // 8),
    ),
    "one group a row": (
        {"quant_method": "awq", "bits": 4, "group_size": -1}, (ELEMENTS // 2, 2 * 256 * 20 // 8)
    ),
    "groups of 128": (
        {"quant_method": "awq", "w_bit": 4, "q_group_size": 128}, (ELEMENTS // 2, 2 * 256 * 4 * 20 // 8)
    ),
    "groups of 64": (
        {"quant_method": "bitsandbytes", "load_in_4bit": True}, (ELEMENTS // 2, 2 * 256 * 8 * 4)
    ),
    "eight bits": ({"quant_method": "bitsandbytes", "load_in_8bit": True}, (ELEMENTS, 2 * 256 * 4)),
    "groups of 16 with 8 bits": (
        {"quant_method": "modelopt", "quant_algo": "NVFP4"}, (ELEMENTS // 2, 2 * 256 * 32)
    ),
    "int4 in groups": (
        compressed(INT4),
        (ELEMENTS // 2, 2 * 256 * 4 * 2),
    ),
    "int4 in groups with zero points": (
        compressed({**INT4, "symmetric": False}),
        (ELEMENTS // 2, 2 * 256 * 4 * 20 // 8),
    ),
    "int8 by channel": (
        compressed({"num_bits": 8, "group_size": None}),
        (ELEMENTS, 2 * 256 * 4),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SCHEMES)
def test_quantised_weights_by_parts(case: str) -> None:
    quantization, (matrix, scales) = SCHEMES[case]
    found = quantised(quantization)
    assert (found.quantised, found.scales, found.unquantised) == (matrix, scales, UNTOUCHED)
    assert found.total == matrix + scales + UNTOUCHED
    assert found.estimated


def test_plain_weights_are_exact() -> None:
    found = quantised(None)
    assert (found.total, found.method, found.estimated) == (2 * ELEMENTS + UNTOUCHED, None, False)


def test_mxfp4_is_for_experts_alone() -> None:
    found = quantised({"quant_method": "mxfp4"}, MATRIX, EXPERTS)
    assert (found.quantised, found.scales, found.unquantised) == (
        4 * ELEMENTS // 2,
        4 * ELEMENTS // 32,
        2 * ELEMENTS,
    )


@pytest.mark.parametrize(
    ("spared", "layers"),
    [
        (["self_attn"], 2),
        (["model.layers.*.self_attn*"], 2),
        (["model.layers.0.self_attn.q_proj"], 1),
        (["model.layers.0.self_attn.q_proj", "model.layers.1.self_attn.q_proj"], 2),
        (["model.layers.1.self_attn"], 1),
        (["re:.*self_attn.*"], 2),
        (["model.layers.0.mlp", "lm_head"], 0),
        (["re:.*mlp.gate$"], 0),
        (["re:("], 2),  # what cannot be read is taken to spare, which takes more room
        ([], 0),
    ],
)
def test_what_a_config_spares_keeps_its_width(spared: list[str], layers: int) -> None:
    for name in ("ignore", "modules_to_not_convert", "exclude_modules"):
        found = quantised({"quant_method": "fbgemm_fp8", name: spared}, MATRIX)
        assert found.unquantised == layers * ELEMENTS
        assert found.quantised == (2 - layers) * ELEMENTS // 2


@pytest.mark.parametrize(
    ("quantization", "fact"),
    [
        ({"quant_method": "magic"}, "quant_method"),
        ({}, "quant_method"),
        ({"quant_method": "fp8", "weight_block_size": [0, 128]}, "weight_block_size"),
        ({"quant_method": "fp8", "weight_block_size": ["a", 128]}, "weight_block_size"),
        ({"quant_method": "gptq", "bits": 4}, "group_size"),
        ({"quant_method": "awq"}, "bits"),
        ({"quant_method": "bitsandbytes"}, "load_in_4bit"),
        ({"quant_method": "modelopt", "quant_algo": "W2"}, "quant_algo"),
        ({"quant_method": "compressed-tensors"}, "config_groups"),
    ],
)
def test_an_unknown_way_of_quantising_is_refused_by_name(quantization: dict[str, Any], fact: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        quantised(quantization)
    assert caught.value.field == fact


def test_ranks_share_matrices_but_not_norms() -> None:
    facts = Facts({"torch_dtype": "bfloat16"})
    assert weights_of((MATRIX, *SPARED), facts, 4).total == 2 * ELEMENTS // 4 + UNTOUCHED


def test_ranks_beyond_the_heads_hold_copies() -> None:
    keys = Tensor("self_attn.k_proj", "attention", (256, 512), 2, ranks=2, layers=2)
    assert [keys.on_a_rank(ranks) for ranks in (1, 2, 8)] == [ELEMENTS, ELEMENTS // 2, ELEMENTS // 2]


# --- counts against a second implementation -------------------------------------------------------

SHAPE: dict[str, Any] = {
    "vocab_size": 96, "hidden_size": 64, "intermediate_size": 112, "num_hidden_layers": 6,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 24, "max_position_embeddings": 128,
    "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2,
}  # fmt: skip
FOUR = {"num_experts": 4, "moe_intermediate_size": 40}
SHARED = {**FOUR, "shared_expert_intermediate_size": 56}
ROUTED = {
    "n_routed_experts": 4,
    "n_shared_experts": 2,
    "moe_intermediate_size": 40,
    "first_k_dense_replace": 2,
}
NET = {
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8,
    "linear_value_head_dim": 12,
    "linear_conv_kernel_dim": 4,
}  # fmt: skip
LATENT = {
    "kv_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16, "head_dim": 8,
    "n_group": 1,
    "topk_group": 1,
}  # fmt: skip
OLD = {
    "n_embd": 64,
    "n_layer": 6,
    "n_head": 4,
    "n_positions": 128,
    "head_dim": None,
    "intermediate_size": None,
}
PLAIN = {"head_dim": None}  # hidden size over heads
WINDOW = {"sliding_window": 32}
MODELS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("llama", {}),
    ("llama", {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True}),
    ("granite", {}),
    ("smollm3", PLAIN),
    ("seed_oss", {"attention_bias": True, "attention_out_bias": True}),
    ("mistral", WINDOW),
    ("ministral3", {}),
    ("phi3", PLAIN),
    ("mixtral", {"num_local_experts": 4, "sliding_window": None}),
    ("qwen2", {**PLAIN, "use_sliding_window": True, "sliding_window": 32, "max_window_layers": 4}),
    ("qwen2_moe", {**PLAIN, **SHARED, "decoder_sparse_step": 2, "mlp_only_layers": [1]}),
    ("qwen3", {"attention_bias": True}),
    ("qwen3_moe", {**FOUR, "decoder_sparse_step": 2}),
    ("qwen3_next", {**SHARED, **NET}),
    ("qwen3_5_text", NET),
    ("qwen3_5_moe_text", {**SHARED, **NET}),
    ("gemma", {}),
    ("gemma2", WINDOW),
    ("gemma3_text", WINDOW),
    ("gemma4_text", {
        **WINDOW, "hidden_size_per_layer_input": 0, "global_head_dim": 48, "num_global_key_value_heads": 1,
        "attention_k_eq_v": True,
    }),
    ("gemma4_text", {
        **WINDOW, "num_hidden_layers": 12, "hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 90,
        "num_kv_shared_layers": 6, "global_head_dim": 48, "use_double_wide_mlp": True,
    }),
    ("gemma4_text", {
        **WINDOW, **FOUR, "hidden_size_per_layer_input": 0, "enable_moe_block": True, "top_k_experts": 2,
    }),
    ("gpt_oss", {**WINDOW, "num_local_experts": 4}),
    ("llama4_text", {
        "num_local_experts": 4, "intermediate_size_mlp": 80, "interleave_moe_layer_step": 2,
        "attention_chunk_size": 32,
    }),
    ("deepseek_v2", {**LATENT, **ROUTED, "q_lora_rank": None}),
    ("deepseek_v3", {**LATENT, **ROUTED, "q_lora_rank": 48, "attention_bias": True}),
    ("minimax_m2", {"num_local_experts": 4}),
    ("glm", {}),
    ("glm4", {}),
    ("glm4_moe", {**ROUTED, "use_qk_norm": True}),
    ("olmo", PLAIN),
    ("olmo2", PLAIN),
    ("olmo3", {**PLAIN, **WINDOW}),
    ("olmoe", {**PLAIN, "num_experts": 4}),
    ("dots1", ROUTED),
    ("ernie4_5", {"use_bias": True}),
    ("ernie4_5_moe", {
        **PLAIN, "moe_num_experts": 4, "moe_intermediate_size": 40, "moe_num_shared_experts": 2,
        "moe_layer_start_index": 1, "moe_layer_end_index": -1, "moe_layer_interval": 1,
    }),
    ("exaone4", {**PLAIN, **WINDOW, "sliding_window_pattern": 4}),
    ("hunyuan_v1_dense", {}),
    ("cohere", {**PLAIN, "use_qk_norm": True}),
    ("cohere2", {**PLAIN, **WINDOW}),
    ("nemotron", {}),
    ("arcee", {}),
    ("starcoder2", PLAIN),
    ("phi", PLAIN),
    ("falcon", {**PLAIN, "intermediate_size": None}),
    ("falcon", {**PLAIN, "intermediate_size": None, "new_decoder_architecture": True, "num_kv_heads": 2}),
    ("falcon", {
        **PLAIN, "intermediate_size": None, "parallel_attn": False, "multi_query": False, "bias": True,
    }),
    ("gpt2", OLD),
    ("gpt_bigcode", OLD),
    ("gpt_bigcode", {**OLD, "multi_query": False}),
    ("gpt_neox", PLAIN),
    ("mamba", {"state_size": 8, "conv_kernel": 4, "intermediate_size": 128}),
    ("mamba2", {
        "state_size": 8, "conv_kernel": 4, "num_heads": 8, "head_dim": 16, "n_groups": 2, "expand": 2,
    }),
)  # fmt: skip


@pytest.mark.parametrize(
    ("model_type", "changes"), MODELS, ids=[f"{one}-{i}" for i, (one, _) in enumerate(MODELS)]
)
@pytest.mark.filterwarnings("ignore")  # of the other implementation, about tiny sizes
def test_parameters_are_those_of_a_second_implementation(model_type: str, changes: dict[str, Any]) -> None:
    """Both as a config that says little, and as one that says all that its class knows."""
    shape = {**SHAPE, **changes}
    given = {
        key: one for key, one in shape.items() if one is not None or key in ("q_lora_rank", "sliding_window")
    }
    config = AutoConfig.for_model(model_type, **given)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    model.tie_weights()
    truth = sum(one.numel() for one in model.parameters())
    for said in ({**given, "model_type": model_type}, {**config.to_dict(), "model_type": model_type}):
        found = geometry_of(model_type, said)
        assert (total(found.tensors), found.unknown) == (truth, ())
        assert windows(found) == windows_of(config, found)


def windows(found: Geometry) -> tuple[int, int]:
    """(layers with a window or chunk, layers that keep every token or a latent vector)"""
    kept = [(one.kind, one.count) for one in found.kept]
    return (
        sum(count for kind, count in kept if kind in ("sliding", "chunked")),
        sum(count for kind, count in kept if kind in ("full", "latent")),
    )


def windows_of(config: Any, found: Geometry) -> tuple[int, int]:
    types = getattr(config, "layer_types", None)
    if types is None or found.model_type.startswith(("mamba", "deepseek")):
        return windows(found)  # that implementation says nothing of it
    types = types[: len(types) - getattr(config, "num_kv_shared_layers", 0)]
    sliding = sum(one in ("sliding_attention", "chunked_attention") for one in types)
    return sliding, sum(one == "full_attention" for one in types)
