"""GGUF files: each encoding against a plain reading of it, and a tiny model from file to folder."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from ingest.corpus.errors import InvalidInput
from ingest.gguf import ENCODINGS, read_gguf
from ingest.gguf_folder import build_folder, row_order, to_bfloat16

F32, Q4_1, Q5_0, Q8_0, Q4_K, Q6_K = 0, 3, 6, 8, 12, 14

# --- one block, number by number, as the format describes it -----------------------------------


def half(block: bytes, at: int) -> float:
    value: float = struct.unpack_from("<e", block, at)[0]
    return value


def signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def plain_q4_1(block: bytes) -> list[float]:
    numbers = [byte & 15 for byte in block[4:]] + [byte >> 4 for byte in block[4:]]
    return [number * half(block, 0) + half(block, 2) for number in numbers]


def plain_q5_0(block: bytes) -> list[float]:
    fifths = int.from_bytes(block[2:6], "little")
    lower = [byte & 15 for byte in block[6:]] + [byte >> 4 for byte in block[6:]]
    return [((low | (fifths >> i & 1) << 4) - 16) * half(block, 0) for i, low in enumerate(lower)]


def plain_q8_0(block: bytes) -> list[float]:
    return [signed(byte) * half(block, 0) for byte in block[2:]]


def plain_q4_k(block: bytes) -> list[float]:
    packed, numbers, values = block[4:16], block[16:], []
    for run in range(8):
        if run < 4:
            scale, least = packed[run] & 63, packed[run + 4] & 63
        else:
            scale = packed[run + 4] & 15 | packed[run - 4] >> 6 << 4
            least = packed[run + 4] >> 4 | packed[run] >> 6 << 4
        for i in range(32):
            byte = numbers[run // 2 * 32 + i]
            number = byte >> 4 if run % 2 else byte & 15
            values.append(scale * half(block, 0) * number - least * half(block, 2))
    return values


def plain_q6_k(block: bytes) -> list[float]:
    values = []
    for position in range(256):
        part, run, i = position // 128, position % 128 // 32, position % 32
        lower = block[part * 64 + run % 2 * 32 + i]
        upper = block[128 + part * 32 + i] >> (2 * run) & 3
        number = (lower >> 4 if run > 1 else lower & 15) | upper << 4
        scale = signed(block[192 + position // 16])
        values.append((number - 32) * scale * half(block, 208))
    return values


# Encoding -> a plain reading of one block, and where the block's f16 scales stand.
PLAIN: Mapping[int, tuple[Callable[[bytes], list[float]], tuple[int, ...]]] = {
    F32: (lambda block: [struct.unpack("<f", block)[0]], ()),
    Q4_1: (plain_q4_1, (0, 2)),
    Q5_0: (plain_q5_0, (0,)),
    Q8_0: (plain_q8_0, (0,)),
    Q4_K: (plain_q4_k, (0, 2)),
    Q6_K: (plain_q6_k, (208,)),
}


def random_blocks(kind: int, count: int, chance: random.Random) -> list[bytes]:
    """Any bits but in the scales, which are finite."""
    blocks = []
    for _ in range(count):
        block = bytearray(chance.randbytes(ENCODINGS[kind].length))
        for at in PLAIN[kind][1]:
            struct.pack_into("<e", block, at, chance.uniform(-2, 2))
        if kind == F32:
            struct.pack_into("<f", block, 0, chance.gauss(0, 1))
        blocks.append(bytes(block))
    return blocks


def test_every_encoding_has_a_plain_reading() -> None:
    assert PLAIN.keys() == ENCODINGS.keys()


@pytest.mark.parametrize("kind", PLAIN)
def test_blocks_are_widened_as_the_plain_reading_has_them(kind: int) -> None:
    blocks = random_blocks(kind, 64, random.Random(kind))
    widened = ENCODINGS[kind].widen(np.frombuffer(b"".join(blocks), np.uint8).reshape(64, -1))
    plain = np.array([PLAIN[kind][0](block) for block in blocks])
    assert widened.dtype == np.float32
    assert np.allclose(widened, plain, rtol=1e-5, atol=1e-5)


def test_bfloat16_rounds_as_pytorch_does() -> None:
    chance = np.random.default_rng(1)
    spread = chance.normal(size=10_000) * 10.0 ** chance.integers(-30, 30, 10_000)
    values = np.append(spread, [0, -0.0, 1.00390625, 1.01171875]).astype(np.float32)  # the last two are ties
    expected = torch.from_numpy(values).to(torch.bfloat16).view(torch.uint16).numpy()
    assert (to_bfloat16(values) == expected).all()


# --- a whole file: a model of two layers, a vocabulary of bytes --------------------------------

HIDDEN, WIDE, HEADS, KV_HEADS, LAYERS = 256, 512, 4, 2, 2
TEMPLATE = "{% for one in messages %}<|im_start|>{{ one.role }}\n{{ one.content }}<|im_end|>\n{% endfor %}"


def byte_tokens() -> list[str]:
    """The 256 bytes as byte-pair encoding writes them: what cannot be seen becomes a sign that can."""
    seen = {*range(33, 127), *range(161, 173), *range(174, 256)}
    hidden = iter(range(256, 512))
    return [chr(byte) if byte in seen else chr(next(hidden)) for byte in range(256)]


TOKENS = [*byte_tokens(), "ab", "<|im_start|>", "<|im_end|>", "<tool_call>", "[PAD260]"]
TYPES = [1] * 257 + [3, 3, 4, 5]


def metadata(kind: str, **changes: Any) -> dict[str, Any]:
    """What the file says; a change to None leaves a key out."""
    said = {
        "general.architecture": kind,
        f"{kind}.block_count": LAYERS,
        f"{kind}.context_length": 64,
        f"{kind}.embedding_length": HIDDEN,
        f"{kind}.feed_forward_length": WIDE,
        f"{kind}.attention.head_count": HEADS,
        f"{kind}.attention.head_count_kv": KV_HEADS,
        f"{kind}.attention.layer_norm_rms_epsilon": 1e-5,
        f"{kind}.rope.freq_base": 10000.0,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen2" if kind == "qwen2" else "smollm",
        "tokenizer.ggml.tokens": TOKENS,
        "tokenizer.ggml.token_type": TYPES,
        "tokenizer.ggml.merges": ["a b"],
        "tokenizer.ggml.bos_token_id": 257,
        "tokenizer.ggml.eos_token_id": 258,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": TEMPLATE,
        **{name.replace("__", "."): value for name, value in changes.items()},
    }
    return {name: value for name, value in said.items() if value is not None}


def shapes(kind: str, tied: bool = True) -> dict[str, tuple[tuple[int, ...], int]]:
    """Tensor -> rows first shape, encoding; all encodings are among them."""
    kv = HIDDEN // HEADS * KV_HEADS
    table: dict[str, tuple[tuple[int, ...], int]] = {
        "token_embd.weight": ((len(TOKENS), HIDDEN), Q8_0),
        "output_norm.weight": ((HIDDEN,), F32),
    }
    if not tied:
        table["output.weight"] = ((len(TOKENS), HIDDEN), Q6_K)
    for layer in range(LAYERS):
        table |= {
            f"blk.{layer}.attn_norm.weight": ((HIDDEN,), F32),
            f"blk.{layer}.attn_q.weight": ((HIDDEN, HIDDEN), Q4_1),
            f"blk.{layer}.attn_k.weight": ((kv, HIDDEN), Q4_K),
            f"blk.{layer}.attn_v.weight": ((kv, HIDDEN), Q6_K),
            f"blk.{layer}.attn_output.weight": ((HIDDEN, HIDDEN), Q4_K),
            f"blk.{layer}.ffn_norm.weight": ((HIDDEN,), F32),
            f"blk.{layer}.ffn_gate.weight": ((WIDE, HIDDEN), Q5_0),
            f"blk.{layer}.ffn_up.weight": ((WIDE, HIDDEN), Q8_0),
            f"blk.{layer}.ffn_down.weight": ((HIDDEN, WIDE), Q4_1),
        }
        if kind == "qwen2":
            biases = {"q": HIDDEN, "k": kv, "v": kv}
            table |= {f"blk.{layer}.attn_{part}.bias": ((size,), F32) for part, size in biases.items()}
    return table


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def entry(value: object) -> bytes:
    """A value with the code of its type."""
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    assert isinstance(value, list)
    of_text = isinstance(value[0], str)
    content = b"".join(map(text, value)) if of_text else struct.pack(f"<{len(value)}i", *value)
    return struct.pack("<IIQ", 9, 8 if of_text else 5, len(value)) + content


def gguf_file(
    said: Mapping[str, Any], table: Mapping[str, tuple[tuple[int, ...], int]], version: int = 3
) -> tuple[bytes, dict[str, list[bytes]]]:
    """The file, and the blocks of each tensor."""
    chance = random.Random(0)
    written = b"GGUF" + struct.pack("<IQQ", version, len(table), len(said))
    written += b"".join(text(name) + entry(value) for name, value in said.items())
    body, blocks = b"", {}
    for name, (shape, kind) in table.items():
        blocks[name] = random_blocks(kind, int(np.prod(shape)) // ENCODINGS[kind].values, chance)
        written += text(name) + struct.pack("<I", len(shape))
        written += struct.pack(f"<{len(shape)}Q", *reversed(shape)) + struct.pack("<IQ", kind, len(body))
        body += b"".join(blocks[name])
        body += bytes(-len(body) % 32)
    return written + bytes(-len(written) % 32) + body, blocks


def built(tmp_path: Path, kind: str, tied: bool = True) -> tuple[Path, dict[str, list[bytes]]]:
    """The folder made of such a file, and the file's blocks."""
    content, blocks = gguf_file(metadata(kind), shapes(kind, tied))
    (tmp_path / "tiny.gguf").write_bytes(content)
    folder = tmp_path / "folder"
    folder.mkdir()
    build_folder(tmp_path / "tiny.gguf", folder)
    return folder, blocks


