"""What could be harmful in an answer's text, counted after every check and before it is handed out."""

from __future__ import annotations

import re
from dataclasses import dataclass

ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]{1,15}://\S", re.IGNORECASE)
IMAGE = re.compile(r"!\[|<img\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SafetyResult:
    """Findings by kind; None: not looked for."""

    links: int
    images: int
    secrets: int | None = None
    personal_data: int | None = None
    forbidden_content: int | None = None


def inspect_output(text: str) -> SafetyResult:
    return SafetyResult(links=len(ADDRESS.findall(text)), images=len(IMAGE.findall(text)))
