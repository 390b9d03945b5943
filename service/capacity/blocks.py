"""vLLM's arithmetic of KV blocks: layers to groups of equal pages, a request to blocks, blocks to capacity.

Pure and in whole numbers. Follows vLLM 0.32; what older versions did otherwise is in versions.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ingest.corpus.errors import InvalidInput

Cached = Literal["full", "latent", "sliding", "chunked", "cross", "state"]
EVERY_TOKEN: frozenset[Cached] = frozenset({"full", "latent"})
NULL_BLOCK = 1  # one block of the pool is never given out


def divided(number: int, by: int) -> int:
    """Rounded up."""
    return -(-number // by)


@dataclass(frozen=True, slots=True)
class CachedLayers:
    """`count` layers with caches alike, in bytes on one rank.

    `window`: tokens of a sliding window or a chunk, or the longest input of an encoder.
    """

    kind: Cached
    count: int
    token_bytes: int = 0
    window: int = 0
    state_bytes: int = 0
    heads: int = 0  # on one rank; layers with other heads are of another kind even if they take as much

    def __post_init__(self) -> None:
        size = self.state_bytes if self.kind == "state" else self.token_bytes
        if self.count < 1 or size < 1:
            raise InvalidInput(f"{self.kind} layers need a count and a size above 0.", field="layers")
        if self.kind in ("sliding", "chunked", "cross") and self.window < 1:
            raise InvalidInput(f"{self.kind} layers need a window above 0.", field="window")


@dataclass(frozen=True, slots=True)
class Engine:
    """What of an engine's settings decides over blocks."""

    block_size: int = 16
    in_flight_tokens: int = 2048  # concurrent steps × max_num_batched_tokens
    aligned_states: bool = True  # mamba_cache_mode align, which prefix caching brings
    speculative_tokens: int = 0
    hybrid: bool = True  # False: windows and chunks are charged as full

    @property
    def state_blocks(self) -> int:
        return (2 if self.aligned_states else 1) + self.speculative_tokens


@dataclass(frozen=True, slots=True)
class Group:
    """Layers that share a block table. `padding`: layers of room that none uses."""

    kind: Cached
    layers: int
    block_size: int  # tokens
    window: int = 0
    padding: int = 0

    def blocks(self, tokens: int, engine: Engine) -> int:
        """The most blocks of this group that a request of so many tokens can hold."""
        if self.kind == "state":
            return engine.state_blocks
        if self.kind == "cross":
            return divided(self.window, self.block_size)
        if self.kind == "sliding":
            # One more: the window rarely begins where a block does.
            return divided(min(self.window - 1 + engine.in_flight_tokens, tokens), self.block_size) + 1
        if self.kind == "chunked":
            return divided(min(self.window + engine.in_flight_tokens, tokens), self.block_size)
        return divided(tokens, self.block_size)


@dataclass(frozen=True, slots=True)
class Layout:
    """How a model's caches lie in one pool of equal blocks."""

    groups: tuple[Group, ...]
    bytes_per_block: int

    @property
    def block_size(self) -> int:
        """The smallest of the groups', in tokens: what older versions multiplied by."""
        return min(one.block_size for one in self.groups)

    @property
    def padding_layers(self) -> int:
        return sum(one.padding for one in self.groups)

    def blocks_for(self, tokens: int, engine: Engine) -> int:
        """The most blocks that one request of so many tokens, prompt and output, can hold at once."""
        return sum(one.blocks(tokens, engine) for one in self.groups)

    def blocks_in(self, memory: int) -> int:
        return max(0, memory) // self.bytes_per_block

    def longest(self, blocks: int, engine: Engine, at_most: int) -> int:
        """The longest request, up to `at_most` tokens, that so many blocks hold; 0 if none."""
        low, high = 0, at_most
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.blocks_for(middle, engine) <= blocks else (low, middle - 1)
        return low


def sequences(blocks: int, each: int) -> int:
    """How many requests of `each` blocks fit for certain: a printed 2.00x may mean one."""
    return max(0, blocks - NULL_BLOCK) // each


