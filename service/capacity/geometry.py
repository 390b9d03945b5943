"""From a model's config.json to its size: what a token takes, what weights take, and how figures were made.

Reads files, downloads nothing. A fact that is missing is named, and the figures that need it are None.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

from ingest.corpus.errors import InvalidInput, NotFound
from service.capacity.blocks import CachedLayers, Engine, Layout, layout_of
from service.capacity.model.attention import Layers
from service.capacity.model.facts import Facts, facts_of
from service.capacity.model.families import architecture_of
from service.capacity.model.kv_dtype import KvDtype, kv_dtype_of
from service.capacity.model.tensors import Tensor, total
from service.capacity.model.weights import Weights, weights_of

T = TypeVar("T")
Origin = Literal["read", "counted", "inferred", "estimated", "measured"]  # exact, exact, and not


@dataclass(frozen=True, slots=True)
class Term:
    """One number that a figure was made of, and where it came from."""

    name: str
    value: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class Geometry:
    """One model's size. Bytes are those of a whole model on one rank, unless a method says otherwise."""

    id: str
    model_type: str
    dtype: str
    kept: tuple[Layers, ...]  # () if not known
    tensors: tuple[Tensor, ...]  # () if not known
    weights: Weights | None
    facts: Facts
    unknown: tuple[str, ...]

    @property
    def parameters(self) -> int | None:
        return total(self.tensors) or None

    def cached(
        self, kv: KvDtype | None = None, tensor_parallel: int = 1, speculative_tokens: int = 0
    ) -> tuple[CachedLayers, ...]:
        """The layers that keep anything, in bytes on one rank of so many."""
        kv = kv or kv_dtype_of("auto", self.dtype)
        return tuple(
            self._cached(one, kv, tensor_parallel, speculative_tokens)
            for one in self.kept
            if one.kind != "none"
        )

    def layout(self, engine: Engine, kv: KvDtype | None = None, tensor_parallel: int = 1) -> Layout:
        return layout_of(self.cached(kv, tensor_parallel, engine.speculative_tokens), engine)

    def kv_bytes_per_token(self, kv: KvDtype | None = None, *kinds: str) -> int:
        """What one more token writes: in all layers that keep tokens, or in those of these kinds."""
        return sum(
            one.token_bytes * one.count
            for one in self.cached(kv)
            if one.kind != "state" and (not kinds or one.kind in kinds)
        )

    @property
    def state_bytes_per_sequence(self) -> int:
        return sum(one.state_bytes * one.count for one in self.cached())

    def _cached(self, layers: Layers, kv: KvDtype, ranks: int, speculative: int) -> CachedLayers:
        if layers.kind == "latent":
            return CachedLayers("latent", layers.count, kv.latent_bytes(layers.key_width))
        if layers.kind in ("full", "sliding", "chunked"):
            width = kv.bytes(layers.token_values(ranks))
            return CachedLayers(
                layers.kind, layers.count, width, layers.window, heads=layers.heads_on_a_rank(ranks)
            )
        assert layers.state is not None, layers
        convolution, recurrent = layers.state.values(ranks, speculative)
        model = kv_dtype_of("auto", self.dtype)
        own = kv_dtype_of(layers.state.recurrent_dtype, self.dtype)
        return CachedLayers(
            "state", layers.count, state_bytes=model.bytes(convolution) + own.bytes(recurrent)
        )


def geometry_of(
    id_: str, config: Mapping[str, object], quantization: Mapping[str, object] | None = None
) -> Geometry:
    """What can be known from `config`; what cannot is named in `unknown`, and its figures are missing."""
    unknown: list[str] = []
    facts = _or_unknown(lambda: facts_of(config, quantization), unknown) or Facts(config)
    if facts.flag(False, "is_encoder_decoder"):
        unknown.append("encoder-decoder: how long its encoder's input is")
    known = _or_unknown(lambda: architecture_of(facts), unknown)
    dtype = _or_unknown(lambda: facts.dtype, unknown)
    if known is None or dtype is None or unknown:
        return Geometry(id_, facts.model_type, dtype or "", (), (), None, facts, tuple(unknown))
    kept = _or_unknown(lambda: known.kept(facts), unknown) or ()
    tensors = _or_unknown(lambda: known.tensors(facts), unknown) or ()
    weights = _or_unknown(lambda: weights_of(tensors, facts), unknown) if tensors else None
    unknown += [f"{name}: what is beside the language model is not counted" for name in facts.towers]
    found = Geometry(id_, facts.model_type, dtype, kept, tensors, weights, facts, tuple(unknown))
    return found if _or_unknown(found.cached, unknown) else replace(found, kept=(), unknown=tuple(unknown))


def geometries(path: Path) -> Iterator[Geometry]:
    """Of a config.json, of a folder with one, or of JSONL rows with `config` (and `id`, `quantization`).

    :raises NotFound: there is no such file. :raises InvalidInput: it is none of these.
    """
    file = path / "config.json" if path.is_dir() else path
    if not file.is_file():
        raise NotFound(
            f"There is no {file}.", next_step="Give a config.json, a model's folder, or a JSONL file."
        )
    rows = tuple(_rows(file))
    for number, row in enumerate(rows, 1):
        config = row.get("config")
        if isinstance(config, Mapping):
            quantization = row.get("quantization")
            given = quantization if isinstance(quantization, Mapping) else None
            yield geometry_of(str(row.get("id") or number), config, given)
        else:
            yield geometry_of(file.resolve().parent.name if file.name == "config.json" else file.stem, row)


def _rows(file: Path) -> Iterable[Mapping[str, object]]:
    try:
        text = file.read_text("utf-8")
        found = (
            [json.loads(line) for line in text.split("\n") if line.strip()]
            if file.suffix == ".jsonl"
            else [json.loads(text)]
        )
    except ValueError as error:
        raise InvalidInput(f"{file} is no JSON: {error}.", next_step="Give a model's config.json.") from None
    for one in found:
        if not isinstance(one, Mapping):
            raise InvalidInput(
                f"{file} holds something else than objects.", next_step="Give a model's config.json."
            )
    return found


def _or_unknown(made: Callable[[], T], unknown: list[str]) -> T | None:
    try:
        return made()
    except InvalidInput as error:
        said = f"{error.field}: {error.what}"
        if said not in unknown:
            unknown.append(said)
        return None


def terms_of(geometry: Geometry) -> tuple[Term, ...]:
    """Every number of the config that was used, and everything that was inferred because it was not there."""
    facts = geometry.facts
    return (
        *(Term(name, str(value), "read") for name, value in sorted(facts.read.items())),
        *(Term(name, why, "inferred") for name, why in sorted(facts.inferred.items())),
    )
