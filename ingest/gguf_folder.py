"""From the GGUF file of a small chat model to a folder that vLLM and transformers load.

The folder holds bfloat16 weights, the configuration, the tokenizer and the chat template. Tensors go from
file to file some rows at a time, so that a model larger than the memory can be converted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ingest.corpus.errors import InvalidInput
from ingest.gguf import Floats, Gguf, read_gguf

STEP_VALUES = 2**22  # numbers widened at a time: 16 MiB
BFLOAT16_BYTES = 2
CONTROL, USER_DEFINED, UNUSED = 3, 4, 5  # types of a token; text holds neither of the first two by chance

# The parts of one layer: GGUF's name -> transformers' name.
LAYER = {
    "attn_norm.weight": "input_layernorm.weight",
    "attn_q.weight": "self_attn.q_proj.weight",
    "attn_k.weight": "self_attn.k_proj.weight",
    "attn_v.weight": "self_attn.v_proj.weight",
    "attn_output.weight": "self_attn.o_proj.weight",
    "ffn_norm.weight": "post_attention_layernorm.weight",
    "ffn_gate.weight": "mlp.gate_proj.weight",
    "ffn_up.weight": "mlp.up_proj.weight",
    "ffn_down.weight": "mlp.down_proj.weight",
}
BIASES = {f"attn_{part}.bias": f"self_attn.{part}_proj.bias" for part in "qkv"}
OUTPUT = "output.weight"  # absent where the embeddings serve as the output, too


@dataclass(frozen=True, slots=True)
class Architecture:
    """What GGUF leaves unsaid of one kind of model."""

    class_name: str  # transformers'
    layer: Mapping[str, str]
    # GGUF has the two halves of each rotated head interleaved, row by row; transformers one after the other.
    interleaved: bool


ARCHITECTURES = {
    "llama": Architecture("LlamaForCausalLM", LAYER, interleaved=True),
    "qwen2": Architecture("Qwen2ForCausalLM", {**LAYER, **BIASES}, interleaved=False),
}


def build_folder(path: Path, folder: Path) -> None:
    """Write the model of the GGUF file `path` into the empty `folder`.

    :raises InvalidInput: if it is no model or tokenizer of a kind that is known here, or damaged.
    """
    gguf = read_gguf(path)
    files = {
        "config.json": model_config(gguf),
        "tokenizer.json": tokenizer(gguf.metadata),
        "tokenizer_config.json": tokenizer_config(gguf.metadata),
    }
    write_weights(gguf, folder / "model.safetensors")
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


# --- what kind of model it is ------------------------------------------------------------------


def architecture(gguf: Gguf) -> Architecture:
    """:raises InvalidInput: for a kind that is not known here."""
    kind = gguf.metadata.get("general.architecture")
    if kind not in ARCHITECTURES:
        raise _not_known(f"Its architecture is {kind!r}; known are {', '.join(ARCHITECTURES)}.")
    return ARCHITECTURES[kind]


def architecture_number(gguf: Gguf, name: str) -> Any:
    """One of the architecture's numbers. :raises InvalidInput: if it is missing."""
    key = f"{gguf.metadata['general.architecture']}.{name}"
    if key not in gguf.metadata:
        raise _not_known(f"It does not say {key}.")
    return gguf.metadata[key]


def model_config(gguf: Gguf) -> Mapping[str, object]:
    """transformers' config.json."""
    kind = architecture(gguf)
    heads, hidden = (
        architecture_number(gguf, "attention.head_count"),
        architecture_number(gguf, "embedding_length"),
    )
    return {
        "architectures": [kind.class_name],
        "model_type": gguf.metadata["general.architecture"],
        "hidden_act": "silu",
        "hidden_size": hidden,
        "head_dim": hidden // heads,
        "num_hidden_layers": architecture_number(gguf, "block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": architecture_number(gguf, "attention.head_count_kv"),
        "intermediate_size": architecture_number(gguf, "feed_forward_length"),
        "max_position_embeddings": architecture_number(gguf, "context_length"),
        # Stored as f32; seven digits are the number that was meant.
        "rms_norm_eps": float(f"{architecture_number(gguf, 'attention.layer_norm_rms_epsilon'):.7g}"),
        "rope_theta": float(f"{architecture_number(gguf, 'rope.freq_base'):.7g}"),
        "vocab_size": gguf.tensors["token_embd.weight"].shape[0],
        "tie_word_embeddings": OUTPUT not in gguf.tensors,
        "bos_token_id": gguf.metadata.get("tokenizer.ggml.bos_token_id"),
        "eos_token_id": gguf.metadata.get("tokenizer.ggml.eos_token_id"),
        "use_cache": True,
        "dtype": "bfloat16",
    }


# --- weights -----------------------------------------------------------------------------------


def tensor_names(gguf: Gguf) -> Mapping[str, str]:
    """Each of the file's tensors with transformers' name for it. :raises InvalidInput: if they are others."""
    names = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}
    for number in range(architecture_number(gguf, "block_count")):
        for part, name in architecture(gguf).layer.items():
            names[f"blk.{number}.{part}"] = f"model.layers.{number}.{name}"
    if OUTPUT in gguf.tensors:
        names[OUTPUT] = "lm_head.weight"
    odd = sorted(names.keys() ^ gguf.tensors.keys())
    if odd:
        raise _not_known(f"Its tensors are not those of its kind: {', '.join(odd[:5])}.")
    return names


