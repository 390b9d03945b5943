"""The capacity curve: how many requests of each length fit at once, as numbers and as one drawing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import ceil, log2

from service.capacity.blocks import sequences
from service.capacity.geometry import Geometry
from service.capacity.model.kv_dtype import kv_dtype_of
from service.capacity.planner import Plan, Wish, engine_of

SHORTEST = 256  # tokens
STEPS = 4  # points between a length and its double
WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 40, 50


@dataclass(frozen=True, slots=True)
class CurvePoint:
    tokens: int  # of one request, prompt and output
    at_once: int  # for certain


def curve(geometry: Geometry, wish: Wish, found: Plan) -> tuple[CurvePoint, ...]:
    """The frontier, from short requests to the longest that the window takes; it never rises."""
    dtype = kv_dtype_of(wish.kv_dtype, geometry.dtype, geometry.facts.quantization)
    engine = engine_of(wish)
    layout = geometry.layout(engine, dtype, wish.serving.tensor_parallel)
    lengths = sorted({*_lengths(found.max_model_len), min(wish.longest.tokens, found.max_model_len)})
    return tuple(
        CurvePoint(one, sequences(found.room.blocks, layout.blocks_for(one, engine))) for one in lengths
    )


def _lengths(longest: int) -> Iterator[int]:
    steps = max(0, ceil(log2(longest / SHORTEST) * STEPS)) if longest > SHORTEST else 0
    for step in range(steps):
        yield int(SHORTEST * 2 ** (step / STEPS))
    yield longest


def svg_of(points: Sequence[CurvePoint], wish: Wish, found: Plan) -> str:
    """Length across, requests at once upwards, both by doubling; what lies below the line fits."""
    drawn = [one for one in points if one.at_once >= 1]
    most = max([one.at_once for one in drawn] + [wish.concurrency, 2])
    across = _Axis(
        points[0].tokens,
        max(points[-1].tokens, wish.longest.tokens, points[0].tokens * 2),
        LEFT,
        WIDTH - RIGHT,
    )
    upwards = _Axis(1, most, HEIGHT - BOTTOM, TOP)
    said = f"{found.model} on {found.gpu}, KV {found.kv_dtype}: {found.why}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        ' font-family="sans-serif" font-size="12">',
        f"<title>{escape(said)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="20" font-weight="bold">{escape(said)}</text>',
        *(_tick(one, across.at(one), upright=True) for one in across.doublings()),
        *(_tick(one, upwards.at(one), upright=False) for one in upwards.doublings()),
        *_frontier(drawn, across, upwards),
        *_wished(wish, found, across, upwards),
        _label("tokens of a request, prompt and output", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10),
        f'<g transform="rotate(-90 18 {HEIGHT / 2})">{_label("requests at once", 18, HEIGHT / 2)}</g>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def html_of(svg: str) -> str:
    return f'<!doctype html>\n<meta charset="utf-8">\n<title>Capacity</title>\n{svg}'


@dataclass(frozen=True, slots=True)
class _Axis:
    low: int
    high: int  # above low
    start: float  # where low lies in the drawing
    end: float

    def at(self, value: float) -> float:
        within = min(max(value, self.low), self.high)
        share = log2(within / self.low) / log2(self.high / self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def doublings(self) -> Sequence[int]:
        return [2**power for power in range(64) if self.low <= 2**power <= self.high]


def _frontier(points: Sequence[CurvePoint], across: _Axis, upwards: _Axis) -> Iterator[str]:
    if len(points) < 2:
        return
    corners = _stepped([(across.at(one.tokens), upwards.at(one.at_once)) for one in points])
    line = " ".join(f"{x},{y}" for x, y in corners)
    left, right, floor = across.at(points[0].tokens), across.at(points[-1].tokens), upwards.start
    yield f'<polygon points="{left},{floor} {line} {right},{floor}" fill="#1f77b4" fill-opacity="0.15"/>'
    yield f'<polyline points="{line}" fill="none" stroke="#1f77b4" stroke-width="2"/>'


def _stepped(points: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Between two lengths as many fit as of the longer one: nothing is drawn that does not fit."""
    for (x, _), (further, y) in pairwise(points):
        yield from ((x, y), (further, y))


def _wished(wish: Wish, found: Plan, across: _Axis, upwards: _Axis) -> Iterator[str]:
    x, y = across.at(wish.longest.tokens), upwards.at(wish.concurrency)
    shape = "#2a7d2a" if found.fits else "#c0392b"
    yield f'<circle cx="{x}" cy="{y}" r="5" fill="{shape}"/>'
    word = f"wished: {wish.concurrency} × {wish.longest.tokens:,}, {'fits' if found.fits else 'does not fit'}"
    end = ' text-anchor="end"' if x > WIDTH / 2 else ""
    yield f'<text x="{x + (-9 if end else 9)}" y="{y - 6}"{end}>{word}</text>'


def _tick(value: int, at: float, *, upright: bool) -> str:
    said = f"{value // 1024}k" if value >= 1024 and value % 1024 == 0 else str(value)
    if upright:
        line = f'<line x1="{at}" x2="{at}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#ddd"/>'
        return line + _label(said, at, HEIGHT - BOTTOM + 16)
    line = f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}" stroke="#ddd"/>'
    return f'{line}<text x="{LEFT - 6}" y="{at + 4}" text-anchor="end">{said}</text>'


def _label(text: str, x: float, y: float) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="middle">{escape(text)}</text>'
