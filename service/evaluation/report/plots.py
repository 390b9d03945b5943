"""Inline SVG from numbers: rows of marks on one axis, bars, and lines.

All are 360 units wide, so that their words are legible on a phone and several stand side by side at a desk.
Colours come from the page's CSS by class (`tone-1` …), so that a dark page has its own; shapes and dashes say
the same once more, for those who cannot tell the colours apart. Numbers that are not finite are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal
from unicodedata import east_asian_width

from service.evaluation.report.axes import Axis, shares
from service.evaluation.report.markup import Markup, element

Shape = Literal["dot", "ring", "square", "diamond"]
Point = tuple[float, float]
Legend = Sequence[tuple[str, Shape]]

WIDTH = 360.0
NARROW, WIDE = 6.2, 11.2  # units that a Latin and a Chinese sign take at 11 units of height
LABELS_AT_MOST = 164.0
NOTES, MARGIN = 56.0, 14.0  # right of a plot: with the numbers of its rows, or without
ROW, EDGE, BELOW = 24.0, 6.0, 38.0  # heights: of a row, above the first, of ticks and title below the last
LEGEND_ROW, SYMBOL = 20.0, 24.0  # height of a row of the legend, width of what stands before a name
UP_TITLE = 22.0  # height of the title of a plot's upright axis
LINES_HEIGHT = 190.0
MANY_POINTS = 24  # a line of more has no dot for each
DASHES = (None, "7 3", "2 3", "9 3 2 3", "4 4", "1 5")


@dataclass(frozen=True, slots=True)
class Mark:
    at: float
    shape: Shape
    tone: int  # from 1


@dataclass(frozen=True, slots=True)
class Row:
    label: str
    marks: tuple[Mark, ...]
    span: Point | None = None  # drawn under the marks: an interval, the way from before to after, a bar
    note: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    name: str
    points: tuple[Point, ...]
    band: tuple[tuple[float, float, float], ...] = ()  # (x, low, high)


@dataclass(frozen=True, slots=True)
class Frame:
    """Where numbers lie in a drawing; y grows downwards."""

    across: Axis
    left: float
    right: float
    top: float
    bottom: float

    def x(self, value: float) -> float:
        return self.left + self.across.share(value) * (self.right - self.left)

    def y(self, up: Axis, value: float) -> float:
        return self.bottom - up.share(value) * (self.bottom - self.top)


# --- rows --------------------------------------------------------------------------------------


def rows_plot(title: str, axis: Axis, rows: Sequence[Row], legend: Legend = ()) -> Markup:
    """A label, marks on the common axis and a note a row. `legend`: what a row's marks are, in order."""
    left = min(max((_width(row.label) for row in rows), default=0) + 12, LABELS_AT_MOST)
    right = WIDTH - (NOTES if any(row.note for row in rows) else MARGIN)
    above, top = _legend(
        [name for name, _ in legend], lambda tone, x, y: _shape(legend[tone - 1][1], tone, x, y)
    )
    frame = Frame(axis, left, right, top + EDGE, top + EDGE + ROW * len(rows))
    placed = ((row, frame.top + ROW * (place + 0.5)) for place, row in enumerate(rows))
    return _drawing(title, frame, above, _grid(frame), (_row(row, frame, y) for row, y in placed))


def bars(title: str, axis: Axis, rows: Iterable[tuple[str, float, str]]) -> Markup:
    """A bar from 0 for each (label, value, note)."""
    return rows_plot(title, axis, [Row(label, (), (0, value), note) for label, value, note in rows])


def interval_bar(value: float, low: float, high: float, said: str) -> Markup:
    """A dot and its interval between 0 and 1, for a cell of a table; `said` is read out for it."""
    frame = Frame(shares(""), 5, 155, 0, 18)
    return element(
        "svg",
        element("title", said),
        _line(5, 9, 155, 9, "grid"),
        *(_line(frame.x(at), 4, frame.x(at), 14, "grid") for at in (0, 0.5, 1)),
        *_span((low, high), frame, 9, "span"),
        *_mark(Mark(value, "dot", 1), frame, 9),
        role="img",
        class_="mini",
        viewBox="0 0 160 18",
    )


def _row(row: Row, frame: Frame, y: float) -> Markup:
    return element(
        "g",
        element("title", f"{row.label}: {row.note}" if row.note else row.label),
        _words(_shortened(row.label, frame.left - 10), frame.left - 8, y + 4, "end"),
        *_span(row.span, frame, y, "span" if row.marks else "bar"),
        *(piece for mark in row.marks for piece in _mark(mark, frame, y)),
        _words(row.note, WIDTH - 2, y + 4, "end") if row.note else None,
    )


def _span(span: Point | None, frame: Frame, y: float, kind: str) -> Iterator[Markup]:
    if span is not None and all(map(isfinite, span)):
        yield _line(frame.x(span[0]), y, frame.x(span[1]), y, kind)


def _mark(mark: Mark, frame: Frame, y: float) -> Iterator[Markup]:
    if isfinite(mark.at):
        yield _shape(mark.shape, mark.tone, frame.x(mark.at), y)