def write_weights(gguf: Gguf, path: Path) -> None:
    """All tensors as one safetensors file: length of the header, header, numbers.

    https://huggingface.co/docs/safetensors
    """
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    names, start = tensor_names(gguf), 0
    for stored, name in names.items():
        shape = gguf.tensors[stored].shape
        end = start + prod(shape) * BFLOAT16_BYTES
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": (start, end)}
        start = end
    written = json.dumps(header).encode()
    written += b" " * (-len(written) % 8)  # the numbers start aligned
    with path.open("wb") as file:
        file.write(len(written).to_bytes(8, "little") + written)
        for stored in names:
            _write_tensor(gguf, stored, file)


def _write_tensor(gguf: Gguf, name: str, file: BinaryIO) -> None:
    step = max(1, STEP_VALUES // gguf.tensors[name].shape[-1])
    for part in gguf.widened(name, row_order(gguf, name), step):
        file.write(to_bfloat16(part).astype("<u2").tobytes())


def row_order(gguf: Gguf, name: str) -> NDArray[np.intp] | None:
    """Which of the file's rows comes when; None: as they are stored."""
    heads = {"attn_q": "attention.head_count", "attn_k": "attention.head_count_kv"}
    part = name.split(".")[-2]
    if part not in heads or not architecture(gguf).interleaved:
        return None
    rows = gguf.tensors[name].rows
    return np.arange(rows).reshape(architecture_number(gguf, heads[part]), -1, 2).swapaxes(1, 2).reshape(-1)


def to_bfloat16(values: Floats) -> NDArray[np.uint16]:
    """The upper half of each finite f32's bits, rounded to nearest, ties to even."""
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


# --- tokenizer ---------------------------------------------------------------------------------

BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
# The split of text before byte-pair encoding, by the name that GGUF gives it.
WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
SPLITS: Mapping[str, tuple[object, Sequence[object]]] = {  # normaliser, steps
    "smollm": (None, ({"type": "Digits", "individual_digits": True}, {**BYTES, "use_regex": True})),
    "qwen2": (
        {"type": "NFC"},
        (
            {"type": "Split", "pattern": {"Regex": WORDS}, "behavior": "Isolated", "invert": False},
            {**BYTES, "use_regex": False},
        ),
    ),
}


def tokenizer(metadata: Mapping[str, Any]) -> Mapping[str, object]:
    """The tokenizer.json of byte-pair encoding. :raises InvalidInput: for a tokenizer of another kind."""
    model, split = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre", "")
    if model != "gpt2" or split not in SPLITS:
        raise _not_known(f"Its tokenizer is {model!r} with {split!r}; known are {', '.join(SPLITS)}.")
    normaliser, steps = SPLITS[split]
    kinds = list(enumerate(zip(_tokens(metadata), metadata["tokenizer.ggml.token_type"], strict=True)))
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            _added(token_id, token, special=kind == CONTROL)
            for token_id, (token, kind) in kinds
            if kind in (CONTROL, USER_DEFINED)
        ],
        "normalizer": normaliser,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": list(steps)},
        "post_processor": None,
        "decoder": {**BYTES, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: token_id for token_id, (token, kind) in kinds if kind != UNUSED},
            "merges": [merge.split(" ") for merge in metadata["tokenizer.ggml.merges"]],
        },
    }


def tokenizer_config(metadata: Mapping[str, Any]) -> Mapping[str, object]:
    """:raises InvalidInput: if there is no chat template."""
    if "tokenizer.chat_template" not in metadata:
        raise _not_known("It has no chat template.")
    tokens = _tokens(metadata)
    ids = {
        name: metadata.get(f"tokenizer.ggml.{key}_token_id")
        for name, key in {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}.items()
    }
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": metadata[f"{metadata['general.architecture']}.context_length"],
        "clean_up_tokenization_spaces": False,
        "fix_mistral_regex": False,  # unless told so, transformers takes any large vocabulary for Mistral's
        **{f"{name}_token": tokens[token_id] for name, token_id in ids.items() if token_id is not None},
        "chat_template": metadata["tokenizer.chat_template"],
    }


def _tokens(metadata: Mapping[str, Any]) -> Sequence[str]:
    tokens: Sequence[str] = metadata["tokenizer.ggml.tokens"]
    return tokens


def _added(token_id: int, token: str, *, special: bool) -> Mapping[str, object]:
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": token_id, "content": token, **plain, "special": special}


def _not_known(why: str) -> InvalidInput:
    return InvalidInput(
        "The GGUF file cannot be made into a model folder.",
        why=why,
        next_step="Choose another pack, or a model of a hub, which vLLM loads as it is.",
    )