def plain_tensor(blocks: Sequence[bytes], shape: tuple[int, ...], kind: int) -> torch.Tensor:
    numbers = [number for block in blocks for number in PLAIN[kind][0](block)]
    return torch.tensor(numbers, dtype=torch.float32).reshape(shape)


@pytest.mark.parametrize("kind", ["llama", "qwen2"])
def test_weights_are_the_files(tmp_path: Path, kind: str) -> None:
    folder, blocks = built(tmp_path, kind)
    weights = load_file(folder / "model.safetensors")
    table = shapes(kind)
    assert len(weights) == len(table)
    for stored, name in {
        "token_embd.weight": "model.embed_tokens.weight",
        "output_norm.weight": "model.norm.weight",
        "blk.1.ffn_down.weight": "model.layers.1.mlp.down_proj.weight",
        "blk.0.attn_v.weight": "model.layers.0.self_attn.v_proj.weight",
    }.items():
        expected = plain_tensor(blocks[stored], *table[stored])
        assert weights[name].dtype == torch.bfloat16
        assert torch.allclose(weights[name].float(), expected, rtol=2**-7, atol=1e-4)


def test_rotated_heads_come_half_after_half(tmp_path: Path) -> None:
    """llama.cpp rotates neighbours, transformers a number with the one half a head further on."""
    folder, blocks = built(tmp_path, "llama")
    gguf = read_gguf(tmp_path / "tiny.gguf")
    order = row_order(gguf, "blk.0.attn_k.weight")
    assert order is not None
    half_head = HIDDEN // HEADS // 2
    assert order[:half_head].tolist() == list(range(0, 2 * half_head, 2))
    assert order[half_head : 2 * half_head].tolist() == list(range(1, 2 * half_head, 2))
    stored = plain_tensor(blocks["blk.0.attn_k.weight"], *shapes("llama")["blk.0.attn_k.weight"])
    found = load_file(folder / "model.safetensors")["model.layers.0.self_attn.k_proj.weight"]
    assert torch.allclose(found.float(), stored[torch.from_numpy(order)], rtol=2**-7, atol=1e-4)
    assert row_order(gguf, "blk.0.attn_v.weight") is None


