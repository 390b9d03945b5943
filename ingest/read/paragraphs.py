"""Lines of all pages to paragraphs, headings and tables, in reading order. Knows nothing of PDF."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ingest.read.canonical import Part
from ingest.read.grid import row_text
from ingest.read.layout import HYPHEN_AT_BREAK, Line
from ingest.read.rows import goes_on, rows_marked

PARAGRAPH_PITCH = 1.35  # times the usual line distance
SHORT_LINE = 0.2  # of the width left open: the paragraph ends here
INDENT = 1.2  # heights
SAME_SIZE = 0.15  # difference of heights within one paragraph
HEADING_SIZE = 1.15  # times the height of body text
LONGEST_HEADING = 120  # characters
RUNNING_LINES = 2  # at the top and the bottom of a page that may repeat on others
RUNNING_PAGES = 3  # fewest pages on which a line is taken for a running head
NUMERAL = "[一二三四五六七八九十百\\d]{1,5}"
ITEM_START = re.compile(
    rf"[-•·●▪◦*] |\d{{1,3}}[.)、] ?|[（(]{NUMERAL}[)）]|[一二三四五六七八九十]{{1,3}}、|第{NUMERAL}[条章节]"
)
CHAPTER = re.compile(rf"第{NUMERAL}([章节])")
TERMINAL = frozenset('。！？.!?:：；;”"')
DIGITS = re.compile(r"\d+")
LETTER = re.compile(r"[^\W\d_]")


BETWEEN_TABLES = 2  # short lines at a page's edge that may stand between a table and its other half
SHORT_EDGE = 80  # characters of such a line


def parts_of(pages: Sequence[Sequence[Line]]) -> Iterator[Part]:
    """Paragraphs, headings and tables, pages counted from 1; a running head is kept on its first page."""
    numbered = [[replace(line, page=number) for line in page] for number, page in enumerate(pages, 1)]
    lines = [line for page in _without_running_lines(numbered) for line in rows_marked(page)]
    body = _body_height(lines)
    sizes = sorted({round(line.height) for line in lines if line.height > HEADING_SIZE * body}, reverse=True)
    blocks = list(_blocks(lines, body))
    for place, block in enumerate(blocks):
        part = _part(block, body, sizes)
        yield replace(part, goes_on=True) if _continues(blocks[:place], block) else part


def _continues(before: Sequence[Sequence[Line]], block: Sequence[Line]) -> bool:
    """Whether this table goes on from the page before, with nothing but the pages' edges in between."""
    if not block[0].is_row:
        return False
    edges = [BETWEEN_TABLES, BETWEEN_TABLES]  # lines of this page, of the page before
    for other in reversed(before):
        turned = block[0].page - other[0].page
        if turned not in (0, 1):
            return False
        if other[0].is_row:
            return turned == 1 and goes_on(other, block)
        edges[turned] -= len(other)
        if edges[turned] < 0 or len(other[0].text) > SHORT_EDGE:
            return False
    return False


def _without_running_lines(pages: Sequence[list[Line]]) -> Iterator[list[Line]]:
    """Lines that stand at the edge of half of all pages, page numbers aside, are dropped after the first."""
    edges = [{id(line): _without_digits(line.text) for line in _edge_lines(page)} for page in pages]
    # Rows of a table that differ in figures alone stand at the edge of pages too, but not only there.
    inner = {
        _without_digits(line.text)
        for page, edge in zip(pages, edges, strict=True)
        for line in page
        if id(line) not in edge
    }
    counts = Counter(text for edge in edges for text in set(edge.values()))
    most = max(RUNNING_PAGES, len(pages) / 2)
    running = {text for text, count in counts.items() if count >= most and text not in inner}
    seen: set[str] = set()
    for page, edge in zip(pages, edges, strict=True):
        yield [line for line in page if edge.get(id(line)) not in seen]
        seen |= running & set(edge.values())


def _edge_lines(page: Sequence[Line]) -> list[Line]:
    by_height = sorted(page, key=lambda line: -line.middle)
    return by_height[:RUNNING_LINES] + by_height[RUNNING_LINES:][-RUNNING_LINES:]


def _without_digits(text: str) -> str:
    return DIGITS.sub("#", "".join(text.split()))


def _body_height(lines: Iterable[Line]) -> float:
    """The height in which most signs are set."""
    signs: Counter[float] = Counter()
    for line in lines:
        signs[round(line.height * 2) / 2] += len(line.text)
    return signs.most_common(1)[0][0] if signs else 0.0


def _blocks(lines: Sequence[Line], body: float) -> Iterator[list[Line]]:
    current: list[Line] = []
    for line in lines:
        if current and _begins_block(current[-1], line, body):
            yield current
            current = []
        current.append(line)
    if current:
        yield current


def _begins_block(before: Line, line: Line, body: float) -> bool:
    if before.page != line.page:
        return True
    if line.is_row or before.is_row:
        return line.is_row != before.is_row
    if abs(before.height - line.height) > SAME_SIZE * before.height:
        return True
    if line.pitch is None:  # a new column: the sentence may go on in it
        return (
            before.text[-1:] in TERMINAL
            or before.slack > SHORT_LINE * before.width
            or line.indent > line.height
        )
    if line.pitch > PARAGRAPH_PITCH or ITEM_START.match(line.text):
        return True
    if before.height > HEADING_SIZE * body:
        return False  # a heading of several lines
    is_short = before.slack > SHORT_LINE * before.width and not line.text[:1].islower()
    is_set_in = line.indent > before.indent + INDENT * line.height and not ITEM_START.match(before.text)
    return is_short or is_set_in


def _part(block: Sequence[Line], body: float, sizes: Sequence[int]) -> Part:
    first = block[0]
    if first.is_row:
        rows = "\n".join(row_text(line.cells) for line in block)
        return Part("table", rows.replace(HYPHEN_AT_BREAK, "-"), page=first.page)
    text = joined_lines([line.text for line in block])
    level = _heading_level(first, text, body, sizes)
    return Part("heading" if level else "paragraph", text, page=first.page, level=level)


def _heading_level(first: Line, text: str, body: float, sizes: Sequence[int]) -> int:
    if len(text) > LONGEST_HEADING or not LETTER.search(text):
        return 0
    if first.height > HEADING_SIZE * body:
        return min(sizes.index(round(first.height)) + 1, 6) if round(first.height) in sizes else 6
    chapter = CHAPTER.match(text)
    if chapter and text[-1] not in TERMINAL and len(text) <= LONGEST_HEADING / 3:
        return 1 + len(sizes) + (chapter.group(1) == "节")
    return 0


def joined_lines(lines: Sequence[str]) -> str:
    """Lines of one paragraph as one: words parted by a hyphen are joined, Chinese goes on without a space."""
    text = ""
    for line in lines:
        if text.endswith(HYPHEN_AT_BREAK):
            text = text[:-1] + line
        elif text and not (_is_wide(text[-1]) and _is_wide(line[:1])):
            text += " " + line
        else:
            text += line
    return text.replace(HYPHEN_AT_BREAK, "-")


def _is_wide(sign: str) -> bool:
    return bool(sign) and unicodedata.east_asian_width(sign) in "WF"
