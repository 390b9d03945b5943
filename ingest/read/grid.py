"""Rows of cells to text: a row is a line, and a sheet is cut into its tables and the lines before them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, takewhile

from ingest.read.canonical import Part

CELL_BORDER = " | "
Row = Sequence[str]


def row_text(cells: Iterable[str]) -> str:
    """One line whatever the cells hold; an empty cell keeps its place."""
    return CELL_BORDER.join(" ".join(cell.split()) for cell in cells).rstrip()


def sheet_parts(rows: Iterable[Row], section: str | None = None) -> Iterator[Part]:
    """Tables of a sheet: blank rows part them, unless the next one only goes on without a header of its own.

    Lines of one cell before a wider table are its title.
    """
    stretches: list[list[Row]] = []
    for is_blank, run in groupby(rows, key=lambda row: not any(cell.strip() for cell in row)):
        stretch = list(run)
        if is_blank:
            continue
        if stretches and _goes_on(stretches[-1], stretch):
            stretches[-1] += stretch
        else:
            stretches.append(stretch)
    for stretch in stretches:
        yield from _table_parts(stretch, section)


def _table_parts(rows: Sequence[Row], section: str | None) -> Iterator[Part]:
    first, end = _extent(rows)
    table = [[*row, *[""] * (end - len(row))][first:end] for row in rows]
    titles = list(takewhile(lambda row: sum(bool(cell.strip()) for cell in row) == 1, table))
    titles = titles if len(titles) < len(table) else []
    yield from (Part("paragraph", " ".join("".join(row).split()), section=section) for row in titles)
    yield Part("table", "\n".join(row_text(row) for row in table[len(titles) :]), section=section)


def _extent(rows: Sequence[Row]) -> tuple[int, int]:
    """(first column with a sign in it, the one after the last)"""
    filled = [place for row in rows for place, cell in enumerate(row) if cell.strip()]
    return min(filled), max(filled) + 1


def _goes_on(before: Sequence[Row], after: Sequence[Row]) -> bool:
    """Same columns, and figures where the table before has its header's words."""
    if _extent(before) != _extent(after) or _extent(before)[1] - _extent(before)[0] < 2:
        return False
    return any(
        _has_figure(cell) and not _has_figure(head) for head, cell in zip(before[0], after[0], strict=False)
    )


def _has_figure(cell: str) -> bool:
    return any(sign.isdecimal() for sign in cell)
