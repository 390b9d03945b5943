"""Plain text to a document: the canonical text is the file's own, blocks are what blank lines part."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ingest.corpus.types import Block, Document
from ingest.read.canonical import clean, document_of
from ingest.read.encoding import decode

LINE = re.compile(r"[^\n]*\n?")
LONGEST_TITLE_LINE = 120  # characters; a longer first line is no title


def read_text(data: bytes, source_name: str) -> Document:
    """:raises Unreadable: "empty", "garbled", or "unsupported_type" where the bytes are no text"""
    decoded = decode(data, source_name)
    text, removed = clean(decoded.text)
    blocks = tuple(_paragraphs(text))
    return document_of(
        text,
        blocks,
        titles=_first_line(text, blocks),
        source_name=source_name,
        media_type="text/plain",
        left_out=removed.visible,
        warnings=(*decoded.warnings, *removed.warnings),
    )


def _paragraphs(text: str) -> Iterator[Block]:
    start: int | None = None
    end = 0
    for line in LINE.finditer(text):
        if not line.group().isspace() and line.group():
            start = line.start() if start is None else start
            end = line.start() + len(line.group().rstrip())
        elif start is not None:
            yield Block("paragraph", start, end)
            start = None


def _first_line(text: str, blocks: tuple[Block, ...]) -> Iterator[str]:
    if blocks:
        line = text[blocks[0].start : blocks[0].end].split("\n", 1)[0]
        yield line if len(line) <= LONGEST_TITLE_LINE else ""