@pytest.mark.parametrize(("kind", "tied"), [("llama", True), ("qwen2", False)])
def test_transformers_loads_the_folder_whole(tmp_path: Path, kind: str, tied: bool) -> None:
    folder, _ = built(tmp_path, kind, tied)
    model, found = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
    assert not any(found.values())
    assert model.dtype == torch.bfloat16
    assert model.config.tie_word_embeddings == tied
    config = AutoConfig.from_pretrained(folder)
    assert config.rope_parameters["rope_theta"] == 10000.0
    assert (config.head_dim, config.eos_token_id, config.rms_norm_eps) == (64, 258, 1e-5)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rendered = tokenizer.apply_chat_template([{"role": "user", "content": "ab"}], tokenize=False)
    assert rendered == "<|im_start|>user\nab<|im_end|>\n"
    assert tokenizer.encode(rendered)[0] == 257
    assert (tokenizer.eos_token, tokenizer.eos_token_id) == ("<|im_end|>", 258)


def test_tokenizer_merges_and_keeps_special_tokens_whole(tmp_path: Path) -> None:
    folder, _ = built(tmp_path, "qwen2")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    ids = tokenizer.encode("ab<|im_end|>a<tool_call>").ids
    assert ids == [256, 258, TOKENS.index("a"), 259]
    assert tokenizer.decode(ids) == "aba<tool_call>"  # only what is special is left out
    assert tokenizer.token_to_id("[PAD260]") is None
    assert tokenizer.decode(tokenizer.encode("年假 é\n").ids) == "年假 é\n"


