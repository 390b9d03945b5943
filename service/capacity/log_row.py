"""A row of logs.jsonl: what an engine printed of its KV cache, and the caches of its layers on one rank."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from ingest.corpus.errors import InvalidInput, NotFound
from service.capacity.blocks import Cached, CachedLayers
from service.capacity.versions import Version, version_of

GIB = 2**30
HALF_A_PRINTED_STEP = 0.005  # GiB: figures are printed with two decimals
KINDS: Mapping[str, Cached] = {
    "full": "full",
    "mla": "latent",
    "latent": "latent",
    "swa": "sliding",
    "sliding": "sliding",
    "sliding_window": "sliding",
    "chunked": "chunked",
    "chunk": "chunked",
    "local": "chunked",
    "cross": "cross",
    "state": "state",
    "mamba": "state",
    "linear": "state",
    "gdn": "state",
}


class Memory(NamedTuple):
    """Bytes for the KV cache: as printed, between the ends of what the printed figure stands for."""

    low: int
    printed: int
    high: int


@dataclass(frozen=True, slots=True)
class LogRow:
    """What is not stated is None. `check`, `plain_…` and other conclusions of a row are not read."""

    id: str
    gpu: str | None = None
    tp: int | None = None
    pp: int | None = None
    vllm_version: str | None = None
    max_model_len: int | None = None
    max_num_batched_tokens: int | None = None
    num_spec_tokens: int | None = None
    available_kv_gib: float | None = None
    available_kv_bytes: int | None = None
    num_blocks: int | None = None
    block_size: int | None = None
    kv_tokens: int | None = None
    max_concurrency: float | None = None
    needed_gib: float | None = None
    estimated_max_model_len: int | None = None
    reporting: str | None = None
    status: str | None = None
    inferred: tuple[str, ...] = ()
    layers: tuple[CachedLayers, ...] = ()
    unreadable: str = ""  # why nothing can be made of the row

    @property
    def memory(self) -> Memory | None:
        if self.available_kv_bytes is not None:
            return Memory(self.available_kv_bytes, self.available_kv_bytes, self.available_kv_bytes)
        if self.available_kv_gib is None:
            return None
        step = HALF_A_PRINTED_STEP
        low, printed, high = (int((self.available_kv_gib + one) * GIB) for one in (-step, 0, step))
        return Memory(max(0, low), printed, high)

    @property
    def version(self) -> Version | None:
        return version_of(self.vllm_version)

    @property
    def gpu_gib(self) -> float | None:
        """Memory of one GPU, where its name says it (`H100 80G`, `2x 16G`)."""
        found = re.search(r"(\d+(?:\.\d+)?) ?Gi?B?\b", self.gpu or "")
        return float(found[1]) if found else None

    @property
    def on_cpu(self) -> bool:
        return (self.gpu or "").upper().startswith("CPU")


def read_log(path: Path) -> Iterator[LogRow]:
    """:raises NotFound: no such file. :raises InvalidInput: no JSONL of such rows; names the line."""
    if not path.is_file():
        raise NotFound(
            f"There is no {path}.", next_step="Give a JSONL file, one row for each engine's start."
        )
    for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
        if line.strip():
            yield _row(line, f"{path.name}:{number}")


def _row(line: str, where: str) -> LogRow:
    try:
        found = json.loads(line)
    except ValueError as error:
        raise InvalidInput(f"{where} is no JSON: {error}.", field=where) from None
    if not isinstance(found, Mapping):
        raise InvalidInput(f"{where} is no object.", field=where)
    name = str(found.get("id") or where)
    try:
        return replace(_stated(found), id=name)
    except InvalidInput as error:
        return LogRow(name, unreadable=error.what)


def _stated(found: Mapping[str, object]) -> LogRow:
    names = {one.name for one in fields(LogRow)} - {"unreadable"}
    plain: dict[str, Any] = {name: found[name] for name in names if found.get(name) is not None}
    for name, value in plain.items():
        _require_kind(name, value)
    plain |= {"id": str(plain.get("id", "")), "inferred": tuple(plain.get("inferred", ()))}
    return LogRow(**{**plain, "layers": tuple(map(_layers, plain.get("layers", ())))})


NUMBERS = {"available_kv_gib", "max_concurrency", "needed_gib"}
TEXTS = {"id", "gpu", "vllm_version", "reporting", "status"}
LISTS = {"inferred", "layers"}


def _require_kind(name: str, value: object) -> None:
    kinds = str if name in TEXTS else list if name in LISTS else (int, float) if name in NUMBERS else int
    negative = isinstance(value, int | float) and not value >= 0  # NaN among them
    if not isinstance(value, kinds) or isinstance(value, bool) or negative:
        raise InvalidInput(f"{name} cannot be {value!r}.", field=name)


def _layers(one: object) -> CachedLayers:
    """`{kind, n, tok}`, and `window` where there is one, of layers that keep tokens; `{kind, n, state}`."""
    if not isinstance(one, Mapping) or one.get("kind") not in KINDS:
        raise InvalidInput(f"What layers {one!r} keep is not known.", field="layers")
    sizes = [one.get(name) or 0 for name in ("n", "tok", "window", "chunk", "state")]
    if any(not isinstance(size, int) or isinstance(size, bool) for size in sizes):
        raise InvalidInput(f"Sizes of layers are whole numbers, were: {one!r}.", field="layers")
    count, token_bytes, window, chunk, state = sizes
    return CachedLayers(KINDS[one["kind"]], count, token_bytes, window or chunk, state)
