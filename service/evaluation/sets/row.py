"""A line of a set's file as what its JSON says, if that can be kept anywhere."""

from __future__ import annotations

import json
import re
from typing import Any

HALF = re.compile("[\ud800-\udfff]")


def row_of(line: str) -> Any:
    r""":raises ValueError: if it is no JSON, or has half a character.

    UTF-16 writes some characters in two halves, and JSON can name one alone (`"\ud800"`): a text that no
    file, database or model takes.
    """
    row = json.loads(line)
    half = HALF.search(json.dumps(row, ensure_ascii=False)) if "\\u" in line else None
    if half:
        raise ValueError(
            f"\\u{ord(half[0]):04x} is half a character. Write the other half too, or leave it out"
        )
    return row
