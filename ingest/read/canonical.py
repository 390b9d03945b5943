"""What every reader's text goes through: cleaned, laid out in blocks, judged for sense, titled.

Knows no file format.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import PurePath

from ingest.corpus.errors import Unreadable
from ingest.corpus.types import Block, BlockKind, Document
from ingest.read.language import language_of
from ingest.read.walls import find_walls

NEWLINES = re.compile(r"\r\n?|\f|\v")
CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")
# Zero-width signs, direction changes and tags: invisible, so they can hide or turn round what a reader sees.
INVISIBLE = re.compile(r"[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
ZERO_WIDTH_JOINER = "\u200d"
LONGEST_TITLE = 200  # characters
LONGEST_SECTION_STEP = 120  # characters of one heading within a path
GARBLED_SHARE = 0.2  # of the visible characters; a readable text has next to none
GARBLED_NOTE = 0.01  # from here on a warning; below it are the bullets that symbol fonts draw
LEFT_OUT_NOTE = 0.1  # of all visible characters of the file
BETWEEN_BLOCKS = "\n\n"


@dataclass(frozen=True, slots=True)
class Part:
    """One block's text before the canonical text exists."""

    kind: BlockKind
    text: str
    page: int | None = None
    level: int = 0  # of a heading: 1 is the outermost
    section: str | None = None  # where the place is known otherwise than by the headings before it
    goes_on: bool = False  # a table without a header of its own: the one of the table before holds


@dataclass(frozen=True, slots=True)
class Removed:
    """How many characters cleaning took out."""

    controls: int = 0
    invisible: int = 0

    def __add__(self, other: Removed) -> Removed:
        return Removed(self.controls + other.controls, self.invisible + other.invisible)

    @property
    def visible(self) -> int:
        return self.controls + self.invisible

    @property
    def warnings(self) -> tuple[str, ...]:
        counts = {"control": self.controls, "invisible or direction-changing": self.invisible}
        return tuple(f"{count} {kind} characters were removed." for kind, count in counts.items() if count)


# --- cleaning ----------------------------------------------------------------------------------


def clean(text: str) -> tuple[str, Removed]:
    """The text with LF line ends, without controls and invisible signs.

    Nothing else changes (no Unicode normalisation): a quote must be what the file says.
    """
    text, controls = CONTROLS.subn("", NEWLINES.sub("\n", text))
    invisible = [found.start() for found in INVISIBLE.finditer(text) if not _joins_emoji(text, found.start())]
    starts = [0, *(position + 1 for position in invisible)]
    kept = (text[start:end] for start, end in zip(starts, [*invisible, len(text)], strict=True))
    return "".join(kept), Removed(controls, len(invisible))


def _joins_emoji(text: str, position: int) -> bool:
    if text[position] != ZERO_WIDTH_JOINER or not 0 < position < len(text) - 1:
        return False
    return _is_emoji(text[position - 1]) and _is_emoji(text[position + 1])


def _is_emoji(character: str) -> bool:
    return character == "\ufe0f" or unicodedata.category(character) in ("So", "Sk")


# --- blocks ------------------------------------------------------------------------------------


def lay_out(parts: Iterable[Part]) -> tuple[str, tuple[Block, ...], Removed]:
    """Parts to one text with a blank line between them, its blocks, and what cleaning took out.

    Blank parts are left out.
    """
    texts: list[str] = []
    placed: list[tuple[Part, int, int]] = []
    removed, position = Removed(), 0
    for part in parts:
        text, taken = clean(part.text)
        removed += taken
        if text := text.strip():
            texts.append(text)
            placed.append((part, position, position + len(text)))
            position += len(text) + len(BETWEEN_BLOCKS)
    whole = BETWEEN_BLOCKS.join(texts)
    sections = section_paths((part.level, whole[start:end]) for part, start, end in placed)
    headers = _headers(whole, placed)
    blocks = (
        Block(part.kind, start, end, part.page, section if part.section is None else part.section, header)
        for (part, start, end), section, header in zip(placed, sections, headers, strict=True)
    )
    return whole, tuple(blocks), removed


def _headers(whole: str, placed: Iterable[tuple[Part, int, int]]) -> Iterator[tuple[int, int] | None]:
    """For each table that goes on, the span of the first row of the table that it goes on from."""
    header: tuple[int, int] | None = None
    for part, start, end in placed:
        yield header if part.goes_on else None
        if part.kind == "table" and not part.goes_on:
            header = start, start + len(whole[start:end].partition("\n")[0])


