"""Traffic to load a service with: the questions, and how many are asked at once or in a second."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ingest.corpus.errors import InvalidInput, NotFound

MOST_AT_ONCE = 1_024


@dataclass(frozen=True, slots=True)
class Asking:
    """One question as it is sent, with the collections to look in; None: all that the key may read."""

    question: str
    collections: tuple[str, ...] | None = None


def read_traffic(path: Path) -> tuple[Asking, ...]:
    """JSONL with `question`, and `collections` if wanted; sent in this order, again from the first on.

    :raises NotFound: no such file. :raises InvalidInput: a line that is none; names it.
    """
    if not path.is_file():
        raise NotFound(f"There is no {path}.", next_step="Give a JSONL file with a question in each line.")
    lines = path.read_text("utf-8").split("\n")
    found = tuple(_asking(line, f"{path.name}:{at}") for at, line in enumerate(lines, 1) if line.strip())
    if not found:
        raise InvalidInput(f"{path} holds no question.", field="shape")
    return found


def _asking(line: str, where: str) -> Asking:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    question = row.get("question") if isinstance(row, Mapping) else None
    if not isinstance(question, str) or not question.strip():
        raise InvalidInput(f"{where} is no JSON object with a question.", field="shape")
    collections = row.get("collections")
    if collections is None:
        return Asking(question)
    if not isinstance(collections, list) or not all(isinstance(one, str) for one in collections):
        raise InvalidInput(f"{where}: collections must be a list of ids.", field="shape")
    return Asking(question, tuple(collections))


def levels(said: str) -> tuple[int, ...]:
    """`1..64`: 1, 2, 4 and so on, with the last; `1,8,20`: these, in this order.

    :raises InvalidInput: for anything else, and beyond MOST_AT_ONCE.
    """
    span = re.fullmatch(r"(\d+)\.\.(\d+)", said.replace(" ", ""))
    if span:
        first, last = int(span[1]), int(span[2])
        doubled = tuple(first << step for step in range(last.bit_length()) if first << step < last)
        found = (*doubled, last) if 0 < first <= last else ()
    else:
        found = tuple(int(one) for one in said.split(",") if one.strip().isdecimal())
        found = found if len(found) == said.count(",") + 1 else ()
    if not found or not all(1 <= one <= MOST_AT_ONCE for one in found):
        raise InvalidInput(
            f"{said!r} says not how many are to ask at once.",
            why=f"Each must be from 1 to {MOST_AT_ONCE}.",
            next_step="Give 1..64, or 1,4,16.",
            field="concurrency",
        )
    return found


def rates(said: str) -> tuple[float, ...]:
    """`0.5,1,2`: questions a second.

    :raises InvalidInput: for anything else.
    """
    parts = [part.strip() for part in said.split(",")]
    if not all(re.fullmatch(r"\d*\.?\d+", part) and 0 < float(part) <= MOST_AT_ONCE for part in parts):
        raise InvalidInput(
            f"{said!r} says not how many questions are to come in a second.",
            next_step="Give 0.5, or 0.5,1,2.",
            field="rate",
        )
    return tuple(float(part) for part in parts)