def test_the_embeddings_that_serve_as_output_are_stored_once(tmp_path: Path) -> None:
    folder, _ = built(tmp_path, "llama")
    assert "lm_head.weight" not in load_file(folder / "model.safetensors")
    assert json.loads((folder / "config.json").read_text("utf-8"))["tie_word_embeddings"]


@pytest.mark.parametrize(
    ("said", "drop", "reason"),
    [
        (metadata("mamba"), "", "architecture is 'mamba'"),
        (metadata("llama", llama__block_count=None), "", r"llama\.block_count"),
        (metadata("llama", llama__block_count=3), "", r"blk\.2\."),
        (metadata("llama"), "blk.1.ffn_up.weight", r"blk\.1\.ffn_up\.weight"),
        (metadata("llama", tokenizer__ggml__pre="other"), "", "'other'"),
        (metadata("llama", tokenizer__chat_template=None), "", "no chat template"),
    ],
)
def test_a_model_of_another_kind_is_refused_and_nothing_is_written(
    tmp_path: Path, said: Mapping[str, Any], drop: str, reason: str
) -> None:
    table = {name: one for name, one in shapes("llama").items() if name != drop}
    (tmp_path / "odd.gguf").write_bytes(gguf_file(said, table)[0])
    (tmp_path / "folder").mkdir()
    with pytest.raises(InvalidInput, match=reason):
        build_folder(tmp_path / "odd.gguf", tmp_path / "folder")
    assert list((tmp_path / "folder").iterdir()) == []


def damaged(place: bytes, value: bytes) -> bytes:
    content = gguf_file({"general.architecture": "llama"}, {"one.weight": ((32,), F32)})[0]
    return content.replace(place, value, 1)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (damaged(b"GGUF", b"GGML"), "starts with"),
        (damaged(b"GGUF\x03", b"GGUF\x09"), "version 9"),
        (damaged(struct.pack("<Q", 20), struct.pack("<Q", 2**60)), "is needed"),
        (damaged(struct.pack("<IQ", 8, 5), struct.pack("<IQ", 99, 5)), "type 99"),
        (damaged(struct.pack("<IQ", 1, 32), struct.pack("<IQ", 9, 32)), "9 dimensions"),
        (damaged(struct.pack("<QI", 32, F32), struct.pack("<QI", 32, 77)), "encoding 77"),
        (damaged(struct.pack("<QI", 32, F32), struct.pack("<QI", 33, Q8_0)), "cannot be stored"),
        (damaged(b"", b"")[:-1], "reaches past the end"),
        (damaged(b"", b"")[:40], "ends at byte 40"),
    ],
)
def test_a_damaged_file_is_an_error_that_says_why(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "damaged.gguf").write_bytes(content)
    with pytest.raises(InvalidInput, match=reason):
        read_gguf(tmp_path / "damaged.gguf")
