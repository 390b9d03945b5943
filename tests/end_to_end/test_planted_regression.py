"""A real model whose weights were rounded too far is told from one that is as good, by the shipped texts."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from service.adapters.causal_lm import CausalLanguageModel
from service.evaluation.releasing.enough import LEAST_DOCUMENTS, require_documents
from service.evaluation.releasing.excerpts import Excerpt, excerpts_of
from service.evaluation.releasing.perplexity import Likelihood, likelihoods, perplexity_rows
from service.evaluation.releasing.verdict import verdict
from service.evaluation.sets.released import read_case_set
from tests.contracts.real_models import llm_folder

SET = Path(__file__).parents[2] / "eval_sets" / "company_handbook" / "v1"
BYTES = 60  # of each document, as few as tell: two cores read some 100 tokens a second
GROUP, BITS = 64, 3  # weights of a row that share a scale, bits of each

Weights = Callable[[torch.Tensor], torch.Tensor]
pytestmark = pytest.mark.slow


def all_their_bits(weight: torch.Tensor) -> torch.Tensor:
    """As of a model that was trained in float32, none of whose weights bfloat16 holds exactly."""
    return weight.float() * 1.003


def bfloat16(weight: torch.Tensor) -> torch.Tensor:
    return weight.bfloat16()


def rounded(weight: torch.Tensor) -> torch.Tensor:
    """Matrices to BITS a weight, each GROUP of a row with a scale of its own; vectors as they are."""
    if weight.dim() < 2:
        return weight
    groups = weight.float().reshape(-1, GROUP)
    most = 2 ** (BITS - 1) - 1
    scale = groups.abs().amax(1, keepdim=True).clamp_min(1e-12) / most
    return (torch.round(groups / scale) * scale).reshape(weight.shape)


def made_of(source: Path, folder: Path, change: Weights) -> Path:
    """A model folder like `source` with other weights."""
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("model.safetensors", "pack.json"))
    weights = load_file(source / "model.safetensors")
    changed = {name: change(weight).contiguous() for name, weight in weights.items()}
    save_file(changed, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pack = llm_folder("smollm2-135m-instruct")
    return made_of(pack, tmp_path_factory.mktemp("models") / "base", all_their_bits)


@pytest.fixture(scope="module")
def texts() -> tuple[Excerpt, ...]:
    """As few as are allowed, of each language."""
    of_set = excerpts_of(read_case_set(SET), BYTES)
    few = tuple(
        one
        for part in ("en", "zh")
        for one in [each for each in of_set if each.slice == part][:LEAST_DOCUMENTS]
    )
    require_documents(few)
    return few


@pytest.fixture(scope="module")
def before(base: Path, texts: tuple[Excerpt, ...]) -> Sequence[Likelihood]:
    return read_with(base, texts)


def read_with(folder: Path, texts: tuple[Excerpt, ...]) -> Sequence[Likelihood]:
    return likelihoods(CausalLanguageModel(folder), texts, lambda *_: None, folder.name)


def findings(texts: tuple[Excerpt, ...], before: Sequence[Likelihood], candidate: Path) -> dict[str, str]:
    rows = perplexity_rows(texts, before, read_with(candidate, texts))
    assert (verdict(rows, ()).said == "does not ship") == any(row.finding == "worse" for row in rows)
    return {row.slice: row.finding for row in rows if row.slice in ("en", "zh")}


def test_weights_rounded_to_three_bits_are_seen(
    base: Path, texts: tuple[Excerpt, ...], before: Sequence[Likelihood], tmp_path: Path
) -> None:
    found = findings(texts, before, made_of(base, tmp_path / "rounded", rounded))
    assert found == {"en": "worse", "zh": "worse"}


def test_a_cast_to_bfloat16_is_none(
    base: Path, texts: tuple[Excerpt, ...], before: Sequence[Likelihood], tmp_path: Path
) -> None:
    found = findings(texts, before, made_of(base, tmp_path / "cast", bfloat16))
    assert found == {"en": "no worse", "zh": "no worse"}


def test_a_copy_is_none(
    base: Path, texts: tuple[Excerpt, ...], before: Sequence[Likelihood], tmp_path: Path
) -> None:
    found = findings(texts, before, shutil.copytree(base, tmp_path / "copy"))
    assert found == {"en": "no worse", "zh": "no worse"}