def _shape(shape: Shape, tone: int, x: float, y: float) -> Markup:
    kind = f"mark {shape} tone-{tone}"
    if shape in ("dot", "ring"):
        return element("circle", cx=x, cy=y, r=4.5, class_=kind)
    turned = f"rotate(45 {x:.2f} {y:.2f})" if shape == "diamond" else None
    return element("rect", x=x - 4, y=y - 4, width=8.0, height=8.0, transform=turned, class_=kind)


# --- lines -------------------------------------------------------------------------------------


def lines_plot(title: str, across: Axis, up: Axis, series: Sequence[Series]) -> Markup:
    """A line for each of `series`, of which six can be told apart."""
    named = [one.name for one in series] if len(series) > 1 else []
    above, top = _legend(named, lambda tone, x, y: _polyline([(x - 9, y), (x + 9, y)], tone))
    frame = Frame(across, 48, WIDTH - MARGIN, top + UP_TITLE, top + UP_TITLE + LINES_HEIGHT)
    return _drawing(
        title,
        frame,
        above,
        [_words(up.title, 2, frame.top - 10, "start")],
        _grid(frame),
        (_line(frame.left, frame.y(up, tick), frame.right, frame.y(up, tick), "grid") for tick in up.ticks()),
        (_words(up.show(tick), frame.left - 6, frame.y(up, tick) + 4, "end") for tick in up.ticks()),
        (piece for tone, one in enumerate(series, start=1) for piece in _band(one, frame, up, tone)),
        (piece for tone, one in enumerate(series, start=1) for piece in _series(one, frame, up, tone)),
    )


def _series(one: Series, frame: Frame, up: Axis, tone: int) -> Iterator[Markup]:
    points = [(frame.x(x), frame.y(up, y)) for x, y in one.points if isfinite(x) and isfinite(y)]
    yield _polyline(points, tone)
    if len(points) <= MANY_POINTS:
        yield from (element("circle", cx=x, cy=y, r=3.0, class_=f"mark dot tone-{tone}") for x, y in points)


def _band(one: Series, frame: Frame, up: Axis, tone: int) -> Iterator[Markup]:
    kept = [edges for edges in one.band if all(map(isfinite, edges))]
    there = [(frame.x(x), frame.y(up, low)) for x, low, _ in kept]
    back = [(frame.x(x), frame.y(up, high)) for x, _, high in reversed(kept)]
    if kept:
        yield element("polygon", points=_points([*there, *back]), class_=f"band tone-{tone}")


def _polyline(points: Sequence[Point], tone: int) -> Markup:
    dashes = DASHES[(tone - 1) % len(DASHES)]
    return element("polyline", points=_points(points), class_=f"line tone-{tone}", stroke_dasharray=dashes)


def _points(points: Iterable[Point]) -> str:
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in points)


# --- what both have ----------------------------------------------------------------------------


def _drawing(title: str, frame: Frame, *pieces: Iterable[Markup]) -> Markup:
    return element(
        "svg",
        element("title", title),
        *(piece for some in pieces for piece in some),
        role="img",
        class_="plot",
        viewBox=f"0 0 {WIDTH:g} {frame.bottom + BELOW:g}",
    )


def _grid(frame: Frame) -> Iterator[Markup]:
    """Upright lines at the ticks of the axis across, what they stand for, and the title below."""
    axis = frame.across
    for tick in axis.ticks():
        yield _line(frame.x(tick), frame.top, frame.x(tick), frame.bottom, "grid")
        yield _words(axis.show(tick), frame.x(tick), frame.bottom + 14, "middle")
    yield _line(frame.left, frame.bottom, frame.right, frame.bottom, "base")
    yield _words(axis.title, frame.right, frame.bottom + 31, "end")


def _legend(
    names: Sequence[str], symbol: Callable[[int, float, float], Markup]
) -> tuple[list[Markup], float]:
    """Symbols with their names, as many a row as fit, and their height. `symbol`: of a tone, at x and y."""
    pieces: list[Markup] = []
    x, y = 0.0, LEGEND_ROW / 2
    for tone, name in enumerate(names, start=1):
        width = SYMBOL + _width(name) + 10
        if x and x + width > WIDTH:
            x, y = 0.0, y + LEGEND_ROW
        pieces += [symbol(tone, x + 11, y), _words(name, x + SYMBOL, y + 4, "start")]
        x += width
    return pieces, y + LEGEND_ROW / 2 if names else 0.0


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def _words(text: str, x: float, y: float, anchor: Literal["start", "middle", "end"]) -> Markup:
    return element("text", text, x=x, y=y, text_anchor=anchor)


def _width(text: str) -> float:
    return sum(WIDE if east_asian_width(sign) in "WF" else NARROW for sign in text)


def _shortened(text: str, width: float) -> str:
    """`text`, or what of it fits, with an ellipsis."""
    if _width(text) <= width:
        return text
    kept = text[: int(width / NARROW)]  # no more signs than that can fit
    while kept and _width(kept) > width - WIDE:
        kept = kept[:-1]
    return f"{kept}…"
