"""`citeward capacity kv` and `citeward capacity weights`: sums as on paper, before blocks and scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from service.capacity.raw import raw_kv_bytes, raw_weight_bytes
from service.cli.show import Json, show_done

GIB = 2**30
Layers = Annotated[int, typer.Option("--layers")]
KvHeads = Annotated[int, typer.Option("--kv-heads")]
HeadDim = Annotated[int, typer.Option("--head-dim")]
BytesPerValue = Annotated[float, typer.Option("--bytes", help="Of a cached value: 2 for 16 bits.")]
Tokens = Annotated[int, typer.Option("--tokens", help="Cached, of one sequence.")]
Sequences = Annotated[int, typer.Option("--sequences", help="At once.")]
Parameters = Annotated[float, typer.Option("--parameters", help="As 7e9.")]
Bits = Annotated[float, typer.Option("--bits", help="A parameter.")]


@dataclass(frozen=True, slots=True)
class Raw:
    raw_bytes: float
    raw_gib: float
    what: str


def kv(
    layers: Layers,
    kv_heads: KvHeads,
    head_dim: HeadDim,
    tokens: Tokens,
    sequences: Sequences = 1,
    bytes_per_value: BytesPerValue = 2,
    as_json: Json = False,
) -> None:
    """Raw bytes of a KV cache: 2 × layers × KV heads × head dim × bytes × tokens, before blocks."""
    found = raw_kv_bytes(layers, kv_heads, head_dim, bytes_per_value, tokens * sequences)
    _show(found, "KV cache, raw (before blocks)", as_json)


def weights(parameters: Parameters, bits: Bits, as_json: Json = False) -> None:
    """Raw bytes of weights: parameters × bits / 8, without scales, zero points and unquantised layers."""
    _show(raw_weight_bytes(parameters, bits), "weights, raw (without scales)", as_json)


def _show(found: float, what: str, as_json: bool) -> None:
    show_done(Raw(found, found / GIB, what), f"{what}: {found / GIB:,.1f} GiB ({found:,.0f} bytes)", as_json)
