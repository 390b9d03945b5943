"""Was the arithmetic right? An engine's printed memory to the tokens that it must then have printed.

A row whose figures cannot follow from what it states is refused with the missing fact, or explained by naming
what would have to be so. No tokens are predicted that are more than was printed and than its rounding allows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ingest.corpus.errors import InvalidInput
from service.capacity.assumed import assumptions, flight_matters, tokens_in_flight
from service.capacity.blocks import NULL_BLOCK, Engine, Layout
from service.capacity.log_row import GIB, HALF_A_PRINTED_STEP, LogRow, Memory
from service.capacity.printed import blocks_behind, row_layout, tokens_of, written_to

Status = Literal["equal", "within_rounding", "refused", "explained", "off"]
DRAFT_TAKES = 0.5  # a draft is smaller than its model
RANKS_DIFFER = 0.15  # a public log had 14 % fewer tokens than its printed rank


@dataclass(frozen=True, slots=True)
class Replayed:
    """`deviation`: (predicted − reported) / reported; above 0 is optimistic. `token_range`: what the printed
    memory stands for. `bound_tokens`: the most there can have been, where that is no prediction."""

    id: str
    status: Status
    predicted_tokens: int | None
    reported_tokens: int | None
    deviation: float | None
    reason: str
    token_range: tuple[int, int] | None = None
    bound_tokens: int | None = None
    assumed: str | None = None


def replay(rows: Iterable[LogRow]) -> tuple[Replayed, ...]:
    return tuple(replay_row(one) for one in rows)


def replay_row(row: LogRow) -> Replayed:
    if row.unreadable:
        return _refused(row, row.unreadable)
    try:
        return _refused_start(row) if row.kv_tokens is None else _printed(row)
    except InvalidInput as error:
        return _refused(row, error.what)


# --- an engine that started and printed its tokens --------------------------------------------------


def _printed(row: LogRow) -> Replayed:
    memory, reported = row.memory, row.kv_tokens
    assert reported is not None
    if not row.layers:
        return _refused(row, "The caches of its layers are not stated." + _identity(row))
    if memory is None:
        return _refused(row, "No memory figure was printed." + _consistent(row))
    tried = [(one, _predict(row, one.engine, memory)) for one in assumptions(row)]
    for assumption, (low, likely, high) in tried:
        if not assumption.said and low <= reported <= high:
            return _agreeing(row, low, likely, high)
    for assumption, (low, likely, high) in tried:
        if low <= reported <= high:
            return _explained(
                row, low, likely, high, f"It comes out with {assumption.said}.", assumption.said
            )
    return _deviating(row, *tried[0][1])


def _predict(row: LogRow, engine: Engine, memory: Memory) -> tuple[int, int, int]:
    """Tokens at the lower end, the middle and the upper end of what the printed memory stands for."""
    layout, tokens = row_layout(row, engine), tokens_of(row, engine)
    low, likely, high = (
        tokens(layout, layout.blocks_in(one)) for one in (memory.low, memory.printed, memory.high)
    )
    return low, likely, high


# --- what a comparison comes to ----------------------------------------------------------------------


def _agreeing(row: LogRow, low: int, likely: int, high: int) -> Replayed:
    status: Status = "equal" if likely == row.kv_tokens else "within_rounding"
    reason = "The printed memory gives the printed tokens."
    if status == "within_rounding":
        reason = f"The printed memory is rounded: it stands for {low:,} to {high:,} tokens."
    return Replayed(row.id, status, likely, row.kv_tokens, _deviation(likely, row), reason, (low, high))


def _explained(
    row: LogRow, low: int, likely: int, high: int, reason: str, assumed: str | None = None
) -> Replayed:
    """`likely` counts as predicted only where it is no more than was printed, or than its rounding allows."""
    reported = row.kv_tokens or 0
    fair = likely <= reported or low <= reported <= high
    return Replayed(
        id=row.id,
        status="explained",
        predicted_tokens=likely if fair else None,
        reported_tokens=row.kv_tokens,
        deviation=_deviation(likely, row) if fair else None,
        reason=reason,
        token_range=(low, high),
        bound_tokens=None if fair else likely,
        assumed=assumed,
    )


def _deviating(row: LogRow, low: int, likely: int, high: int) -> Replayed:
    share = _deviation(likely, row) or 0.0
    if abs(likely - (row.kv_tokens or 0)) <= written_to(row.kv_tokens or 0) / 2:
        return _explained(row, low, likely, high, "The printed tokens are a round figure.")
    if flight_matters(row) and tokens_in_flight(row) is None:
        return _refused(
            row, "max_num_batched_tokens is not stated, and no usual value gives the printed tokens."
        )
    if share > 0 and (why := _less_than_printed(row, share)):
        return _explained(row, low, likely, high, why)
    reason = f"The printed memory stands for {low:,} to {high:,} tokens."
    return Replayed(row.id, "off", likely, row.kv_tokens, share, reason, (low, high))


def _less_than_printed(row: LogRow, share: float) -> str:
    """Why an engine had fewer tokens than its printed memory holds; "" if nothing in the row says why."""
    if all(blocks_behind(row, one.engine) is None for one in assumptions(row)):
        return (
            "No whole number of blocks of these layers gives the printed tokens:"
            " the engine's caches were others than is stated, as with a draft model."
        )
    ranks = (row.tp or 1) * (row.pp or 1)
    if ranks > 1 and share <= RANKS_DIFFER:
        return f"The memory is one rank's of {ranks}, and blocks are the fewest of all ranks: it is a bound."
    if row.num_spec_tokens and share <= DRAFT_TAKES:
        return "It speculates, and what its draft caches is not among the stated layers: they are a bound."
    return ""


def _consistent(row: LogRow) -> str:
    """What can be said without a memory figure: do the tokens follow from some number of blocks?"""
    for one in assumptions(row):
        layout, tokens = row_layout(row, one.engine), tokens_of(row, one.engine)
        blocks = row.num_blocks or blocks_behind(row, one.engine)
        if blocks is not None and tokens(layout, blocks) == row.kv_tokens:
            need = blocks * layout.bytes_per_block / GIB
            return f" Its tokens are those of {blocks:,} blocks, which take {need:.2f} GiB."
    return " Its tokens do not follow from its layers either."


def _identity(row: LogRow) -> str:
    if None in (row.max_concurrency, row.max_model_len, row.kv_tokens):
        return ""
    printed = (row.max_concurrency or 0) * (row.max_model_len or 0)
    holds = abs(printed - (row.kv_tokens or 0)) <= HALF_A_PRINTED_STEP * (row.max_model_len or 0) + 1
    return f" Its tokens are {'' if holds else 'not '}concurrency times max_model_len."


def _deviation(predicted: int, row: LogRow) -> float | None:
    return (predicted - row.kv_tokens) / row.kv_tokens if row.kv_tokens else None


def _refused(row: LogRow, reason: str) -> Replayed:
    return Replayed(row.id, "refused", None, row.kv_tokens, None, reason)


# --- an engine that refused to start -----------------------------------------------------------------


def _refused_start(row: LogRow) -> Replayed:
    """It printed no tokens, but what one request of the longest kind would have needed."""
    if not row.layers:
        return _refused(row, "No tokens were printed, and the caches of its layers are not stated.")
    if row.needed_gib is None:
        return _refused(row, "No tokens were printed, nor what one request needs." + _holds(row))
    longest = row.max_model_len
    if longest is None:
        return _refused(row, "max_model_len is not stated: what one request needs cannot be told.")
    for one in assumptions(row):
        layout = row_layout(row, one.engine)
        need = layout.bytes_per_block * layout.blocks_for(longest, one.engine) / GIB
        if abs(need - row.needed_gib) <= HALF_A_PRINTED_STEP + 1e-9 and _estimate_holds(
            row, layout, one.engine
        ):
            under = f", with {one.said}" if one.said else ""
            reason = (
                f"No tokens were printed; one request of {longest:,} needs {need:.3f} GiB, as printed{under}."
            )
            return Replayed(row.id, "explained", None, None, None, reason, assumed=one.said or None)
    return Replayed(
        row.id,
        "off",
        None,
        None,
        None,
        f"The printed need of {row.needed_gib} GiB does not follow from its layers.",
    )


def _estimate_holds(row: LogRow, layout: Layout, engine: Engine) -> bool:
    """The longest length that the engine estimated lies in what the printed memory stands for."""
    memory, estimate = row.memory, row.estimated_max_model_len
    if memory is None or estimate is None:
        return True
    # Newer versions keep the null block apart, older ones did not.
    low, high = layout.blocks_in(memory.low) - NULL_BLOCK, layout.blocks_in(memory.high)
    least, most = (layout.longest(one, engine, row.max_model_len or 0) for one in (low, high))
    return least <= estimate <= most


def _holds(row: LogRow) -> str:
    if row.memory is None:
        return ""
    layout = row_layout(row, next(assumptions(row)).engine)
    return f" Its memory holds {layout.blocks_in(row.memory.printed):,} blocks."
