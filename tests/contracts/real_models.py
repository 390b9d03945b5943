"""The pulled embedder, loaded once for all suites; a test that asks for it is skipped where there is none."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from ingest.corpus.embedder import SentenceTransformerEmbedder
from ingest.models import installed, pack_folder

PACK = "multilingual-e5-small"


def real_folder() -> Path:
    home = Path(os.environ.get("CITEWARD_HOME", "var"))
    if PACK not in installed(home):
        pytest.skip(f"{PACK} is not under {home}: run `citeward models pull {PACK}`")
    return pack_folder(home, PACK)


def real_embedder() -> SentenceTransformerEmbedder:
    return _load(real_folder())


@cache
def _load(folder: Path) -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder(folder)
