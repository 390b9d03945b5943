"""From a config.json to sizes: values worked by hand for each kind of attention, and refusals by name."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from typer.testing import CliRunner

from ingest.corpus.errors import InvalidInput, NotFound
from service.capacity.blocks import Engine
from service.capacity.geometry import Geometry, geometries, geometry_of
from service.capacity.model.kv_dtype import kv_dtype_of
from service.cli import app

DATA = os.environ.get("CITEWARD_EVAL_DATA")
PRESENT = pytest.mark.skipif(not DATA, reason="CITEWARD_EVAL_DATA names no folder of evaluation data")

LLAMA = {
    "model_type": "llama", "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
    "hidden_size": 4096, "intermediate_size": 14336, "vocab_size": 128256, "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}  # fmt: skip
DELTA_NET = {
    "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128,
    "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4,
}  # fmt: skip
LATENT = {
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
}


def of(**changes: object) -> Geometry:
    return geometry_of("m", {key: one for key, one in {**LLAMA, **changes}.items() if one is not None})


# changes to Llama 3.1 8B → (bytes a token in full layers, in windowed ones, of state)
KEPT: dict[str, tuple[dict[str, object], tuple[int, int, int]]] = {
    "GQA: 32 × 2 × 8 × 128 × 2": ({}, (131072, 0, 0)),
    "MHA: none named, as many as queries": ({"num_key_value_heads": None}, (524288, 0, 0)),
    "MQA: 32 × 2 × 1 × 64 × 2": (
        {"model_type": "falcon", "num_attention_heads": 71, "hidden_size": 4544, "num_key_value_heads": None},
        (8192, 0, 0),
    ),
    "MLA: 32 × (512 + 64) × 2": ({"model_type": "deepseek_v3", **LATENT}, (36864, 0, 0)),
    "a head wider than its share": ({"model_type": "qwen3", "head_dim": 256}, (262144, 0, 0)),
    "two key and value groups": (
        {
            "model_type": "chatglm", "num_key_value_heads": None, "multi_query_group_num": 2,
            "kv_channels": 128,
        },
        (32768, 0, 0),
    ),
    "a window in every layer": ({"model_type": "mistral", "sliding_window": 4096}, (0, 131072, 0)),
    "no window": ({"model_type": "mistral", "sliding_window": None}, (131072, 0, 0)),
    "a window that is not used": (
        {"model_type": "qwen2", "sliding_window": 131072, "use_sliding_window": False}, (131072, 0, 0)
    ),
    "a window from layer 28 on": (
        {
            "model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": True,
            "max_window_layers": 28,
        },
        (28 * 4096, 4 * 4096, 0),
    ),
    "a window that Llama does not know": ({"sliding_window": 4096}, (131072, 0, 0)),
    "every second full": (
        {"model_type": "gemma2", "head_dim": 128, "sliding_window": 4096}, (16 * 4096, 16 * 4096, 0)
    ),
    "every sixth layer full: 5 of 32": (
        {"model_type": "gemma3_text", "head_dim": 128, "sliding_window": 1024}, (5 * 4096, 27 * 4096, 0)
    ),
    "as layer_types say": (
        {
            "model_type": "gemma3_text", "head_dim": 128, "sliding_window": 1024,
            "layer_types": ["full_attention"] * 3 + ["sliding_attention"] * 29,
        },
        (3 * 4096, 29 * 4096, 0),
    ),
    "full layers with heads of their own: 5 × 2 × 4 × 512 × 2, 27 × 2 × 16 × 256 × 2": (
        {
            "model_type": "gemma4_text", "num_key_value_heads": 16, "head_dim": 256, "global_head_dim": 512,
            "num_global_key_value_heads": 4, "attention_k_eq_v": True, "sliding_window": 1024,
        },
        (5 * 8192, 27 * 16384, 0),
    ),
    "the last 15 of 30 layers use another's cache: 3 full and 12 sliding keep their own": (
        {
            "model_type": "gemma3n_text", "num_hidden_layers": 30, "num_kv_shared_layers": 15,
            "head_dim": 256, "num_key_value_heads": 2, "sliding_window": 512,
        },
        (3 * 2048, 12 * 2048, 0),
    ),
    "chunks: three of four layers": (
        {"model_type": "llama4_text", "attention_chunk_size": 8192, "num_local_experts": 16, "head_dim": 128},
        (8 * 4096, 24 * 4096, 0),
    ),
    "attention and delta nets: 24 × (3 × 8192 × 2 + 32 × 128 × 128 × 2)": (
        {"model_type": "qwen3_next", "head_dim": 256, "num_key_value_heads": 2, **DELTA_NET},
        (8 * 2048, 0, 24 * 1097728),
    ),
    "the same with states of 32 bits": (
        {
            "model_type": "qwen3_5_text", "head_dim": 256, "num_key_value_heads": 2, **DELTA_NET,
            "mamba_ssm_dtype": "float32",
        },
        (8 * 2048, 0, 24 * (49152 + 2097152)),
    ),
    "Mamba: 32 × (3 × 8192 + 8192 × 16) × 2": (
        {"model_type": "mamba", "state_size": 16, "conv_kernel": 4, "expand": 2, "intermediate_size": None},
        (0, 0, 32 * (3 * 8192 + 8192 * 16) * 2),
    ),
    "Mamba 2: 32 × (3 × (128 × 64 + 2 × 8 × 128) + 128 × 64 × 128) × 2": (
        {
            "model_type": "mamba2", "num_heads": 128, "head_dim": 64, "n_groups": 8, "state_size": 128,
            "conv_kernel": 4,
        },
        (0, 0, 32 * (3 * 10240 + 1048576) * 2),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", KEPT)
def test_bytes_worked_by_hand(case: str) -> None:
    changes, (full, windowed, state) = KEPT[case]
    found = of(**changes)
    assert found.kv_bytes_per_token(None, "full", "latent") == full
    assert found.kv_bytes_per_token(None, "sliding", "chunked") == windowed
    assert found.state_bytes_per_sequence == state
    assert found.kv_bytes_per_token() == full + windowed


@pytest.mark.parametrize(
    ("kv_dtype", "width"),
    [
        ("auto", 131072),
        ("float16", 131072),
        ("fp8", 65536),
        ("fp8_e5m2", 65536),
        ("nvfp4", 36864),
        ("float32", 262144),
    ],
)
def test_the_width_of_a_cached_value(kv_dtype: str, width: int) -> None:
    """NVFP4 keeps its scales in the page: nine sixteenths of a byte a value, not a half."""
    assert of().kv_bytes_per_token(kv_dtype_of(kv_dtype, "bfloat16")) == width


def test_formats_of_latent_vectors_fix_their_own_size() -> None:
    latent = of(model_type="deepseek_v3", **LATENT)
    assert latent.kv_bytes_per_token(kv_dtype_of("fp8_ds_mla", "bfloat16")) == 32 * 656
    with pytest.raises(InvalidInput, match="576") as caught:
        of(model_type="deepseek_v3", **{**LATENT, "kv_lora_rank": 256}).cached(
            kv_dtype_of("fp8_ds_mla", "bfloat16")
        )
    assert caught.value.field == "kv_dtype"


@pytest.mark.parametrize(
    ("quantization", "name"),
    [
        (None, "bfloat16"),
        ({"quant_method": "fp8"}, "bfloat16"),  # weights of 8 bits say nothing of the cache
        ({"kv_cache_scheme": {"num_bits": 8, "type": "float"}}, "fp8"),
        ({"kv_cache_scheme": {"num_bits": 4, "type": "float"}}, "bfloat16"),
        ({"quantization": {"kv_cache_quant_algo": "FP8"}}, "fp8"),
    ],
)
def test_auto_follows_the_checkpoint_only_where_it_names_a_scheme(quantization: Any, name: str) -> None:
    assert kv_dtype_of("auto", "bfloat16", quantization).name == name


def test_ranks_share_heads_until_there_is_one_each() -> None:
    found = of()
    assert [found.cached(tensor_parallel=one)[0].token_bytes for one in (1, 2, 4, 8, 16)] == [
        4096,
        2048,
        1024,
        512,
        512,
    ]


def test_ranks_do_not_share_a_latent_vector() -> None:
    latent = of(model_type="deepseek_v3", **LATENT)
    assert latent.cached(tensor_parallel=8) == latent.cached()


def test_speculative_tokens_lengthen_a_state() -> None:
    """Three more columns of the convolution: 3 × 10240 × 2 bytes; on two ranks half of all."""
    changes = {"model_type": "qwen3_5_text", "head_dim": 256, **DELTA_NET, "linear_num_value_heads": 48}
    found = of(**changes, mamba_ssm_dtype="float32")
    (_, state), (_, longer) = found.cached(tensor_parallel=2), found.cached(None, 2, 3)
    assert (state.state_bytes, longer.state_bytes) == (1603584, 1634304)


# --- what is not known ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "fact"),
    [
        ({"model_type": "t5gemma"}, "model_type"),
        ({"model_type": None}, "model_type"),
        ({"num_hidden_layers": None}, "num_hidden_layers"),
        ({"num_hidden_layers": "32"}, "num_hidden_layers"),
        ({"num_hidden_layers": 10**12}, "num_hidden_layers"),
        ({"quantization_config": 4}, "quantization_config"),
        ({"model_type": "gemma2", "sliding_window": 9, "layer_types": ["mamba"] * 32}, "layer_types"),
        ({"model_type": "gemma4_text", "per_layer_config": {"5": {"head_dim": "a"}}}, "per_layer_config"),
        ({"num_attention_heads": 0}, "num_attention_heads"),
        ({"num_attention_heads": 9000}, "head_dim"),
        ({"torch_dtype": "int3"}, "torch_dtype"),
        ({"model_type": "gemma2"}, "sliding_window"),
        ({"model_type": "llama4_text"}, "attention_chunk_size"),
        ({"model_type": "deepseek_v3"}, "kv_lora_rank"),
        ({"model_type": "deepseek_v3", **LATENT, "index_topk": 2048}, "index_head_dim"),
        ({"model_type": "qwen3_next"}, "linear_num_key_heads"),
        ({"model_type": "gemma2", "sliding_window": 64, "layer_types": ["full_attention"]}, "layer_types"),
        ({"model_type": "gemma2", "sliding_window": 64, "layer_types": ["wavy"] * 32}, "layer_types"),
        ({"per_layer_config": {"3": {"head_dim": 7}}}, "per_layer_config"),
        ({"is_encoder_decoder": True}, "encoder-decoder"),
    ],
)  # fmt: skip
def test_an_unknown_fact_is_named_and_its_figure_withheld(changes: dict[str, object], fact: str) -> None:
    found = of(**changes)
    assert found.kept == ()
    assert any(one.startswith(fact) for one in found.unknown), found.unknown


@pytest.mark.parametrize(
    ("changes", "fact"),
    [
        ({"vocab_size": None}, "vocab_size"),
        ({"intermediate_size": None}, "intermediate_size"),
        ({"model_type": "gemma3n_text", "sliding_window": 512}, "parameters"),
        ({"model_type": "qwen3_moe", "moe_intermediate_size": 768}, "num_experts"),
        (
            {"model_type": "gemma4_text", "num_kv_shared_layers": 2, "sliding_window": 512},
            "hidden_size_per_layer_input",
        ),
    ],
)  # fmt: skip
def test_the_cache_may_be_known_where_parameters_are_not(changes: dict[str, object], fact: str) -> None:
    found = of(**changes)
    assert found.kept != ()
    assert (found.parameters, found.weights) == (None, None)
    assert any(fact in one for one in found.unknown), found.unknown


def test_shared_caches_need_the_order_of_layers() -> None:
    counts = {"full_attention": 6, "sliding_attention": 24}
    shape = {
        "num_hidden_layers": 30,
        "num_kv_shared_layers": 10,
        "sliding_window": 512,
        "layer_types": counts,
    }
    assert "order" in of(model_type="gemma4_text", **shape).unknown[0]


def test_a_second_model_beside_the_language_model_is_named() -> None:
    found = geometry_of(
        "m", {"model_type": "llava", "text_config": LLAMA, "vision_config": {"hidden_size": 8}}
    )
    assert found.parameters == of().parameters
    assert [one for one in found.unknown if one.startswith("vision_config")]


def test_what_was_inferred_is_written_down() -> None:
    found = of(num_key_value_heads=None, torch_dtype=None)
    assert {"num_key_value_heads", "torch_dtype", "head_dim"} <= set(found.facts.inferred)
    assert found.facts.read["hidden_size"] == 4096


NAMES = some.sampled_from([*LLAMA, "layer_types", "sliding_window", "head_dim"])
VALUES = some.one_of(
    some.none(),
    some.booleans(),
    some.integers(-2, 2**70),
    some.text(max_size=3),
    some.floats(),
    some.lists(some.text(max_size=2)),
    some.dictionaries(some.text(max_size=2), some.integers()),
)


@given(some.dictionaries(NAMES, VALUES, min_size=1))
@settings(deadline=None)  # machines are shared
def test_whatever_a_config_holds_it_is_read_or_refused(changes: dict[str, object]) -> None:
    for model_type in ("llama", "gemma2", "qwen2", "qwen3_moe", "mistral"):
        found = geometry_of("m", {**LLAMA, "model_type": model_type, **changes})
        assert found.kept != () or found.unknown


# --- files and the command ------------------------------------------------------------------------


def test_a_file_its_folder_and_rows_are_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "llama-8b"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA))
    (tmp_path / "rows.jsonl").write_text(json.dumps({"id": "llama-8b", "config": LLAMA}) + "\n")
    found = [
        next(iter(geometries(path))) for path in (folder, folder / "config.json", tmp_path / "rows.jsonl")
    ]
    assert {(one.id, one.parameters) for one in found} == {("llama-8b", 8030261248)}


def test_what_is_no_config_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("[1]")
    (tmp_path / "broken.json").write_text("{")
    for path, error in (
        (tmp_path, InvalidInput),
        (tmp_path / "broken.json", InvalidInput),
        (tmp_path / "no", NotFound),
    ):
        with pytest.raises(error):
            list(geometries(path))


def run(*arguments: str) -> tuple[int, str]:
    ended = CliRunner().invoke(app, ["capacity", "geometry", *arguments])
    return ended.exit_code, ended.stdout


def test_the_command_prints_the_agreed_shape(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    code, out = run(str(tmp_path), "--json", "--tokens", "8193")
    (row,) = json.loads(out)["rows"]
    assert code == 0
    agreed = {
        "kv_bytes_per_token": 131072, "state_bytes_per_sequence": 0, "groups": 1, "parameters": 8030261248,
        "weight_bytes": 16060522496, "dtype": "bfloat16", "unknown": [],
    }  # fmt: skip
    assert {name: row[name] for name in agreed} == agreed
    assert row["sequences"] == [{"tokens": 8193, "blocks": 513, "bytes": 513 * 2 * 2**20}]
    assert {"name": "num_key_value_heads", "value": "8", "origin": "read"} in row["terms"]
    assert run(str(tmp_path))[0] == 0


def test_the_command_fails_where_a_figure_is_missing(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({**LLAMA, "model_type": "nova"}))
    code, out = run(str(tmp_path), "--json")
    (row,) = json.loads(out)["rows"]
    assert code == 1
    assert row["kv_bytes_per_token"] is row["parameters"] is row["groups"] is None
    assert "nova" in row["unknown"][0]
    assert run(str(tmp_path))[0] == 1


# --- published architectures ----------------------------------------------------------------------


@PRESENT
def test_every_published_architecture_is_exact() -> None:
    assert DATA is not None
    path = Path(DATA) / "kv" / "models.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    found = list(geometries(path))
    assert len(rows) == len(found) > 0
    for row, one in zip(rows, found, strict=True):
        truth = row["derived"]
        assert one.unknown == (), one.id
        assert one.parameters == truth["params_total"], one.id
        assert one.kv_bytes_per_token() == truth["kv_bytes_per_token_if_all_full"], one.id
        full = one.kv_bytes_per_token(None, "full", "latent")
        assert full == truth["kv_bytes_per_token_full_layers"], one.id
        assert one.state_bytes_per_sequence == truth["state_bytes_per_sequence"], one.id
        assert one.weights is not None
        assert one.weights.estimated == (row["quantization"] is not None)
        if not one.weights.estimated:
            assert one.weights.total / 2**30 == pytest.approx(truth["weight_gib_bf16"], rel=0.01), one.id


@PRESENT
def test_every_published_architecture_lies_in_blocks_as_vllm_says() -> None:
    assert DATA is not None
    path = Path(DATA) / "kv" / "models.jsonl"
    for line, one in zip(path.read_text("utf-8").splitlines(), geometries(path), strict=True):
        layout = one.layout(Engine())
        for tokens, truth in json.loads(line)["vllm_0_32_tp1_bf16_inflight2048"].items():
            blocks = layout.blocks_for(int(tokens), Engine())
            assert (layout.bytes_per_block, len(layout.groups), blocks, layout.padding_layers) == (
                truth["bytes_per_block"],
                truth["groups"],
                truth["blocks_per_request"],
                truth["padding_layers"],
            ), (one.id, tokens)  # fmt: skip
            assert (
                max(group.block_size for group in layout.groups) >= truth["block_size"] >= layout.block_size
            )
