"""Whether the candidate may take the baseline's place, with every reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from service.evaluation.releasing.excerpts import LANGUAGES
from service.evaluation.releasing.rows import Row, Served

Said = Literal["ships", "does not ship", "cannot tell"]
MUST_BE_SERVED = ("TTFT p50", "ITL p50", "throughput")


@dataclass(frozen=True, slots=True)
class Verdict:
    said: Said
    reasons: tuple[str, ...]  # for what is said, the gravest first; then what was not measured


def verdict(rows: Sequence[Row], served: Sequence[Served], faults: Sequence[str] = ()) -> Verdict:
    """Does not ship: something is worse, or there is a fault. Ships: nothing of that, and all is known.

    All is known when each language has task quality and either perplexity or stability, no loss of the margin
    is left possible anywhere, and times and throughput were measured. Otherwise nobody can tell.
    """
    against = (*faults, *(f"{_name(row)}: worse by {_size(row)}." for row in rows if row.finding == "worse"))
    open_ = (*_undecided(rows), *_lacking(rows), *_unserved(served))
    said: Said = "does not ship" if against else "cannot tell" if open_ else "ships"
    decided = against or open_ or ("Nothing is worse by its margin, in any slice that was measured.",)
    beyond = (f"{_name(row)}: not measured, {row.items} of {row.least}." for row in _others(rows))
    return Verdict(said, (*decided, *beyond))


def _undecided(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        if row.finding == "cannot tell":
            yield f"{_name(row)}: a loss of {row.high:.3f} cannot be excluded, and {row.margin:.2f} is one."


def _lacking(rows: Sequence[Row]) -> Iterator[str]:
    """What every release needs and there is no figure of."""
    for language in LANGUAGES:
        known = {row.figure for row in rows if row.slice == language and row.finding != "not measured"}
        if "task quality" not in known:
            yield f"task quality, {language}: not measured; it takes a run of the set with each model."
        if not known & {"perplexity", "stability"}:
            yield f"perplexity or stability, {language}: not measured."


def _unserved(served: Sequence[Served]) -> Iterator[str]:
    measured = {one.figure for one in served if one.is_measured}
    for name in MUST_BE_SERVED:
        if name not in measured:
            yield f"{name}: not measured; it takes a run of the set with each model."


def _others(rows: Sequence[Row]) -> Iterator[Row]:
    return (row for row in rows if row.finding == "not measured" and row.slice not in LANGUAGES)


def _name(row: Row) -> str:
    return f"{row.figure}, {row.slice}"


def _size(row: Row) -> str:
    if row.loss is None or row.low is None or row.high is None:
        return f"more than can be told, on {row.items} pairs: what is computed is no finite number"
    return f"{row.loss:.3f} (95 %: {row.low:.3f} to {row.high:.3f}), on {row.items} pairs"
