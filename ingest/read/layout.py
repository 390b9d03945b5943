"""Glyphs on a page to lines in reading order, and lines of all pages to paragraphs, headings and tables.

Knows nothing of PDF: it sees signs with boxes, y upwards, and reads columns one after the other.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from statistics import median

from ingest.read.canonical import Part

SAME_LINE = 0.5  # of the height: how far centres of one line lie apart; leaves room for indices
WORD_GAP = 1.5  # heights; a wider gap parts cells or columns; an ideographic space is 1.0
BUCKET = 16.0  # points; only speeds up the search for second drawings
SAME_PLACE = 0.3  # of the height: a second drawing of a sign, as fake bold makes, is moved by less
COLUMN_ROWS = 3  # fewer rows side by side are no columns of text
COLUMN_WIDTH = 8  # heights of a usual line; table cells are narrower
COLUMN_FILL = 0.75  # of the column's width, by a usual line; rows of a table leave more open
ROWS_PER_CHANGE = 5  # rows between changes of side in the file's own order, if it goes column by column
TABLE_ROWS = 2  # rows of several cells in succession that make a table
PARAGRAPH_PITCH = 1.35  # times the usual line distance
SHORT_LINE = 0.2  # of the width left open: the paragraph ends here
INDENT = 1.2  # heights
SAME_SIZE = 0.15  # difference of heights within one paragraph
HEADING_SIZE = 1.15  # times the height of body text
LONGEST_HEADING = 120  # characters
RUNNING_LINES = 2  # at the top and the bottom of a page that may repeat on others
RUNNING_PAGES = 3  # fewest pages on which a line is taken for a running head
HYPHEN_AT_BREAK = "\ufffe"  # stands for a hyphen that parts a word at a line's end
CELL_BORDER = " | "
NUMERAL = "[一二三四五六七八九十百\\d]{1,5}"
ITEM_START = re.compile(
    rf"[-•·●▪◦*] |\d{{1,3}}[.)、] ?|[（(]{NUMERAL}[)）]|[一二三四五六七八九十]{{1,3}}、|第{NUMERAL}[条章节]"
)
CHAPTER = re.compile(rf"第{NUMERAL}([章节])")
TERMINAL = frozenset('。！？.!?:：；;”"')
DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Glyph:
    """One sign and its box, turned upright."""

    sign: str
    left: float
    right: float
    bottom: float
    top: float
    after_space: bool = False

    @property
    def height(self) -> float:
        return self.top - self.bottom

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


@dataclass(frozen=True, slots=True)
class Run:
    """Signs that follow one another on one line."""

    text: str
    left: float
    right: float
    middle: float
    height: float
    place: int  # in the order of the file


@dataclass(frozen=True, slots=True)
class Line:
    """A line as read, with what tells where paragraphs end. Lengths are in points."""

    cells: tuple[str, ...]  # more than one where wide gaps part them
    height: float
    middle: float
    width: float  # of its column
    indent: float  # from the column's edge where reading begins
    slack: float  # to its other edge
    pitch: float | None  # distance to the line before, in usual distances of its column; None for the first
    page: int = 0
    is_row: bool = False  # of a table

    @property
    def text(self) -> str:
        return " ".join(self.cells)


# --- a page to lines ---------------------------------------------------------------------------


def lines_of(glyphs: Sequence[Glyph]) -> list[Line]:
    """The page's lines in reading order."""
    return list(_read(_rows(_runs(_once(glyphs)))))


def _once(glyphs: Iterable[Glyph]) -> Iterator[Glyph]:
    """Without second drawings of a sign on its own place; equal letters side by side are farther apart."""
    drawn: dict[tuple[str, int, int], list[Glyph]] = defaultdict(list)
    for glyph in glyphs:
        sign, column, row = glyph.sign, round(glyph.left / BUCKET), round(glyph.middle / BUCKET)
        around = ((sign, column + x, row + y) for x in (-1, 0, 1) for y in (-1, 0, 1))
        if not any(_same_place(glyph, other) for key in around if key in drawn for other in drawn[key]):
            drawn[sign, column, row].append(glyph)
            yield glyph


