"""Each nasty file of the evaluation data ends as its manifest says, in a child that keeps to its limits."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from ingest.corpus.types import Chunk
from ingest.read.child import measure_read
from ingest.read.parse import ReadLimits
from ingest.split import split
from tests.fakes import WordTokenizer

DATA = os.environ.get("CITEWARD_EVAL_DATA")
FOLDER = Path(DATA or ".") / "badfiles"
MANIFEST = FOLDER / "manifest.jsonl"
pytestmark = pytest.mark.skipif(not DATA, reason="CITEWARD_EVAL_DATA names no folder of evaluation data")

FLAGS = {"no_text_layer", "garbled"}
ALLOWED = {
    "ingest": {"ready"},
    "ingest_partial": {"ready with a warning"},
    "flag": {"flag"},
    "reject": {"reject"},
    "ingest_or_flag": {"ready", "flag"},
    "reject_or_flag": {"reject", "flag"},
    "either": {"ready", "flag", "reject"},
}
BETWEEN_HAN = re.compile(r"(?<=[\u3400-\u9fff])\s+(?=[\u3400-\u9fff])")


def cases() -> list[dict[str, Any]]:
    if not DATA or not MANIFEST.exists():
        return []
    return [json.loads(line) for line in MANIFEST.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["file"])
def test_a_nasty_file_ends_as_its_manifest_says(case: dict[str, Any]) -> None:
    limits = ReadLimits()
    report = measure_read((FOLDER / case["file"]).read_bytes(), case["file"], limits)
    assert report.seconds < limits.seconds
    assert report.peak_mib < limits.memory_bytes / 2**20
    if report.document is None:
        assert report.reason
        assert ("flag" if report.code in FLAGS else "reject") in ALLOWED[case["accept"]], report.reason
        return
    outcomes = {"ready", "ready with a warning"} if report.document.warnings else {"ready"}
    assert outcomes & ALLOWED[case["accept"]], report.document.warnings
    chunks = split(report.document, WordTokenizer(), 400)
    assert all(report.document.text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    assert_holds(case, joined(chunks))


def joined(chunks: tuple[Chunk, ...]) -> str:
    return BETWEEN_HAN.sub("", "\n".join(chunk.text for chunk in chunks))


def assert_holds(case: dict[str, Any], text: str) -> None:
    assert [wanted for wanted in case["must_contain"] if BETWEEN_HAN.sub("", wanted) not in text] == []
    assert [banned for banned in case["must_not_contain"] if banned in text] == []
