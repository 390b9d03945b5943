"""KV blocks as vLLM deals them out: values worked by hand for each kind of layer, and what always holds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from ingest.corpus.errors import InvalidInput
from service.capacity.blocks import CachedLayers, Engine, layout_of, sequences

GPU = Engine()  # blocks of 16 tokens, 2048 in flight
CPU = Engine(block_size=128)
GIB = 2**30

# (layers, engine, tokens, groups, bytes of a block, blocks of one request)
WORKED = {
    # 32 layers × 2 × 32 heads × 128 × 2 bytes × 16 tokens; 8192 / 16
    "MHA": ([CachedLayers("full", 32, 16384)], GPU, 8192, 1, 8 * 2**20, 512),
    "GQA, a block begun is a block taken": ([CachedLayers("full", 32, 4096)], GPU, 8193, 1, 2 * 2**20, 513),
    "MQA": ([CachedLayers("full", 32, 256)], GPU, 1, 1, 131072, 1),
    # one vector of 512 + 64 values in 2 bytes
    "MLA": ([CachedLayers("latent", 61, 1152)], GPU, 8192, 1, 1124352, 512),
    # ceil((4096 - 1 + 2048) / 16) + 1, however long the request
    "one window everywhere": ([CachedLayers("sliding", 32, 4096, 4096)], GPU, 32768, 1, 2 * 2**20, 385),
    "a window longer than the request": ([CachedLayers("sliding", 1, 8, 4096)], GPU, 160, 1, 128, 11),
    # 8192/16 + 6 × (ceil(3071/16) + 1): 52 sliding layers in groups of 10, 8 layers of padding
    "full and sliding": (
        [CachedLayers("full", 10, 8192), CachedLayers("sliding", 52, 8192, 1024)], GPU, 8192, 7, 1310720, 1670
    ),
    # the smaller page of full layers gets blocks of 32: 256 + 5 × (192 + 1)
    "two sizes of heads": (
        [CachedLayers("full", 10, 8192), CachedLayers("sliding", 50, 16384, 1024)],
        GPU, 8192, 6, 2621440, 1221,
    ),
    # 12 is 1.5 × 8: the fewest decide, and 8 layers of a group of 16 are padding
    "half as many again": (
        [CachedLayers("full", 8, 64), CachedLayers("sliding", 12, 64, 32)], GPU, 16, 3, 8 * 1024, 1 + 2 * 2
    ),
    # 13 is less than 1.5 × 12: the most decide
    "not half as many again": (
        [CachedLayers("full", 13, 64), CachedLayers("sliding", 12, 64, 32)], GPU, 16, 2, 13 * 1024, 1 + 2
    ),
    # 2048 + 3 × ceil((8192 + 2048) / 16)
    "full and chunked": (
        [CachedLayers("full", 12, 4096), CachedLayers("chunked", 36, 4096, 8192)], GPU, 32768, 4, 786432, 3968
    ),
    # a state of 1,097,728 bytes makes blocks of 544 tokens; 16 + 3 × 2
    "attention and states": (
        [CachedLayers("full", 12, 2048), CachedLayers("state", 36, state_bytes=1097728)],
        GPU, 8192, 4, 13369344, 22,
    ),
    "the same without prefix caching": (
        [CachedLayers("full", 12, 2048), CachedLayers("state", 36, state_bytes=1097728)],
        replace(GPU, aligned_states=False), 8192, 4, 13369344, 19,
    ),
    # 17 full layers beside 48 states: groups of 17, three layers of padding, 3 more blocks a state
    "a speculative layer": (
        [CachedLayers("full", 17, 2048), CachedLayers("state", 48, state_bytes=1634304)],
        replace(GPU, speculative_tokens=3), 128000, 4, 27852800, 175,
    ),
    # pages of 18,432 and 65,536 bytes: no multiple, no padding, so one group and the window for nothing
    "latent vectors beside windows": (
        [CachedLayers("latent", 4, 1152), CachedLayers("sliding", 2, 4096, 64)],
        GPU, 8192, 1, 4 * 18432 + 2 * 65536, 512,
    ),
    "states alone": ([CachedLayers("state", 64, state_bytes=1000)], GPU, 10**6, 1, 64000, 2),
    "an encoder's input": (
        [CachedLayers("full", 4, 512), CachedLayers("cross", 4, 512, 1500)], GPU, 448, 2, 4 * 8192, 28 + 94
    ),
    "windows charged in full": (
        [CachedLayers("full", 10, 8192), CachedLayers("sliding", 52, 8192, 1024)],
        replace(GPU, hybrid=False), 8192, 1, 62 * 8192 * 16, 512,
    ),
    "on a CPU": (
        [CachedLayers("full", 1, 512), CachedLayers("sliding", 7, 512, 256)], CPU, 4096, 8, 65536, 165
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WORKED)
def test_blocks_worked_by_hand(case: str) -> None:
    layers, engine, tokens, groups, bytes_per_block, blocks = WORKED[case]
    layout = layout_of(layers, engine)
    assert (len(layout.groups), layout.bytes_per_block) == (groups, bytes_per_block)
    assert layout.blocks_for(tokens, engine) == blocks


def test_padding_is_counted() -> None:
    layout = layout_of([CachedLayers("full", 10, 8192), CachedLayers("sliding", 52, 8192, 1024)], GPU)
    assert layout.padding_layers == 8
    assert sum(one.layers for one in layout.groups) == 62


def test_layers_alike_are_one_kind_wherever_they_stand() -> None:
    halves = [CachedLayers("full", 16, 4096), CachedLayers("full", 16, 4096)]
    assert layout_of(halves, GPU) == layout_of([CachedLayers("full", 32, 4096)], GPU)


def test_a_printed_two_may_mean_one_request() -> None:
    layout = layout_of([CachedLayers("full", 32, 4096)], CPU)
    blocks, each = layout.blocks_in(2 * GIB), layout.blocks_for(8192, CPU)
    assert blocks / each == 2.0
    assert sequences(blocks, each) == 1


def test_the_longest_request_that_fits() -> None:
    """As the engine's refusal at start said: 63 of 64 blocks of 128 tokens are 8,064."""
    layout = layout_of([CachedLayers("full", 32, 4096)], CPU)
    assert layout.longest(layout.blocks_in(GIB) - 1, CPU, 16384) == 8064
    assert layout.longest(0, CPU, 16384) == 0


