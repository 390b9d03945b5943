"""Markdown to a document: the canonical text is the source itself, its blocks are CommonMark's, with tables.

The source is kept because a quote from it can be shown in place; HTML comments, which no reader sees, go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from ingest.corpus.types import Block, BlockKind, Document
from ingest.read.canonical import clean, count_signs, document_of, section_paths
from ingest.read.encoding import decode

if TYPE_CHECKING:
    from markdown_it.token import Token

FRONT_MATTER = re.compile(r"\A---[ \t]*\n((?:[^\n]*\n){1,60}?)---[ \t]*(?:\n|\Z)")
FRONT_MATTER_TITLE = re.compile(r"^title:[ \t]*[\"']?(.*?)[\"']?[ \t]*$", re.MULTILINE)
KINDS: dict[str, BlockKind] = {
    "heading_open": "heading",
    "table_open": "table",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "fence": "code",
    "code_block": "code",
}


def read_markdown(data: bytes, source_name: str) -> Document:
    """:raises Unreadable: "empty", "garbled", or "unsupported_type" where the bytes are no text"""
    decoded = decode(data, source_name)
    text, removed = clean(decoded.text)
    whole, text = text, _without_comments(text)
    front = FRONT_MATTER.match(text)
    blocks = tuple(_blocks(text, front.end() if front else 0))
    return document_of(
        text,
        blocks,
        titles=[*_front_titles(front), *_headings(blocks)],
        source_name=source_name,
        media_type="text/markdown",
        left_out=removed.visible + count_signs(whole)[0] - count_signs(text)[0],
        warnings=(*decoded.warnings, *removed.warnings),
    )


def _without_comments(text: str) -> str:
    kept, position = [], 0
    while (start := text.find("<!--", position)) >= 0 and (end := text.find("-->", start)) >= 0:
        kept.append(text[position:start])
        position = end + len("-->")
    return "".join((*kept, text[position:]))


def _front_titles(front: re.Match[str] | None) -> list[str]:
    found = FRONT_MATTER_TITLE.search(front.group(1)) if front else None
    return [found.group(1)] if found else []


def _headings(blocks: Sequence[Block]) -> Iterator[str]:
    """The text of the first heading, which is the last step of its own path."""
    yield from (block.section.rsplit(" > ", 1)[-1] for block in blocks if block.kind == "heading")


def _blocks(text: str, body: int) -> Iterator[Block]:
    """Blocks in order; front matter, where there is some, is the first."""
    if body:
        yield Block("paragraph", 0, len(text[:body].rstrip()))
    # Loaded here so that a child that reads another format starts without it.
    from markdown_it import MarkdownIt

    # Inline syntax is not looked at: the source is kept as it is, and those rules are slow on hostile input.
    tokens = MarkdownIt("commonmark").enable("table").disable("inline").parse(text[body:])
    starts = list(accumulate((len(line) + 1 for line in text[body:].split("\n")), initial=body))
    outer = [(place, token) for place, token in enumerate(tokens) if token.level == 0 and token.map]
    sections = section_paths(_heading(tokens, place) for place, _ in outer)
    for (_, token), section in zip(outer, sections, strict=True):
        first, last = token.map or (0, 0)
        source = text[starts[first] : min(starts[last], len(text))]
        start = starts[first] + len(source) - len(source.lstrip())
        if source.strip():
            yield Block(
                KINDS.get(token.type, "paragraph"), start, start + len(source.strip()), section=section
            )


def _heading(tokens: Sequence[Token], place: int) -> tuple[int, str]:
    token = tokens[place]
    return (int(token.tag[1:]), tokens[place + 1].content) if token.type == "heading_open" else (0, "")
