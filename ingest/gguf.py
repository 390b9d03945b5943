"""The GGUF file format: what a file says of its model, and its tensors, widened some rows at a time.

A file (little-endian) holds metadata, a table of tensors, and their bytes. Most tensors are quantised: a row
is a chain of blocks, each with its own scale. The layouts are those of llama.cpp's ggml-common.h.
https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from io import BufferedReader
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ingest.corpus.errors import InvalidInput

MAGIC = b"GGUF"
VERSIONS = (2, 3)  # alike where little-endian
ALIGNMENT = 32  # bytes, unless the file says otherwise
STRING, ARRAY = 8, 9  # codes of metadata types
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
MOST_DIMENSIONS = 4

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]


# --- from blocks to numbers: (blocks, bytes of a block) to (blocks, values of a block) ----------


def _halves(stored: Bytes) -> Floats:
    """f16 numbers, two bytes each, of every block."""
    return np.ascontiguousarray(stored).view("<f2").astype(np.float32)


def _nibbles(stored: Bytes) -> Bytes:
    """The low halves of all bytes, then the high ones."""
    return np.concatenate((stored & 15, stored >> 4), axis=-1)


def _f32(blocks: Bytes) -> Floats:
    return np.ascontiguousarray(blocks).view("<f4").astype(np.float32)


def _q4_1(blocks: Bytes) -> Floats:
    """Scale, least value, 32 numbers of 4 bits."""
    scale, least = _halves(blocks[:, 0:2]), _halves(blocks[:, 2:4])
    return _nibbles(blocks[:, 4:]) * scale + least


def _q5_0(blocks: Bytes) -> Floats:
    """Scale, the fifth bit of each number, the lower four; a number is 16 less than its bits."""
    fifth = np.unpackbits(blocks[:, 2:6], axis=1, bitorder="little")
    return ((_nibbles(blocks[:, 6:]) | fifth << 4).astype(np.float32) - 16) * _halves(blocks[:, 0:2])


def _q8_0(blocks: Bytes) -> Floats:
    """Scale, 32 numbers of 8 bits."""
    return np.ascontiguousarray(blocks[:, 2:]).view(np.int8) * _halves(blocks[:, 0:2])


def _q4_k(blocks: Bytes) -> Floats:
    """Scale of scales and of minima; 8 of each, of 6 bits; 8 times 32 numbers of 4 bits."""
    packed = blocks[:, 4:16]
    first, second, rest = packed[:, 0:4], packed[:, 4:8], packed[:, 8:12]
    scales = np.concatenate((first & 63, rest & 15 | first >> 6 << 4), axis=1)
    minima = np.concatenate((second & 63, rest >> 4 | second >> 6 << 4), axis=1)
    # Each 32 bytes hold two runs of 32 numbers: the low halves are the first, the high halves the second.
    numbers = _nibbles(blocks[:, 16:].reshape(-1, 4, 32)).reshape(-1, 8, 32)
    widened = numbers * (scales * _halves(blocks[:, 0:2]))[:, :, None]
    widened -= (minima * _halves(blocks[:, 2:4]))[:, :, None]
    return widened.reshape(-1, 256)


def _q6_k(blocks: Bytes) -> Floats:
    """256 numbers of 6 bits: the lower four, the upper two; 16 scales of 8 bits, and theirs."""
    lower = blocks[:, 0:128].reshape(-1, 2, 2, 32)
    upper = blocks[:, 128:192].reshape(-1, 2, 1, 32)
    lower = np.concatenate((lower & 15, lower >> 4), axis=2)  # four runs of 32 in each half
    upper_bits = upper >> np.array([[0], [2], [4], [6]], dtype=np.uint8) & 3
    numbers = (lower | upper_bits << 4).reshape(-1, 16, 16).astype(np.float32) - 32
    scales = np.ascontiguousarray(blocks[:, 192:208]).view(np.int8) * _halves(blocks[:, 208:210])
    return (numbers * scales[:, :, None]).reshape(-1, 256)


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a tensor's numbers are stored: blocks of `values` numbers in `length` bytes."""

    values: int
    length: int
    widen: Callable[[Bytes], Floats]


# By ggml's code. Those of the packs' files, and no more.
ENCODINGS = {
    0: Encoding(1, 4, _f32),
    3: Encoding(32, 20, _q4_1),
    6: Encoding(32, 22, _q5_0),
    8: Encoding(32, 34, _q8_0),
    12: Encoding(256, 144, _q4_k),
    14: Encoding(256, 210, _q6_k),
}


# --- the file ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """One row of the file's table; `shape` is rows first, as NumPy and PyTorch have it."""

    shape: tuple[int, ...]
    encoding: Encoding
    offset: int  # bytes from the file's start

    @property
    def rows(self) -> int:
        return prod(self.shape[:-1])

    @property
    def row_length(self) -> int:
        """In bytes."""
        return self.shape[-1] // self.encoding.values * self.encoding.length


