"""Pulled models, each loaded once for all suites; a test that asks for one that is not here is skipped."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from ingest.corpus.embedder import SentenceTransformerEmbedder
from ingest.models import installed, pack_folder
from service.adapters.chat_template import TemplateTokenizer

PACK = "multilingual-e5-small"


def real_folder() -> Path:
    return _pulled(PACK)


def llm_folder(name: str) -> Path:
    return _pulled(name)


@cache
def chat_tokenizer(name: str) -> TemplateTokenizer:
    """Of a language model's pack; its weights are not loaded."""
    return TemplateTokenizer(llm_folder(name))


def _pulled(pack: str) -> Path:
    home = Path(os.environ.get("CITEWARD_HOME", "var"))
    if pack not in installed(home):
        pytest.skip(f"{pack} is not under {home}: run `citeward models pull {pack}`")
    return pack_folder(home, pack)


def real_embedder() -> SentenceTransformerEmbedder:
    return _load(real_folder())


@cache
def _load(folder: Path) -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder(folder)
