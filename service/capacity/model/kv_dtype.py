"""How wide a cached value is, by the names that vLLM gives to `--kv-cache-dtype`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from service.capacity.model.facts import DTYPE_BYTES, missing

WIDTHS: Mapping[str, Fraction] = {
    **{name: Fraction(width) for name, width in DTYPE_BYTES.items()},
    **dict.fromkeys(("fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc"), Fraction(1)),
    # Four bits a value and eight for the scale of each sixteen.
    **dict.fromkeys(("nvfp4", "nvfp4_4over6"), Fraction(9, 16)),
}
LATENT_BYTES = {"fp8_ds_mla": 656, "nvfp4_ds_mla": 352}  # a token, for a latent of 512 + 64 values
LATENT_VALUES = 576


@dataclass(frozen=True, slots=True)
class KvDtype:
    name: str
    width: Fraction  # bytes a value
    latent: int = 0  # bytes of a token's latent vector, where the format fixes them

    def bytes(self, values: int) -> int:
        return ceil(values * self.width)

    def latent_bytes(self, values: int) -> int:
        """:raises InvalidInput: the format is made for a latent of another size."""
        if not self.latent:
            return self.bytes(values)
        if values != LATENT_VALUES:
            raise missing(
                "kv_dtype", f"{self.name} is known for {LATENT_VALUES} values, the latent has {values}."
            )
        return self.latent


def kv_dtype_of(name: str, model_dtype: str, quantization: Mapping[str, object] | None = None) -> KvDtype:
    """`auto` is the checkpoint's own KV scheme if it names one, else the model's dtype.

    Quantised weights alone never mean a quantised cache.

    :raises InvalidInput: a name whose width is not known.
    """
    if name == "auto":
        name = _scheme(quantization) or model_dtype
    if name in LATENT_BYTES:
        return KvDtype(name, Fraction(1), LATENT_BYTES[name])
    if name not in WIDTHS:
        raise missing("kv_dtype", f"How wide a value of KV dtype {name!r} is, is not known.")
    return KvDtype(name, WIDTHS[name])


def _scheme(quantization: Mapping[str, object] | None) -> str | None:
    """What vLLM takes `auto` for: FP8 where config states a scheme of eight float bits, or names it."""
    if quantization is None:
        return None
    inner = quantization.get("quantization")
    places = [one for one in (inner, quantization) if isinstance(one, Mapping)]
    for one in places:
        scheme = one.get("kv_cache_scheme")
        if isinstance(scheme, Mapping) and scheme.get("num_bits") == 8 and scheme.get("type") == "float":
            return "fp8"
        algorithm = one.get("kv_cache_quant_algo")
        if isinstance(algorithm, str) and algorithm.upper() == "FP8":
            return "fp8"
    return None