@dataclass(frozen=True, slots=True)
class Gguf:
    """An open file. Nothing of a tensor is in memory until it is asked for."""

    metadata: Mapping[str, Any]  # numbers, booleans, text, and lists of them
    tensors: Mapping[str, StoredTensor]
    data: Bytes  # the whole file, mapped

    def widened(self, name: str, order: NDArray[np.intp] | None, step: int) -> Iterator[Floats]:
        """The tensor's numbers, at most `step` rows of it at a time, in the order given or as stored."""
        stored = self.tensors[name]
        end = stored.offset + stored.rows * stored.row_length
        raw = self.data[stored.offset : end].reshape(stored.rows, stored.row_length)
        for start in range(0, stored.rows, step):
            part = slice(start, start + step)
            taken = raw[part] if order is None else raw[order[part]]
            yield stored.encoding.widen(taken.reshape(-1, stored.encoding.length)).reshape(len(taken), -1)


def read_gguf(path: Path) -> Gguf:
    """:raises InvalidInput: for a file cut short, of another format, or in an unknown encoding."""
    size = path.stat().st_size
    with path.open("rb") as file:
        header = _Header(file, size)
        magic, version = header.bytes(4), header.number("I")
        if magic != MAGIC or version not in VERSIONS:
            raise _unreadable(f"It starts with {magic!r} version {version}, not {MAGIC!r} version 2 or 3.")
        tensors, entries = header.number("Q"), header.number("Q")
        metadata = {header.text(): header.value(header.number("I")) for _ in range(entries)}
        table = {header.text(): header.tensor() for _ in range(tensors)}
        alignment = metadata.get("general.alignment", ALIGNMENT)
        start = -(-file.tell() // alignment) * alignment
    placed = {name: StoredTensor(one.shape, one.encoding, start + one.offset) for name, one in table.items()}
    for name, one in placed.items():
        if one.offset + one.rows * one.row_length > size:
            raise _unreadable(f"Tensor {name} reaches past the end at byte {size}.")
    return Gguf(metadata, placed, np.memmap(path, dtype=np.uint8, mode="r"))


class _Header:
    """Reads forward and refuses to pass the end, so that a damaged length asks for no memory."""

    def __init__(self, file: BufferedReader, size: int) -> None:
        self.file = file
        self.size = size

    def bytes(self, length: int) -> bytes:
        end = self.file.tell() + length
        if end > self.size:
            raise _unreadable(f"It ends at byte {self.size}, but byte {end} is needed.")
        return self.file.read(length)

    def numbers(self, code: str, count: int) -> tuple[Any, ...]:
        layout = f"<{count}{code}"
        return struct.unpack(layout, self.bytes(struct.calcsize(layout)))

    def number(self, code: str) -> Any:
        return self.numbers(code, 1)[0]

    def text(self) -> str:
        return self.bytes(self.number("Q")).decode("utf-8", errors="replace")

    def value(self, kind: int) -> Any:
        if kind == STRING:
            return self.text()
        if kind == ARRAY:
            return self.array(self.number("I"), self.number("Q"))
        return self.number(self.code(kind))

    def array(self, kind: int, count: int) -> list[Any]:
        if kind in (STRING, ARRAY):
            return [self.value(kind) for _ in range(count)]
        return list(self.numbers(self.code(kind), count))

    def code(self, kind: int) -> str:
        if kind not in NUMBERS:
            raise _unreadable(f"Its metadata hold a value of type {kind}, which is none.")
        return NUMBERS[kind]

    def tensor(self) -> StoredTensor:
        """Its offset is from the start of the tensors' bytes, which is not known yet."""
        dimensions = self.number("I")
        if not 0 < dimensions <= MOST_DIMENSIONS:
            raise _unreadable(f"A tensor has {dimensions} dimensions; there are 1 to {MOST_DIMENSIONS}.")
        shape = self.numbers("Q", dimensions)[::-1]
        kind, offset = self.number("I"), self.number("Q")
        if kind not in ENCODINGS:
            raise _unreadable(
                f"A tensor is stored in encoding {kind}; known are {', '.join(map(str, sorted(ENCODINGS)))}."
            )
        if not all(shape) or shape[-1] % ENCODINGS[kind].values:
            raise _unreadable(f"A tensor of shape {shape} cannot be stored in encoding {kind}.")
        return StoredTensor(shape, ENCODINGS[kind], offset)


def _unreadable(why: str) -> InvalidInput:
    return InvalidInput(
        "The GGUF file cannot be read.",
        why=why,
        next_step="Choose another pack, or a model of a hub, which vLLM loads as it is.",
    )
