"""How an engine turned blocks into the tokens that it printed, and back."""

from __future__ import annotations

from collections.abc import Callable

from ingest.corpus.errors import InvalidInput
from service.capacity.blocks import Engine, Layout, layout_of
from service.capacity.log_row import LogRow
from service.capacity.versions import Reporting, reporting_of

WAYS: tuple[Reporting, ...] = ("blocks*block_size", "blocks//groups*block_size", "concurrency*max_model_len")


def way_of_reporting(row: LogRow) -> Reporting:
    """:raises InvalidInput: neither the way nor the version is stated."""
    for way in WAYS:
        if row.reporting == way:
            return way
    if row.version is None:
        raise InvalidInput("How tokens were counted is not stated, nor the version.", field="vllm_version")
    return reporting_of(row.version)


def row_layout(row: LogRow, engine: Engine) -> Layout:
    """A printed block size has grown already where there are states; one too small for a state grows yet."""
    states = max((one.state_bytes for one in row.layers), default=0)
    page = max((one.token_bytes for one in row.layers), default=0) * engine.block_size
    return layout_of(row.layers, engine, block_fixed=page >= states)


def tokens_of(row: LogRow, engine: Engine) -> Callable[[Layout, int], int]:
    """The way in which this engine turned blocks into tokens."""
    way = way_of_reporting(row)
    if way == "blocks*block_size":
        return lambda layout, blocks: blocks * layout.block_size
    if way == "blocks//groups*block_size":
        return lambda layout, blocks: blocks // len(layout.groups) * layout.block_size
    longest = row.max_model_len
    if longest is None:
        raise InvalidInput(
            "max_model_len is not stated, and the printed tokens depend on it.", field="max_model_len"
        )
    # Division first, in floating point, as the engine does it.
    return lambda layout, blocks: int(blocks / layout.blocks_for(longest, engine) * longest)


def blocks_behind(row: LogRow, engine: Engine) -> int | None:
    """The blocks that give exactly the printed tokens; None if no whole number does."""
    layout, tokens, reported = row_layout(row, engine), tokens_of(row, engine), row.kv_tokens or 0
    each = layout.blocks_for(row.max_model_len or 1, engine) + len(layout.groups)
    low, high = 0, (reported + 1) * each  # no way of counting makes a token of more blocks than that
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if tokens(layout, middle) < reported else (low, middle)
    return low if tokens(layout, low) == reported else None


def written_to(tokens: int) -> int:
    """The unit in which somebody wrote a figure: 1,000 for 55,000; 0 if fewer than three noughts end it."""
    noughts = len(str(tokens)) - len(str(tokens).rstrip("0"))
    return 10**noughts if tokens and noughts >= 3 else 0