def test_more_tokens_in_flight_cost_every_window() -> None:
    """As seen: from 2,048 to 8,192 tokens in flight one request's need grew from 2.71 to 5.53 GiB."""
    layout = layout_of([CachedLayers("full", 10, 8192), CachedLayers("sliding", 52, 8192, 1024)], CPU)
    need = [
        layout.bytes_per_block * layout.blocks_for(16384, replace(CPU, in_flight_tokens=one)) / GIB
        for one in (2048, 8192)
    ]
    assert [round(one, 2) for one in need] == [2.71, 5.53]


@pytest.mark.parametrize(
    ("layers", "field"),
    [
        ([], "layers"),
        ([CachedLayers("latent", 4, 1152), CachedLayers("chunked", 4, 4096, 64)], "layers"),
    ],
)
def test_what_cannot_be_laid_out_is_refused(layers: list[CachedLayers], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        layout_of(layers, GPU)
    assert caught.value.field == field


def test_a_state_larger_than_a_fixed_page_is_refused() -> None:
    layers = [CachedLayers("full", 16, 1024), CachedLayers("state", 48, state_bytes=1603584)]
    assert layout_of(layers, replace(GPU, block_size=1568), block_fixed=True).groups[0].block_size == 1568
    with pytest.raises(InvalidInput, match="1605632") as caught:
        layout_of(
            [replace(layers[0]), replace(layers[1], state_bytes=1605633)],
            replace(GPU, block_size=1568),
            block_fixed=True,
        )
    assert caught.value.field == "block_size"


@pytest.mark.parametrize("wrong", [{"count": 0}, {"token_bytes": 0}, {"kind": "sliding", "window": 0}])
def test_layers_without_a_size_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        replace(CachedLayers("full", 1, 16), **wrong)  # type: ignore[arg-type]


WINDOWED = some.builds(
    CachedLayers,
    some.sampled_from(["sliding", "chunked"]),
    some.integers(1, 40),
    some.just(4096),
    some.integers(1, 9000),
)
STATES = some.builds(
    CachedLayers, some.just("state"), some.integers(1, 40), state_bytes=some.integers(1, 10**6)
)
FULL = some.builds(
    CachedLayers, some.just("full"), some.integers(1, 80), some.sampled_from([256, 1024, 4096])
)
MODELS = some.tuples(FULL, some.one_of(some.none(), WINDOWED, STATES)).map(
    lambda pair: [one for one in pair if one]
)
ENGINES = some.builds(
    Engine, some.sampled_from([16, 32, 128]), some.integers(1, 16384), some.booleans(), some.integers(0, 5)
)
TOKENS = some.integers(1, 200_000)


@given(MODELS, ENGINES, TOKENS, TOKENS)
@settings(deadline=None)  # machines are shared
def test_a_longer_request_never_takes_less(
    layers: list[CachedLayers], engine: Engine, tokens: int, more: int
) -> None:
    layout = layout_of(layers, engine)
    assert layout.blocks_for(tokens, engine) <= layout.blocks_for(tokens + more, engine)


@given(MODELS, ENGINES, TOKENS)
@settings(deadline=None)  # machines are shared
def test_blocks_hold_at_least_what_the_full_layers_keep(
    layers: list[CachedLayers], engine: Engine, tokens: int
) -> None:
    """Never optimistic: rounding, padding and groups only ever add."""
    layout = layout_of(layers, engine)
    bare = sum(one.token_bytes * one.count for one in layers if one.kind == "full") * tokens
    bare += sum(one.state_bytes * one.count for one in layers)
    assert layout.bytes_per_block * layout.blocks_for(tokens, engine) >= bare


@given(MODELS, ENGINES, some.integers(0, 10**11))
@settings(deadline=None)  # machines are shared
def test_the_blocks_given_out_never_exceed_the_memory(
    layers: list[CachedLayers], engine: Engine, memory: int
) -> None:
    layout = layout_of(layers, engine)
    assert layout.blocks_in(memory) * layout.bytes_per_block <= memory


@given(MODELS, ENGINES, TOKENS, some.integers(0, 50_000))
@settings(deadline=None)  # machines are shared
def test_sequences_that_fit_fit_without_the_null_block(
    layers: list[CachedLayers], engine: Engine, tokens: int, blocks: int
) -> None:
    each = layout_of(layers, engine).blocks_for(tokens, engine)
    fit = sequences(blocks, each)
    assert fit * each <= max(0, blocks - 1) < (fit + 1) * each


@given(MODELS, ENGINES, some.integers(1, 5000))
@settings(deadline=None)  # machines are shared
def test_the_longest_is_the_longest(layers: list[CachedLayers], engine: Engine, blocks: int) -> None:
    layout = layout_of(layers, engine)
    longest = layout.longest(blocks, engine, 300_000)
    assert longest == 0 or layout.blocks_for(longest, engine) <= blocks
    assert longest == 300_000 or layout.blocks_for(longest + 1, engine) > blocks
