"""Lines that stand in columns to rows of a table: a cell of several lines is one, an empty one stays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from ingest.read.layout import Line

TABLE_ROWS = 2  # lines of several cells that make a table; one alone may be a justified line
TIGHT = 1.6  # heights between lines of one cell, at most
LINES_OF_A_CELL = 6  # that may stand alone, one after another
LOOSE = 1.2  # times the tightest distance: then rows have room between them, and lines of a cell have not
TOLERANCE = 0.5  # heights that a line may stand out of its column

Span = tuple[float, float]


def rows_marked(lines: Sequence[Line]) -> Iterator[Line]:
    """The page's lines; those of tables are rows, with a cell for each column where columns can be told."""
    start = 0
    while start < len(lines):
        end = _table_end(lines, start)
        stretch = lines[start:end]
        if sum(len(line.cells) > 1 for line in stretch) >= TABLE_ROWS:
            yield from _rows(stretch)
        else:
            yield from stretch
        start = end


def goes_on(before: Sequence[Line], after: Sequence[Line]) -> bool:
    """Whether `after` has the columns of the table `before`, and no header of its own."""
    if before[0].cells == after[0].cells:
        return False
    mine, others = _columns(before), _columns(after)
    if len(mine) != len(others) or not all(map(_overlap, mine, others)):
        return False
    return _has_figure(after[0]) or not any(map(_has_figure, before[1:]))


def _table_end(lines: Sequence[Line], start: int) -> int:
    """Where a table ends that may begin at `start`; lines of one cell belong to it within its columns."""
    end = start + 1
    if len(lines[start].cells) < 2:
        return end
    columns, alone = list(lines[start].spans), 0
    for place in range(start + 1, len(lines)):
        line = lines[place]
        if len(line.cells) > 1:
            columns, alone, end = _merged([*columns, *line.spans]), 0, place + 1
            continue
        column = _column_of(line, columns) if _is_tight(lines[place - 1], line) else None
        alone += 1
        if column is None or alone > LINES_OF_A_CELL:
            break
        if column > 0:
            end = place + 1  # set in from the table's edge: not the paragraph after it
    return end


def _is_tight(before: Line, line: Line) -> bool:
    return 0 < before.middle - line.middle < TIGHT * max(before.height, line.height)


def _column_of(line: Line, columns: Sequence[Span]) -> int | None:
    """The one column that the line of one cell lies in."""
    left, right = line.spans[0]
    room = TOLERANCE * line.height
    ends = [*(column[0] for column in columns[1:]), float("inf")]
    for place, ((begin, filled), end) in enumerate(zip(columns, ends, strict=True)):
        if begin - room <= left < filled and right < end:
            return place
    return None


def _rows(stretch: Sequence[Line]) -> Iterator[Line]:
    columns = _columns(stretch)
    if len(columns) != max(len(line.cells) for line in stretch):
        yield from (replace(line, is_row=True) for line in stretch)
        return
    for lines in _lines_of_rows(stretch, len(columns)):
        cells = [""] * len(columns)
        for line in lines:
            for text, span in zip(line.cells, line.spans, strict=True):
                place = next(place for place, column in enumerate(columns) if _overlap(column, span))
                cells[place] = f"{cells[place]}\n{text}".strip()
        yield replace(lines[0], cells=tuple(cells), spans=tuple(columns), is_row=True)


def _lines_of_rows(stretch: Sequence[Line], columns: int) -> Iterator[list[Line]]:
    """Each row's lines: close together, where rows are farther apart, and not all of them with every cell."""
    gaps = [abs(above.middle - below.middle) for above, below in pairwise(stretch)]
    tightest = min(gaps)
    loose = [gap for gap in gaps if gap > LOOSE * tightest]
    limit = (tightest + median(loose)) / 2 if loose and tightest < TIGHT * stretch[0].height else 0.0
    row = [stretch[0]]
    for gap, line in zip(gaps, stretch[1:], strict=True):
        if gap < limit and min(len(row[-1].cells), len(line.cells)) < columns:
            row.append(line)
        else:
            yield row
            row = [line]
    yield row


def _columns(lines: Iterable[Line]) -> list[Span]:
    return _merged([span for line in lines for span in line.spans])


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Overlapping spans as one, from the left."""
    merged: list[Span] = []
    for left, right in sorted(spans):
        if merged and left < merged[-1][1]:
            merged[-1] = merged[-1][0], max(right, merged[-1][1])
        else:
            merged.append((left, right))
    return merged


def _overlap(one: Span, other: Span) -> bool:
    return max(one[0], other[0]) < min(one[1], other[1])


def _has_figure(line: Line) -> bool:
    return any(sign.isdecimal() for cell in line.cells for sign in cell)