def _same_place(one: Glyph, other: Glyph) -> bool:
    is_level = abs(one.middle - other.middle) < SAME_PLACE * one.height
    return is_level and abs(one.left - other.left) <= (one.right - one.left) / 2


def _runs(glyphs: Iterable[Glyph]) -> list[Run]:
    runs: list[list[Glyph]] = []
    for glyph in glyphs:
        if runs and _follows(runs[-1][-1], glyph):
            runs[-1].append(glyph)
        else:
            runs.append([glyph])
    return [_run(run, place) for place, run in enumerate(runs)]


def _follows(before: Glyph, glyph: Glyph) -> bool:
    height = min(before.height, glyph.height)
    if abs(before.middle - glyph.middle) > SAME_LINE * max(before.height, glyph.height):
        return False
    if _is_right_to_left(before.sign) or _is_right_to_left(glyph.sign):
        return True  # such lines jump to and fro around numbers and Latin words
    gap = glyph.left - before.right
    return -SAME_LINE * height - (before.right - before.left) < gap < WORD_GAP * height


def _is_right_to_left(sign: str) -> bool:
    return sign > "\u0590" and unicodedata.bidirectional(sign[0]) in ("R", "AL")


def _run(glyphs: Sequence[Glyph], place: int) -> Run:
    text = "".join(" " * glyph.after_space + glyph.sign for glyph in glyphs).lstrip()
    return Run(
        text,
        min(glyph.left for glyph in glyphs),
        max(glyph.right for glyph in glyphs),
        median(glyph.middle for glyph in glyphs),
        median(glyph.height for glyph in glyphs),
        place,
    )


def _rows(runs: Iterable[Run]) -> list[list[Run]]:
    """Runs of one height on the page together, from the top; within a row in the direction of reading."""
    rows: list[list[Run]] = []
    for run in sorted(runs, key=lambda run: -run.middle):
        if rows and rows[-1][0].middle - run.middle < SAME_LINE * max(rows[-1][0].height, run.height):
            rows[-1].append(run)
        else:
            rows.append([run])
    return [_in_order(row) for row in rows]


def _in_order(row: list[Run]) -> list[Run]:
    is_backwards = _is_backwards(row)
    return sorted(row, key=lambda run: -run.right if is_backwards else run.left)


def _is_backwards(row: Iterable[Run]) -> bool:
    signs = "".join(run.text for run in row)
    return sum(map(_is_right_to_left, signs)) > len(signs) / 2


def _read(rows: Sequence[list[Run]]) -> Iterator[Line]:
    """Where two columns of text lie side by side, the left one is read before the right one."""
    found = _columns(rows)
    if found is None:
        yield from _column_lines(rows)
        return
    first, last, gutter = found
    yield from _read(rows[:first])
    yield from _read(_side(rows[first:last], gutter, left=True))
    yield from _read(_side(rows[first:last], gutter, left=False))
    yield from _read(rows[last:])


def _side(rows: Iterable[list[Run]], gutter: float, *, left: bool) -> list[list[Run]]:
    sides = ([run for run in row if (run.left < gutter) == left] for row in rows)
    return [side for side in sides if side]


def _columns(rows: Sequence[list[Run]]) -> tuple[int, int, float] | None:
    """(first row, end row, gutter) of the longest stretch of rows with columns of text beside a gutter."""
    starts = Counter(round(run.left) for row in rows for run in row)
    found = [
        (first, last, gutter - 1.0)
        for gutter, count in starts.items()
        if count >= COLUMN_ROWS
        for first, last in _uncrossed(rows, gutter - 1.0)
        if _are_columns(rows[first:last], gutter - 1.0)
    ]
    return max(found, key=lambda stretch: (stretch[1] - stretch[0], -stretch[2]), default=None)


