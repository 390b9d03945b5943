"""Glyphs on a page to lines in reading order.

Knows nothing of PDF: it sees signs with boxes, y upwards, and reads columns one after the other.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise, takewhile
from statistics import median

SAME_LINE = 0.5  # of the height: how far centres of one line lie apart; leaves room for indices
WORD_GAP = 1.5  # heights; a wider gap parts cells or columns; an ideographic space is 1.0
CELL_GAP = 0.8  # heights left free; such a gap parts cells where other lines have it too
LIST_MARK = re.compile(  # what stands before an item, or before a paragraph with a number
    r"[^\w\s]{1,2}|[(（]?(?:\d{1,4}(?:\.\d{1,4}){0,5}|[A-Za-z]|[ivxIVX]{1,5}|[一二三四五六七八九十]{1,3})[.)）、:：]{0,2}"
    r"|第\w{1,6}[条章节]|[\u3400-\u9fff]"
)
GUTTER = 0.5  # heights that gaps of several lines have in common, then
GUTTER_LINES = 2  # other lines that have such a gap, with no line across it in between
GUTTER_REACH = 8  # lines looked at above and below
BUCKET = 16.0  # points; only speeds up the search for second drawings
SAME_PLACE = 0.3  # of the height: a second drawing of a sign, as fake bold makes, is moved by less
COLUMN_ROWS = 3  # fewer rows side by side are no columns of text
COLUMN_WIDTH = 8  # heights of a usual line; table cells are narrower
COLUMN_FILL = 0.75  # of the column's width, by a usual line; rows of a table leave more open
ROWS_PER_CHANGE = 5  # rows between changes of side in the file's own order, if it goes column by column
HYPHEN_AT_BREAK = "\ufffe"  # stands for a hyphen that parts a word at a line's end


@dataclass(frozen=True, slots=True)
class Glyph:
    """One sign and its box, turned upright."""

    sign: str
    left: float
    right: float
    bottom: float
    top: float
    after_space: bool = False
    spaced: float = 0.0  # width of the spaces drawn before it; what else is between was left free

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
    end: int  # place of the run that comes next in the file
    after_space: bool


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
    spans: tuple[tuple[float, float], ...] = ()  # (left, right) of each cell
    page: int = 0
    is_row: bool = False  # of a table

    @property
    def text(self) -> str:
        return " ".join(self.cells)


# --- a page to lines ---------------------------------------------------------------------------


def lines_of(glyphs: Sequence[Glyph]) -> list[Line]:
    """The page's lines in reading order."""
    rows = _rows(_runs(_once(glyphs)))
    return list(_read([_words_joined(rows, place) for place in range(len(rows))]))


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
        is_bullet = bool(runs) and len(runs[-1]) == 1 and not runs[-1][0].sign.isalnum()
        if runs and _follows(runs[-1][-1], glyph, WORD_GAP if is_bullet else CELL_GAP):
            runs[-1].append(glyph)
        else:
            runs.append([glyph])
    return [_run(run, place) for place, run in enumerate(runs)]


def _follows(before: Glyph, glyph: Glyph, most_free: float) -> bool:
    height = min(before.height, glyph.height)
    if abs(before.middle - glyph.middle) > SAME_LINE * max(before.height, glyph.height):
        return False
    if _is_right_to_left(before.sign) or _is_right_to_left(glyph.sign):
        return True  # such lines jump to and fro around numbers and Latin words
    gap = glyph.left - before.right
    if gap - glyph.spaced > most_free * height:
        return False
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
        place + 1,
        glyphs[0].after_space,
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


def _words_joined(rows: Sequence[list[Run]], place: int) -> list[Run]:
    """The row's runs, those together again that only a wide space between words had parted."""
    row = rows[place]
    gutters = [
        _is_wide(*pair) or _is_gutter(rows, place, pair[0].right, pair[1].left) for pair in pairwise(row)
    ]
    joined = row[:1]
    for number, run in enumerate(row[1:]):
        before = joined[-1]
        is_marked = LIST_MARK.fullmatch(before.text) is not None and not _is_wide(before, run)
        is_numbered = before.text.isdecimal() and any(gutters[number + 1 :])
        if gutters[number] and (is_numbered or not is_marked):
            joined.append(run)
        else:
            joined[-1] = _joined(before, run)
    return joined


def _joined(before: Run, run: Run) -> Run:
    """Both as one, as high as the longer of them: bullets are often set in another font."""
    longer = max(before, run, key=lambda one: len(one.text))
    text = before.text + " " * run.after_space + run.text
    return replace(longer, text=text, left=before.left, right=run.right, place=before.place, end=run.end)


def _is_wide(before: Run, run: Run) -> bool:
    """Whether these are no words of one line, whatever stands above and below."""
    gap = run.left - before.right
    return run.place != before.end or not 0 < gap < WORD_GAP * min(before.height, run.height)


def _is_gutter(rows: Sequence[list[Run]], place: int, left: float, right: float) -> bool:
    """Whether lines above and below leave the same place free, as rows of a table do."""
    above = rows[max(place - GUTTER_REACH, 0) : place][::-1]
    below = rows[place + 1 : place + 1 + GUTTER_REACH]
    found = 0
    for side in (above, below):
        free = takewhile(lambda row: _leaves_free(row, left, right), side)
        found += sum(row[0].left < left and row[-1].right > right for row in free)
    return found >= GUTTER_LINES


def _leaves_free(row: Sequence[Run], left: float, right: float) -> bool:
    """Whether enough of the stretch from `left` to `right` is crossed by no run of the row."""
    room = GUTTER * row[0].height
    before = [run for run in row if run.right < right - room]
    behind = [run for run in row if run.left > left + room]
    begin = max((run.right for run in before), default=left)
    end = min((run.left for run in behind), default=right)
    return len(before) + len(behind) == len(row) and min(end, right) - max(begin, left) >= room


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
            spans=tuple((run.left, run.right) for run in row),
            height=max(run.height for run in row),
            middle=row[0].middle,
            width=right - left,
            indent=indent,
            slack=slack,
            pitch=None if distance is None else distance / max(usual, 0.1),
        )
