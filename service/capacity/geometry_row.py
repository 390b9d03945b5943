"""A geometry as it is printed: one row a model, every figure with its terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from service.capacity.blocks import CachedLayers, Engine
from service.capacity.geometry import Geometry, Term, terms_of
from service.capacity.model.kv_dtype import KvDtype, kv_dtype_of
from service.capacity.model.tensors import Part, total
from service.capacity.model.weights import Weights


@dataclass(frozen=True, slots=True)
class SequenceBytes:
    """What one sequence of so many tokens can take, in whole blocks of the pool."""

    tokens: int
    blocks: int
    bytes: int


@dataclass(frozen=True, slots=True)
class GeometryRow:
    """Bytes on one rank that holds the whole model. What is not known is None, and `unknown` says why."""

    id: str
    model_type: str
    kv_bytes_per_token: int | None  # written by one token in all layers that keep tokens
    kv_bytes_per_token_full_layers: int | None  # of these, in layers that keep every token
    kv_bytes_per_token_windowed_layers: int | None  # and in those that keep a window or a chunk
    state_bytes_per_sequence: int | None
    groups: int | None  # block tables of one sequence
    parameters: int | None
    weight_bytes: int | None
    dtype: str
    kv_dtype: str
    kv_dtype_auto: str | None  # what `--kv-cache-dtype auto` means for this checkpoint
    unknown: tuple[str, ...]
    weights: Weights | None  # weight_bytes by parts; an estimate where something is quantised
    parameters_by_part: dict[Part, int]
    layers: tuple[CachedLayers, ...]
    block_size: int | None
    bytes_per_block: int | None
    padding_layers: int | None
    sequences: tuple[SequenceBytes, ...]
    terms: tuple[Term, ...]


def row_of(geometry: Geometry, engine: Engine, kv: str | None, lengths: Sequence[int]) -> GeometryRow:
    """`kv`: a KV dtype of vLLM's; None for the width of the model's own dtype.

    :raises InvalidInput: a KV dtype that is not known.
    """
    found = geometry
    dtype = kv_dtype_of(kv or found.dtype, found.dtype, found.facts.quantization) if found.kept else None
    known = dtype is not None
    layout = found.layout(engine, dtype) if known else None
    sequences = (
        [(tokens, layout.blocks_for(tokens, engine)) for tokens in lengths] if layout is not None else []
    )
    per_block = layout.bytes_per_block if layout else 0
    return GeometryRow(
        id=found.id,
        model_type=found.model_type,
        kv_bytes_per_token=found.kv_bytes_per_token(dtype) if known else None,
        kv_bytes_per_token_full_layers=found.kv_bytes_per_token(dtype, "full", "latent") if known else None,
        kv_bytes_per_token_windowed_layers=(
            found.kv_bytes_per_token(dtype, "sliding", "chunked") if known else None
        ),
        state_bytes_per_sequence=found.state_bytes_per_sequence if known else None,
        groups=len(layout.groups) if layout else None,
        parameters=found.parameters,
        weight_bytes=found.weights.total if found.weights else None,
        dtype=found.dtype,
        kv_dtype=dtype.name if dtype else "",
        kv_dtype_auto=_auto(found, dtype),
        unknown=found.unknown,
        weights=found.weights,
        parameters_by_part=_by_part(found),
        layers=found.cached(dtype) if known else (),
        block_size=layout.block_size if layout else None,
        bytes_per_block=per_block or None,
        padding_layers=layout.padding_layers if layout else None,
        sequences=tuple(SequenceBytes(tokens, blocks, blocks * per_block) for tokens, blocks in sequences),
        terms=terms_of(found),
    )


def _auto(geometry: Geometry, known: KvDtype | None) -> str | None:
    return kv_dtype_of("auto", geometry.dtype, geometry.facts.quantization).name if known else None


def _by_part(geometry: Geometry) -> dict[Part, int]:
    parts = dict.fromkeys(one.part for one in geometry.tensors)
    return {part: total(one for one in geometry.tensors if one.part == part) for part in parts}