def _uncrossed(rows: Sequence[list[Run]], gutter: float) -> Iterator[tuple[int, int]]:
    crossed = [any(run.left < gutter < run.right for run in row) for row in rows]
    place = 0
    for is_crossed, stretch in groupby(crossed):
        length = len(list(stretch))
        if not is_crossed and length >= COLUMN_ROWS:
            yield place, place + length
        place += length


def _are_columns(rows: Sequence[list[Run]], gutter: float) -> bool:
    """Whether text flows down either side. A file that gives one side after the other says so itself."""
    sides = [_side(rows, gutter, left=left) for left in (True, False)]
    in_file = sorted((run.place, run.left < gutter) for row in rows for run in row)
    changes = sum(before[1] != after[1] for before, after in pairwise(in_file))
    fill = 0.0 if changes <= len(rows) / ROWS_PER_CHANGE else COLUMN_FILL
    return all(len(side) >= COLUMN_ROWS and _is_column(side, fill) for side in sides)


def _is_column(rows: Sequence[list[Run]], fill: float) -> bool:
    runs = [run for row in rows for run in row]
    width = max(run.right for run in runs) - min(run.left for run in runs)
    filled = median(sum(run.right - run.left for run in row) for row in rows)
    return filled > fill * width and filled > COLUMN_WIDTH * median(run.height for run in runs)


def _column_lines(rows: Sequence[list[Run]]) -> Iterator[Line]:
    if not rows:
        return
    left = min(run.left for row in rows for run in row)
    right = max(run.right for row in rows for run in row)
    middles = [row[0].middle for row in rows]
    distances = [above - below for above, below in pairwise(middles)]
    usual = median(distances) if distances else 1.0
    for row, distance in zip(rows, [None, *distances], strict=True):
        sides = min(run.left for run in row) - left, right - max(run.right for run in row)
        indent, slack = reversed(sides) if _is_backwards(row) else sides
        yield Line(
            cells=tuple(run.text for run in row),
            height=max(run.height for run in row),
            middle=row[0].middle,
            width=right - left,
            indent=indent,
            slack=slack,
            pitch=None if distance is None else distance / max(usual, 0.1),
        )


# --- lines of all pages to parts ---------------------------------------------------------------


def parts_of(pages: Sequence[Sequence[Line]]) -> Iterator[Part]:
    """Paragraphs, headings and tables, pages counted from 1; a running head is kept on its first page."""
    numbered = [[replace(line, page=number) for line in page] for number, page in enumerate(pages, 1)]
    lines = [line for page in _without_running_lines(numbered) for line in _rows_marked(page)]
    body = _body_height(lines)
    sizes = sorted({round(line.height) for line in lines if line.height > HEADING_SIZE * body}, reverse=True)
    for block in _blocks(lines, body):
        yield _part(block, body, sizes)


def _rows_marked(lines: Sequence[Line]) -> Iterator[Line]:
    """Several cells on one line may be a justified line; on lines in succession they are a table."""
    for several, stretch in groupby(lines, key=lambda line: len(line.cells) > 1):
        rows = list(stretch)
        yield from (replace(line, is_row=several and len(rows) >= TABLE_ROWS) for line in rows)


def _without_running_lines(pages: Sequence[list[Line]]) -> Iterator[list[Line]]:
    """Lines that stand at the edge of half of all pages, page numbers aside, are dropped after the first."""
    edges = [{id(line): _without_digits(line.text) for line in _edge_lines(page)} for page in pages]
    counts = Counter(text for edge in edges for text in set(edge.values()))
    running = {text for text, count in counts.items() if count >= max(RUNNING_PAGES, len(pages) / 2)}
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
        rows = "\n".join(CELL_BORDER.join(line.cells) for line in block)
        return Part("table", rows.replace(HYPHEN_AT_BREAK, "-"), page=first.page)
    text = joined_lines([line.text for line in block])
    level = _heading_level(first, text, body, sizes)
    return Part("heading" if level else "paragraph", text, page=first.page, level=level)


def _heading_level(first: Line, text: str, body: float, sizes: Sequence[int]) -> int:
    if len(text) > LONGEST_HEADING:
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
