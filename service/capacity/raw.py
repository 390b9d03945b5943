"""The two sums that everybody does on paper, before blocks, groups and scales."""

from __future__ import annotations

from ingest.corpus.errors import InvalidInput


def raw_kv_bytes(layers: int, kv_heads: int, head_dim: int, bytes_per_value: float, tokens: int) -> float:
    """2 × layers × KV heads × head dim × bytes × cached tokens of all sequences; raw: before blocks.

    :raises InvalidInput: a value that is not above 0; `field` names it.
    """
    for name, value in locals().copy().items():
        _require_positive(name, value)
    return 2 * layers * kv_heads * head_dim * bytes_per_value * tokens


def raw_weight_bytes(parameters: float, bits: float) -> float:
    """Parameters × bits / 8, without scales and zero points, as if every layer were quantised.

    :raises InvalidInput: a value that is not above 0; `field` names it.
    """
    _require_positive("parameters", parameters)
    _require_positive("bits", bits)
    return parameters * bits / 8


def _require_positive(name: str, value: float) -> None:
    if isinstance(value, bool) or not value > 0:
        raise InvalidInput(f"{name} must be above 0, was: {value}.", field=name)
