"""`citeward capacity geometry`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from service.capacity.blocks import CachedLayers, Engine
from service.capacity.geometry import geometries
from service.capacity.geometry_row import GeometryRow, row_of
from service.capacity.model.weights import Weights
from service.cli.show import Json, say, show, show_json, show_rows

LENGTHS = (1024, 8192, 32768)  # tokens of the sequences shown unless others are asked for


Model = Annotated[Path, typer.Argument(metavar="FILE|DIR", help="A config.json, its folder, or JSONL rows.")]
KvDtypeName = Annotated[
    str | None, typer.Option("--kv-dtype", help="As vLLM's; else as wide as the model's own dtype.")
]
BlockSize = Annotated[int, typer.Option("--block-size", min=1, help="Tokens of a block.")]
InFlight = Annotated[
    int, typer.Option("--in-flight", min=1, help="Tokens scheduled at once, which windows must hold too.")
]
Lengths = Annotated[
    list[int] | None, typer.Option("--tokens", min=1, help="Length of a sequence to show; may be repeated.")
]


def geometry(
    path: Model,
    kv_dtype: KvDtypeName = None,
    block_size: BlockSize = 16,  # a GPU's
    in_flight: InFlight = 2048,
    tokens: Lengths = None,
    as_json: Json = False,
) -> None:
    """What a model's config.json says of its size: bytes of each token, parameters, bytes of weights.

    Nothing is downloaded. Ends with 1 if a figure of a model is not known; the row names the missing fact.
    """
    engine = Engine(block_size, in_flight)
    rows = [row_of(one, engine, kv_dtype, tokens or LENGTHS) for one in geometries(path)]
    if as_json:
        show_json({"rows": rows})
    elif len(rows) == 1:
        _show_one(rows[0])
    else:
        show_rows(rows, COLUMNS, as_json=False)
        for row in rows:
            for one in row.unknown:
                say(f"{row.id}: {one}")
    if any(None in (row.kv_bytes_per_token, row.parameters, row.weight_bytes) for row in rows):
        raise typer.Exit(1)


def _show_one(row: GeometryRow) -> None:
    show_rows([row], COLUMNS, as_json=False)
    for layers in row.layers:
        show(f"  {_layers(layers)}")
    for sequence in row.sequences:
        show(f"  {sequence.tokens:,} tokens: {sequence.blocks:,} blocks, {sequence.bytes:,} bytes")
    if row.weights is not None:
        show(f"  {_weights(row.weights)}")
    for part, count in row.parameters_by_part.items():
        show(f"  {count:,} parameters: {part}")
    for term in row.terms:
        show(f"  {term.origin} {term.name}: {term.value}")
    for one in row.unknown:
        say(f"unknown {one}")


def _layers(layers: CachedLayers) -> str:
    if layers.kind == "state":
        return f"{layers.count} layers with a state of {layers.state_bytes:,} bytes"
    window = f", window {layers.window:,}" if layers.window else ""
    return f"{layers.count} {layers.kind} layers of {layers.token_bytes:,} bytes a token{window}"


def _weights(parts: Weights) -> str:
    if not parts.estimated:
        return f"weights, exact: {parts.unquantised:,} bytes of {parts.dtype}"
    return (
        f"weights, estimated ({parts.method}): {parts.quantised:,} bytes quantised"
        f" + {parts.scales:,} of scales + {parts.unquantised:,} unquantised"
    )


def _count(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"


def _gib(number: int | None) -> str:
    return "unknown" if number is None else f"{number / 2**30:.3f}"


COLUMNS = {
    "model": lambda row: row.id,
    "KV bytes a token": lambda row: _count(row.kv_bytes_per_token),
    "KV dtype": lambda row: row.kv_dtype,
    "state bytes": lambda row: row.state_bytes_per_sequence,
    "groups": lambda row: row.groups,
    "parameters": lambda row: _count(row.parameters),
    "weights GiB": lambda row: _gib(row.weight_bytes),
    "how": lambda row: "" if row.weights is None else row.weights.method or row.dtype,
}
