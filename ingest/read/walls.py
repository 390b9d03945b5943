"""Walls: stretches of signs without a blank that are data, not words. They are searched and not quoted."""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST_ADDRESS = 999  # signs, with all that its query carries
UNBROKEN = re.compile(r"(?<![!-~])[!-~]{250,}")
DATA = re.compile(r"(?<![0-9A-Za-z+/])[0-9A-Za-z+/]{250,}")  # digits, hashes, base64; no word is as long
SCHEME = "://"


def find_walls(text: str) -> Iterator[str]:
    """Those of a text in order, each with all the ASCII signs that it hangs together with."""
    return (run for run in UNBROKEN.findall(text) if _is_wall(run))


def _is_wall(run: str) -> bool:
    return len(run) > LONGEST_ADDRESS or (SCHEME not in run and DATA.search(run) is not None)