def lists_joined(parts: Iterable[Part]) -> Iterator[Part]:
    """Items of one list, each a part so far, become one block with a line an item."""
    for is_list, run in groupby(parts, key=lambda part: part.kind == "list"):
        if is_list:
            items = list(run)
            yield replace(items[0], text="\n".join(item.text for item in items))
        else:
            yield from run


def section_paths(headings: Iterable[tuple[int, str]]) -> Iterator[str]:
    """For each block, given as (heading level or 0, heading text), its heading path, itself included."""
    path: list[tuple[int, str]] = []
    for level, text in headings:
        if level:
            path = [step for step in path if step[0] < level]
            path.append((level, " ".join(text.split())[:LONGEST_SECTION_STEP]))
        yield " > ".join(step for _, step in path)


# --- the document ------------------------------------------------------------------------------


def document_of(
    text: str,
    blocks: Sequence[Block],
    *,
    titles: Iterable[str],
    source_name: str,
    media_type: str,
    pages: int | None = None,
    left_out: int = 0,
    warnings: Iterable[str] = (),
) -> Document:
    """The finished document; its title is the first of `titles` that is not blank, or the file's name.

    `left_out` counts the visible characters of the file that the text lacks.

    :raises Unreadable: "empty" if nothing visible is left, "garbled" if much of it is not readable
    """
    if not blocks:
        raise Unreadable(
            "empty",
            f"{display_name(source_name)} holds no text.",
            why="After reading, nothing visible was left.",
            next_step="Upload a file that holds text.",
        )
    require_sense(text, source_name)
    seen, senseless = count_signs(text)
    notes = (*warnings, *_garbled(seen, senseless), *_left_out(seen, left_out), *_walls(text))
    return Document(
        text=text,
        title=_title(titles, source_name),
        language=language_of(text),
        media_type=media_type,
        blocks=tuple(blocks),
        pages=pages,
        warnings=tuple(dict.fromkeys(notes)),
        left_out=left_out,
    )


def _garbled(visible: int, senseless: int) -> Iterator[str]:
    if senseless > GARBLED_NOTE * visible:
        yield f"{senseless} of {visible} characters ({senseless / visible:.1%}) stand for no sign."


def _left_out(visible: int, left_out: int) -> Iterator[str]:
    share = left_out / (visible + left_out)
    if share > LEFT_OUT_NOTE:
        yield f"{left_out} of {visible + left_out} characters of the file ({share:.0%}) are not in its text."


def _walls(text: str) -> Iterator[str]:
    lengths = [len(wall) for wall in find_walls(text)]
    if lengths:
        yield (
            f"Stretches without a blank: {len(lengths)}, the longest of {max(lengths):,} signs; "
            "taken for data, they are searched but not quoted."
        )


def count_signs(text: str) -> tuple[int, int]:
    """(visible characters, those among them that stand for no sign)"""
    counts = Counter(text)
    visible = sum(count for sign, count in counts.items() if not sign.isspace())
    return visible, sum(count for sign, count in counts.items() if _is_senseless(sign))


def require_sense(text: str, source_name: str) -> None:
    """:raises Unreadable: "garbled" if replacement and private-use characters are many of the visible ones"""
    visible, senseless = count_signs(text)
    if senseless > GARBLED_SHARE * visible:
        raise Unreadable(
            "garbled",
            f"{senseless} of the {visible} characters of {display_name(source_name)} stand for no sign.",
            why="Its fonts or its encoding do not say which characters are meant.",
            next_step="Export it again with embedded, standard fonts or as UTF-8, or run OCR on it first.",
        )


def _is_senseless(sign: str) -> bool:
    return sign == "\ufffd" or unicodedata.category(sign) in ("Co", "Cn")


def display_name(source_name: str) -> str:
    """The file's own name, cleaned, without folders: safe to show in a message."""
    name, _ = clean(source_name.replace("\\", "/").replace("\n", " "))
    return PurePath(name).name[:LONGEST_TITLE] or "The file"


def _title(titles: Iterable[str], source_name: str) -> str:
    cleaned = (" ".join(clean(title)[0].split())[:LONGEST_TITLE] for title in titles)
    return next(filter(None, cleaned), "") or PurePath(display_name(source_name)).stem
