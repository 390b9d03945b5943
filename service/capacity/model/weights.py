"""Bytes of weights: plain by dtype, quantised in parts. Quantised ones are estimates, in doubt the larger.

A quantiser keeps scales (and zero points) beside what it quantised, and leaves alone embeddings, head, norms,
biases, routers, and whatever its config lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import ceil

from service.capacity.model.facts import DTYPE_BYTES, Facts, missing
from service.capacity.model.tensors import LINEAR, Part, Tensor

# Names under which configs list what is not quantised.
SPARED = ("modules_to_not_convert", "ignored_layers", "ignore", "exclude_modules", "llm_int8_skip_modules")
LAYER = re.compile(r"(?:^|.*\.)layers\.(\d+|\*)\.(.*)$")


@dataclass(frozen=True, slots=True)
class Scheme:
    """How a method stores a matrix: `bits` a weight, a scale (and zero point) for each group of weights.

    `group`: weights of a row that share a scale; 0: the whole row. `block`: rows and columns instead.
    """

    method: str
    bits: int
    group: int = 0
    block: tuple[int, int] | None = None
    scale_bits: int = 32
    zero_bits: int = 0
    column_bits: int = 0  # for each input column: GPTQ's order of groups
    parts: frozenset[Part] = LINEAR
    multiple: int = 1  # kernels want rows and columns of a multiple: the rest is loaded as padding

    def weights(self, tensor: Tensor) -> int:
        out, into = self._loaded(tensor)
        return ceil(tensor.count * out * into * self.bits / 8)

    def scales(self, tensor: Tensor) -> int:
        out, into = self._loaded(tensor)
        if self.block is not None:
            groups = tensor.count * ceil(out / self.block[0]) * ceil(into / self.block[1])
        else:
            groups = tensor.count * out * (ceil(into / self.group) if self.group else 1)
        columns = tensor.count * into * self.column_bits
        return ceil((groups * (self.scale_bits + self.zero_bits) + columns) / 8)

    def _loaded(self, tensor: Tensor) -> tuple[int, int]:
        out, into = (ceil(one / self.multiple) * self.multiple for one in tensor.shape)
        return out, into


@dataclass(frozen=True, slots=True)
class Weights:
    """Bytes as they are loaded. `method` is None where nothing is quantised: then the sum is exact."""

    dtype: str
    method: str | None
    quantised: int
    scales: int  # and zero points
    unquantised: int
    estimated: bool

    @property
    def total(self) -> int:
        return self.quantised + self.scales + self.unquantised


def weights_of(tensors: Iterable[Tensor], facts: Facts, ranks: int = 1) -> Weights:
    """Bytes on the fullest of so many ranks of tensor parallelism.

    :raises InvalidInput: a dtype or a method of quantisation whose size is not known.
    """
    width = DTYPE_BYTES[facts.dtype]
    scheme = scheme_of(facts)
    spared = _spared(facts)
    quantised = scales = unquantised = 0
    for tensor in (one for one in tensors if one.elements):
        share = tensor.on_a_rank(ranks) / tensor.elements
        kept = _layers_spared(tensor, spared) / tensor.layers
        if scheme is None or tensor.part not in scheme.parts or len(tensor.shape) != 2:
            kept = 1.0
        unquantised += ceil(tensor.elements * width * kept * share)
        if scheme is not None and kept < 1:
            quantised += ceil(scheme.weights(tensor) * (1 - kept) * share)
            scales += ceil(scheme.scales(tensor) * (1 - kept) * share)
    method = scheme.method if scheme else None
    return Weights(facts.dtype, method, quantised, scales, unquantised, estimated=scheme is not None)


def scheme_of(facts: Facts) -> Scheme | None:
    """None: nothing is quantised."""
    given = facts.quantization
    if given is None:
        return None
    method = str(given.get("quant_method") or given.get("quant_algo") or "")
    read = READERS.get(method.lower())
    if read is None:
        raise missing("quant_method", f"How large weights are under quant_method {method!r} is not known.")
    return read(given)


def _number(given: Mapping[str, object], *names: str) -> int:
    value = next((given[name] for name in names if given.get(name) is not None), None)
    if not isinstance(value, int) or isinstance(value, bool):
        raise missing(names[0], f"quantization_config says no {names[0]}.")
    return value


def _block(given: object) -> tuple[int, int] | None:
    """Rows and columns that share a scale; None where no such pair is given."""
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != 2:
        return None
    rows, columns = given
    if not all(isinstance(one, int) and one > 0 for one in (rows, columns)):
        raise missing("weight_block_size", f"Blocks of {given!r} weights cannot be.")
    return rows, columns


def _fp8(given: Mapping[str, object]) -> Scheme:
    return Scheme("fp8", 8, block=_block(given.get("weight_block_size")))


def _gptq(given: Mapping[str, object]) -> Scheme:
    bits, group = _number(given, "bits"), _number(given, "group_size")
    return Scheme("gptq", bits, max(0, group), scale_bits=16, zero_bits=bits, column_bits=32)


def _awq(given: Mapping[str, object]) -> Scheme:
    bits, group = _number(given, "bits", "w_bit"), _number(given, "group_size", "q_group_size")
    return Scheme("awq", bits, max(0, group), scale_bits=16, zero_bits=bits)


def _bitsandbytes(given: Mapping[str, object]) -> Scheme:
    if given.get("load_in_4bit"):
        return Scheme("bitsandbytes", 4, 64)  # also with double quantisation, which takes less
    if given.get("load_in_8bit"):
        return Scheme("bitsandbytes", 8)
    raise missing("load_in_4bit", "quantization_config says neither load_in_4bit nor load_in_8bit.")


def _mxfp4(given: Mapping[str, object]) -> Scheme:
    del given  # the format leaves nothing open; only experts are stored so
    return Scheme("mxfp4", 4, 32, scale_bits=8, parts=frozenset({"experts"}), multiple=256)


def _modelopt(given: Mapping[str, object]) -> Scheme:
    inner = given.get("quantization")
    algorithm = str(
        given.get("quant_algo") or (inner.get("quant_algo") if isinstance(inner, Mapping) else "")
    )
    if "NVFP4" in algorithm:
        return Scheme("modelopt NVFP4", 4, 16, scale_bits=8)
    if "FP8" in algorithm:
        return Scheme("modelopt FP8", 8)
    raise missing("quant_algo", f"How large weights are under quant_algo {algorithm!r} is not known.")


def _compressed_tensors(given: Mapping[str, object]) -> Scheme:
    groups = given.get("config_groups")
    weights = [
        one["weights"]
        for one in (groups.values() if isinstance(groups, Mapping) else ())
        if isinstance(one, Mapping) and isinstance(one.get("weights"), Mapping)
    ]
    if not weights:
        raise missing("config_groups", "quantization_config says not how weights are stored.")
    schemes = [_stored(one) for one in weights]
    return max(schemes, key=lambda one: one.bits)  # of several, the largest


def _stored(weights: Mapping[str, object]) -> Scheme:
    bits, name = _number(weights, "num_bits"), f"compressed-tensors {weights.get('type', '')}".strip()
    zero = 0 if weights.get("symmetric", True) else bits
    block, group = _block(weights.get("block_structure")), weights.get("group_size")
    if block is not None:
        return Scheme(name, bits, block=block)
    if isinstance(group, int) and group > 0:
        return Scheme(name, bits, group, scale_bits=16, zero_bits=zero)
    return Scheme(name, bits, zero_bits=zero)


READERS: Mapping[str, Callable[[Mapping[str, object]], Scheme]] = {
    "fp8": _fp8,
    "fbgemm_fp8": lambda _: Scheme("fbgemm_fp8", 8),
    "gptq": _gptq,
    "gptq_marlin": _gptq,
    "awq": _awq,
    "awq_marlin": _awq,
    "bitsandbytes": _bitsandbytes,
    "mxfp4": _mxfp4,
    "modelopt": _modelopt,
    "modelopt_fp4": _modelopt,
    "compressed-tensors": _compressed_tensors,
}


def _spared(facts: Facts) -> tuple[str, ...]:
    given = facts.quantization or {}
    places = (given, given.get("quantization"))
    listed = (place.get(name) for place in places if isinstance(place, Mapping) for name in SPARED)
    return tuple(
        str(one)
        for names in listed
        if isinstance(names, Sequence) and not isinstance(names, str)
        for one in names
    )


def _layers_spared(tensor: Tensor, spared: Iterable[str]) -> int:
    """In how many of its layers a tensor is left as it was; in doubt all, which takes more room."""
    numbers: set[str] = set()
    for entry in spared:
        found = LAYER.match(entry)
        number, pattern = found.groups() if found else ("*", entry)
        if not _names(tensor.name, pattern):
            continue
        if number == "*":
            return tensor.layers
        numbers.add(number)
    return min(len(numbers), tensor.layers)


def _names(name: str, pattern: str) -> bool:
    """Whether an entry of a config means this tensor; an expression that cannot be read is taken to."""
    if pattern.startswith("re:"):
        try:
            return re.search(pattern[3:].rpartition("layers")[2].lstrip(".*\\d+"), name) is not None
        except re.error:
            return True
    bare = pattern.strip("*.")
    return bare != "" and (fnmatchcase(name, f"*{bare}*") or name.startswith(f"{bare}."))