def layout_of(layers: Iterable[CachedLayers], engine: Engine, *, block_fixed: bool = False) -> Layout:
    """`block_fixed`: the block size is the engine's last word, not what it may grow from.

    :raises InvalidInput: pages that vLLM could not make equal; a state larger than a fixed page.
    """
    alike = _merged(layers)
    if not alike:
        raise InvalidInput("No layer keeps anything.", field="layers")
    if not engine.hybrid:
        alike = _merged(_as_full(one) for one in alike)
    block_size = _grown(alike, engine.block_size, block_fixed)
    if len({_type(one) for one in alike}) == 1:
        group = _one_group(alike, block_size)
        return Layout((group,), sum(_page(one, block_size) * one.count for one in alike))
    page = max(_page(one, block_size) for one in alike)
    if any(one.kind == "latent" and page % _page(one, block_size) for one in alike):
        return _all_charged_in_full(alike, engine)
    size = _group_size([one.count for one in alike])
    groups = [group for one in alike for group in _split(one, block_size, page, size)]
    return Layout(tuple(groups), size * page)


def _all_charged_in_full(alike: Sequence[CachedLayers], engine: Engine) -> Layout:
    """A page of latent vectors can be given no padding: beside windows these are charged in full instead."""
    if any(one.kind not in ("full", "latent", "sliding") for one in alike):
        raise InvalidInput("Pages of latent vectors cannot be made equal to the others.", field="layers")
    return layout_of(alike, replace(engine, hybrid=False))


def _merged(layers: Iterable[CachedLayers]) -> Sequence[CachedLayers]:
    """Those alike put together, in the order in which they came."""
    counts: dict[CachedLayers, int] = {}
    for one in layers:
        alike = replace(one, count=1)
        counts[alike] = counts.get(alike, 0) + one.count
    return [replace(one, count=count) for one, count in counts.items()]


def _as_full(layers: CachedLayers) -> CachedLayers:
    windowed = layers.kind in ("sliding", "chunked")
    return replace(layers, kind="full", window=0) if windowed else layers


def _type(layers: CachedLayers) -> tuple[str, int, int]:
    """Layers of one type need the same number of slots for tokens, and share a group whatever their size."""
    kind = "every" if layers.kind in EVERY_TOKEN else layers.kind
    return kind, layers.window, layers.state_bytes


def _page(layers: CachedLayers, block_size: int) -> int:
    return layers.state_bytes if layers.kind == "state" else layers.token_bytes * block_size


def _grown(layers: Sequence[CachedLayers], block_size: int, fixed: bool) -> int:
    """Where there are states, attention's block grows until one of its pages holds a state."""
    state = max((one.state_bytes for one in layers), default=0)
    tokens = [one.token_bytes for one in layers if one.kind != "state"]
    if not state or not tokens:
        return block_size
    needed = block_size * divided(state, block_size * min(tokens))
    if not fixed:
        return needed
    if max(tokens) * block_size < state:
        raise InvalidInput(
            f"A page of {block_size} tokens holds {max(tokens) * block_size} bytes, a state needs {state}.",
            field="block_size",
        )
    return block_size


def _one_group(layers: Sequence[CachedLayers], block_size: int) -> Group:
    first = layers[0]
    return Group(first.kind, sum(one.count for one in layers), block_size, first.window)


def _group_size(counts: Sequence[int]) -> int:
    """Layers in a group: the fewest of a kind, or the most where that wastes less."""
    fewest, most = min(counts), max(counts)
    return most if most < 1.5 * fewest else fewest


def _split(layers: CachedLayers, block_size: int, page: int, size: int) -> Iterable[Group]:
    """Groups of `size` layers with pages of `page` bytes; a smaller page gets a larger block, or padding."""
    own = _page(layers, block_size)
    tokens = block_size
    if layers.kind != "state" and own < page and page % own == 0:
        tokens *= page // own
    number = divided(layers.count, size)
    for index in range(number):
        held = len(range(index, layers.count, number))
        yield Group(layers.kind, held, tokens, layers.window, size - held)
