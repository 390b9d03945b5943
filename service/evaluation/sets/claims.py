"""Claims with the text that they cite and whether it supports them: `claims.jsonl` of a folder.

A line has id, claim, evidence, label, lang. Supported is what is labelled so, whole: `partially_supported`,
`not_supported` and `contradicted` are not. A claim's own citation marks, such as [4], are taken off.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from ingest.corpus.errors import InvalidInput
from service.evaluation.sets.row import row_of

Label = Literal["supported", "partially_supported", "not_supported", "contradicted"]
LABELS: tuple[str, ...] = get_args(Label)
FILE = "claims.jsonl"
MARK = re.compile(r"\s*\[\d{1,3}\](?!\w)")


@dataclass(frozen=True, slots=True)
class Claim:
    id: str
    text: str
    evidence: str
    supported: bool
    language: str  # "zh-en": the claim's, then the evidence's, where they differ


@dataclass(frozen=True, slots=True)
class ClaimSet:
    name: str
    claims: tuple[Claim, ...]


def read_claims(folder: Path) -> ClaimSet:
    """:raises InvalidInput: for a folder without claims.jsonl, and for a line that is no claim."""
    path = folder / FILE
    if not path.is_file():
        raise InvalidInput(
            f"There is no {FILE} in {folder}.",
            why="A set of claims is a folder with that file, a JSON object a line.",
            next_step="Give the folder of such a set.",
        )
    lines = path.read_text("utf-8").split("\n")
    claims = [
        _claim(line, f"Line {number} of {path}") for number, line in enumerate(lines, 1) if line.strip()
    ]
    return ClaimSet(folder.resolve().name, tuple(claims))


def fitting_half(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Those that something may be fitted on: the first byte of the sha256 of the id is even.

    Of the id up to a slash: claims about one text stay together.
    """
    return tuple(one for one in claims if _is_even(one.id))


def other_half(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Those that nothing is fitted on."""
    return tuple(one for one in claims if not _is_even(one.id))


def first_of(claims: Iterable[Claim], most: int) -> tuple[Claim, ...]:
    """So many of them, in an order that has nothing to do with what they say: by the sha256 of the id."""
    return tuple(sorted(claims, key=lambda one: hashlib.sha256(one.id.encode()).digest())[:most])


def _is_even(name: str) -> bool:
    return hashlib.sha256(name.partition("/")[0].encode()).digest()[0] % 2 == 0


def _claim(line: str, where: str) -> Claim:
    try:
        row: Mapping[str, Any] = row_of(line)
        name, claim, evidence, label, language = (
            row[key] for key in ("id", "claim", "evidence", "label", "lang")
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _unusable(where, f"{type(error).__name__}: {error}") from error
    if not all(isinstance(one, str) for one in (name, claim, evidence, language)):
        raise _unusable(where, "id, claim, evidence and lang are texts")
    if label not in LABELS:
        raise _unusable(where, f"the label is {label!r} and not one of {', '.join(LABELS)}")
    return Claim(name, MARK.sub("", claim).strip(), evidence, label == "supported", language)


def _unusable(where: str, why: str) -> InvalidInput:
    return InvalidInput(
        f"{where} cannot be used.",
        why=f"{why}. A line has id, claim, evidence, label and lang.",
        next_step="Correct the line.",
    )
