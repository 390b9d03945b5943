"""How long requests are: one shape, percentiles of lengths, or a trace of real ones."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from pathlib import Path

from ingest.corpus.errors import InvalidInput, NotFound

POINTS = 101  # requests that percentiles are spread over
PROMPT = ("input", "prompt_tokens", "input_tokens", "prompt")
ANSWER = ("output", "output_tokens", "completion_tokens", "generation_tokens")


@dataclass(frozen=True, slots=True)
class Request:
    input_tokens: int
    output_tokens: int

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


def requests_of(inputs: str, outputs: str) -> tuple[Request, ...]:
    """`8000` for one length, or `p50=800,p95=6000,p100=9000` for percentiles; both of the same rank together.

    One request if both are one length. Between percentiles lengths grow evenly; below the first they are its
    own, so that nothing is taken for shorter than was said.

    :raises InvalidInput: neither of the two forms; a length below 1; percentiles that fall.
    """
    long, short = _lengths(inputs, "input"), _lengths(outputs, "output")
    number = max(len(long), len(short))
    return tuple(Request(long[one % len(long)], short[one % len(short)]) for one in range(number))


def read_trace(path: Path) -> tuple[Request, ...]:
    """JSONL with `input` and `output`, in tokens; the names that engines use will do as well.

    :raises NotFound: no such file. :raises InvalidInput: a line that is none; names it.
    """
    if not path.is_file():
        raise NotFound(
            f"There is no {path}.", next_step="Give a JSONL file with input and output of each request."
        )
    lines = [line for line in path.read_text("utf-8").split("\n") if line.strip()]
    found = tuple(_request(line, f"{path.name}:{number}") for number, line in enumerate(lines, 1))
    if not found:
        raise InvalidInput(f"{path} holds no request.", field="trace")
    return found


def _request(line: str, where: str) -> Request:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, Mapping):
        raise InvalidInput(f"{where} is no JSON object.", field="trace")
    sides = [_tokens(row, names) for names in (PROMPT, ANSWER)]
    if None in sides or not any(sides):
        raise InvalidInput(f"{where} needs input and output as whole numbers of tokens.", field="trace")
    return Request(sides[0] or 0, sides[1] or 0)


def _tokens(row: Mapping[str, object], names: Sequence[str]) -> int | None:
    found = next((row[name] for name in names if name in row), None)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


def _lengths(said: str, field: str) -> Sequence[int]:
    if re.fullmatch(r"\d+", said):
        if int(said) < 1:
            raise InvalidInput(f"{field} must be at least 1 token, was: {said}.", field=field)
        return [int(said)]
    pairs = re.findall(r"p(\d+(?:\.\d+)?)=(\d+)", said)
    points = [(float(rank), int(length)) for rank, length in pairs]
    whole = ",".join(f"p{rank}={length}" for rank, length in pairs)
    if not points or whole != said.replace(" ", "") or sorted(points) != points or points[-1][0] > 100:
        raise InvalidInput(
            f"{field} cannot be {said!r}.", next_step="Give 8000, or p50=800,p95=6000,p100=9000.", field=field
        )
    if any(later[1] < earlier[1] for earlier, later in pairwise(points)) or points[0][1] < 1:
        raise InvalidInput(f"{field}: lengths must not fall, and be at least 1, were: {said}.", field=field)
    return [_at(points, rank) for rank in range(POINTS)]


def _at(points: Sequence[tuple[float, int]], rank: float) -> int:
    """The length at a percentile, rounded up."""
    for (low, short), (high, long) in pairwise(points):
        if low <= rank <= high:
            return ceil(short + (long - short) * (rank - low) / (high - low)) if high > low else long
    return points[0][1] if rank < points[0][0] else points[-1][1]
