"""Which architectures are known: the model_type of a config to how that model is made.

Sizes follow the published implementations; tests hold them against a second implementation of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from service.capacity.model.attention import Every, Layers, one_window, qwen_windows
from service.capacity.model.decoder import Decoder
from service.capacity.model.facts import Facts, missing
from service.capacity.model.falcon import Falcon
from service.capacity.model.feed_forward import (
    Dense,
    Mixture,
    after_start,
    first_dense,
    interleaved,
    sparse_step,
)
from service.capacity.model.gemma import Gemma3n, Gemma4
from service.capacity.model.latent import LatentDecoder
from service.capacity.model.recurrent import DeltaNetDecoder, Mamba, Mamba2
from service.capacity.model.tensors import Tensor


class Architecture(Protocol):
    """How a model is made, read from its config. Both raise InvalidInput with the missing fact as `field`."""

    def kept(self, facts: Facts) -> tuple[Layers, ...]: ...

    def tensors(self, facts: Facts) -> tuple[Tensor, ...]: ...


BIAS = ("attention_bias", False)
USE_BIAS = ("use_bias", False)
WITH_BIAS = Dense(gated=False, bias=True, times=4)  # of the years before Llama
PLAIN = Dense(gated=False, bias=("mlp_bias", False))
ONE_WIDTH = ("intermediate_size",)
SHARED = "shared_expert_intermediate_size"

LLAMA = Decoder(qkv_bias=BIAS, out_bias=BIAS, feed_forward=Dense(bias=("mlp_bias", False)))
QWEN2 = Decoder(windows=qwen_windows, qkv_bias=True)
QWEN3 = Decoder(windows=qwen_windows, qkv_bias=BIAS, out_bias=BIAS, qk_norm="head")
QWEN3_MOE = Decoder(
    windows=qwen_windows,
    qkv_bias=BIAS,
    out_bias=BIAS,
    qk_norm="head",
    feed_forward=Mixture(dense=sparse_step),
)
MISTRAL = Decoder(windows=one_window)
GEMMA3_TEXT = Decoder(
    windows=Every(6, "sliding"), qkv_bias=BIAS, out_bias=BIAS, qk_norm="head", norms=4, tied=True
)
DEEPSEEK = LatentDecoder(Mixture(dense=first_dense, shared="n_shared_experts"))
DELTA_MOE = DeltaNetDecoder(Mixture(dense=sparse_step, shared=SHARED, shared_gate=True))
GPT2 = Decoder(
    qkv_bias=True, out_bias=True, feed_forward=WITH_BIAS, norm_bias=True, tied=True, grouped=False,
    positions=(("n_positions", "max_position_embeddings"), 1024, 0),
)  # fmt: skip

FAMILIES: Mapping[str, Architecture] = {
    "llama": LLAMA,
    "yi": LLAMA,
    "granite": LLAMA,
    "smollm3": replace(LLAMA, tied=True),
    "internlm3": Decoder(
        qkv_bias=("qkv_bias", False), out_bias=("bias", False), feed_forward=Dense(bias=("bias", False))
    ),
    "seed_oss": Decoder(
        qkv_bias=("attention_bias", True), out_bias=("attention_out_bias", False),
        feed_forward=Dense(bias=("mlp_bias", False)),
    ),
    "baichuan": Decoder(grouped=False),
    "internlm2": Decoder(qkv_bias=("bias", False), out_bias=("bias", False)),
    "mistral": MISTRAL,
    "ministral": MISTRAL,
    "ministral3": MISTRAL,
    "phi3": MISTRAL,
    "mixtral": Decoder(windows=one_window, feed_forward=Mixture(width=ONE_WIDTH)),
    "qwen2": QWEN2,
    "qwen2_vl": QWEN2,
    "qwen2_vl_text": QWEN2,
    "qwen2_5_vl": QWEN2,
    "qwen2_5_vl_text": QWEN2,
    "qwen2_moe": Decoder(
        windows=qwen_windows, qkv_bias=("qkv_bias", True),
        feed_forward=Mixture(dense=sparse_step, shared=SHARED, shared_gate=True),
    ),
    "qwen3": QWEN3,
    "qwen3_vl_text": QWEN3,
    "qwen3_moe": QWEN3_MOE,
    "qwen3_vl_moe_text": QWEN3_MOE,
    "qwen3_next": DELTA_MOE,
    "qwen3_5_text": DeltaNetDecoder(),
    "qwen3_5_moe_text": DELTA_MOE,
    "gemma": Decoder(qkv_bias=BIAS, out_bias=BIAS, tied=True),
    "gemma2": Decoder(windows=Every(2, "sliding"), qkv_bias=BIAS, out_bias=BIAS, norms=4, tied=True),
    "gemma3_text": GEMMA3_TEXT,
    "gemma3n_text": Gemma3n(),
    "gemma4_text": Gemma4(),
    "gpt_oss": Decoder(
        windows=Every(2, "sliding"), qkv_bias=("attention_bias", True), out_bias=("attention_bias", True),
        feed_forward=Mixture(width=ONE_WIDTH, bias=True), sinks=True,
    ),
    "llama4_text": Decoder(
        windows=Every(4, "chunked", "no_rope_layer_interval"), qkv_bias=BIAS, out_bias=BIAS,
        feed_forward=Mixture(
            width=ONE_WIDTH, dense_width=("intermediate_size_mlp",), dense=interleaved,
            shared="intermediate_size",
        ),
    ),
    "deepseek_v2": DEEPSEEK,
    "deepseek_v3": DEEPSEEK,
    "kimi_k2": DEEPSEEK,
    "minimax_m2": Decoder(qk_norm="whole", feed_forward=Mixture(width=ONE_WIDTH)),
    "glm": Decoder(qkv_bias=("attention_bias", True)),
    "glm4": Decoder(qkv_bias=("attention_bias", True), norms=4),
    "glm4_moe": Decoder(
        qkv_bias=BIAS, qk_norm=("use_qk_norm", "head"),
        feed_forward=Mixture(dense=first_dense, shared="n_shared_experts"),
    ),
    "chatglm": Decoder(qkv_bias=("add_qkv_bias", True), feed_forward=Dense(bias=("add_bias_linear", False))),
    "olmo": Decoder(qkv_bias=BIAS, out_bias=BIAS, norms=0, final_norm=False),
    "olmo2": Decoder(qkv_bias=BIAS, out_bias=BIAS, qk_norm="whole"),
    "olmo3": Decoder(windows=Every(4, "sliding"), qkv_bias=BIAS, out_bias=BIAS, qk_norm="whole"),
    "olmoe": Decoder(qkv_bias=BIAS, out_bias=BIAS, qk_norm="whole", feed_forward=Mixture(width=ONE_WIDTH)),
    "dots1": Decoder(
        windows=qwen_windows, qkv_bias=BIAS, out_bias=BIAS, qk_norm="head",
        feed_forward=Mixture(dense=first_dense, shared="n_shared_experts"),
    ),
    "ernie4_5": Decoder(qkv_bias=USE_BIAS, out_bias=USE_BIAS, feed_forward=Dense(bias=USE_BIAS), tied=True),
    "ernie4_5_moe": Decoder(
        feed_forward=Mixture(dense=after_start, shared="moe_num_shared_experts", corrected=True), tied=True
    ),
    "exaone4": Decoder(windows=Every(4, "sliding"), qk_norm="head"),
    "hunyuan_v1_dense": Decoder(qkv_bias=BIAS, out_bias=BIAS, qk_norm="head"),
    "cohere": Decoder(
        qkv_bias=BIAS, out_bias=BIAS, qk_norm=("use_qk_norm", "each"), norms=1, tied=True
    ),
    "cohere2": Decoder(windows=Every(4, "sliding"), qkv_bias=BIAS, out_bias=BIAS, norms=1, tied=True),
    "nemotron": Decoder(
        qkv_bias=BIAS, out_bias=BIAS, norm_bias=True, feed_forward=PLAIN
    ),
    "arcee": Decoder(qkv_bias=BIAS, out_bias=BIAS, feed_forward=PLAIN),
    "starcoder2": Decoder(
        windows=one_window, norm_bias=True, tied=True,
        qkv_bias=("use_bias", True), out_bias=("use_bias", True),
        feed_forward=Dense(gated=False, bias=("use_bias", True)),
    ),
    "phi": Decoder(
        qkv_bias=True, out_bias=True, norms=1, norm_bias=True, head_bias=True,
        feed_forward=Dense(gated=False, bias=True),
    ),
    "falcon": Falcon(),
    "gpt2": GPT2,
    "gpt_bigcode": Decoder(
        qkv_bias=True, out_bias=True, feed_forward=WITH_BIAS, norm_bias=True, tied=True,
        grouped=False, one_kv_head="multi_query",
        positions=(("n_positions", "max_position_embeddings"), 8192, 0),
    ),
    "gpt_neox": Decoder(
        qkv_bias=("attention_bias", True), out_bias=("attention_bias", True),
        feed_forward=WITH_BIAS, norm_bias=True, grouped=False,
    ),
    "mamba": Mamba(),
    "mamba2": Mamba2(),
}  # fmt: skip


HEADS_OF_128 = (
    "qwen3", "qwen3_vl_text", "llama4_text", "minimax_m2", "glm", "glm4", "seed_oss", "ministral3",
    "internlm3", "ernie4_5",
)  # fmt: skip
HEADS_OF_256 = ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text", "gemma", "gemma2")
GEMMA3 = {"head_dim": 256, "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 262208}
# What configs of a family may leave out, because its implementation knows it.
DEFAULTS: Mapping[str, Mapping[str, object]] = {
    **{name: {"head_dim": 128} for name in HEADS_OF_128},
    **{name: {"head_dim": 256} for name in HEADS_OF_256},
    "gpt_oss": {"head_dim": 64},
    "gemma3_text": GEMMA3,
    "gemma3n_text": {"head_dim": 256, "num_attention_heads": 8, "num_key_value_heads": 2},
    "gemma4_text": {"head_dim": 256, "global_head_dim": 512},
    "mamba2": {"head_dim": 64},
}


def architecture_of(facts: Facts) -> Architecture:
    """:raises InvalidInput: the config names no model_type, or one that is not known."""
    name = facts.model_type
    if not name:
        raise missing("model_type", "The config names no model_type.")
    if name not in FAMILIES:
        raise missing("model_type", f"How a model of type {name!r} is made is not known.")
    if facts.values.get("per_layer_config") and name != "gemma4_text":
        raise missing("per_layer_config", f"What per_layer_config means to a {name} is not known.")
    facts.defaults = DEFAULTS.get(name, {})
    return FAMILIES[name]
