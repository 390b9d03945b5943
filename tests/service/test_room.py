"""What an engine says of its KV cache, as blocks that may be reserved."""

from __future__ import annotations

import pytest

from ingest.corpus.errors import OverBudget
from service.capacity.hold import Size
from service.capacity.room import Room, one_at_a_time, room_of

# What real servers said: blocks, block, longest sequence, printed concurrency, blocks of the longest.
SAID = {
    "one kind of layers": (364, 128, 4096, 364 / 32, 32),
    "windows and one full layer": (400, 128, 4096, 400 / 165, 165),
    "states beside attention": (77, 1152, 32768, 77 / 36, 36),
}


def labels(blocks: int, block: int, at_once: float) -> dict[str, str]:
    return {
        "num_gpu_blocks": str(blocks),
        "effective_attention_block_size": str(block),
        "kv_cache_max_concurrency": str(at_once),
    }


@pytest.mark.parametrize(("blocks", "block", "longest", "at_once", "most"), SAID.values(), ids=SAID.keys())
def test_the_blocks_of_the_longest_sequence_follow_from_what_the_engine_says(
    blocks: int, block: int, longest: int, at_once: float, most: int
) -> None:
    room = room_of(labels(blocks, block, at_once), longest, 0.0)
    assert (room.usable, room.longest_blocks, room.is_said) == (blocks - 1, most, True)
    assert room.blocks(longest) == most


def test_with_one_kind_of_layers_a_sequence_takes_its_blocks_rounded_up() -> None:
    room = room_of(labels(33, 128, 33 / 16), 2048, 0.0)
    assert [room.blocks(tokens) for tokens in (1, 128, 129, 550, 2048)] == [1, 1, 2, 5, 16]
    assert room.usable // room.blocks(550) == 6


def test_other_layers_take_of_a_short_sequence_what_they_take_of_the_longest() -> None:
    """Seven groups of windows and a full one: each window takes 19 blocks at most, here of any sequence."""
    room = room_of(labels(400, 128, 400 / 165), 4096, 0.0)
    assert room.blocks(3600) == 29 + 165 - 32
    assert room.blocks(1) == 1 + 165 - 32


def test_a_printed_two_can_mean_one_for_certain() -> None:
    room = room_of(labels(128, 128, 2.0), 8192, 0.0)
    assert room.longest_at_once == 1


def test_headroom_is_never_reserved_but_one_sequence_may_have_what_it_takes() -> None:
    assert Room(32, 2048, 16, 128, 0.05).reservable == 30
    assert Room(16, 2048, 16, 128, 0.5).reservable == 16


def test_a_judgement_beside_a_draft_takes_blocks_of_its_own() -> None:
    """Not those of one sequence as long as both: each has an unfilled block, and each its windows."""
    room = room_of(labels(33, 128, 33 / 16), 2048, 0.0)
    assert Size(100, 29).blocks(room) == 2
    assert Size(100, 29, beside=129).blocks(room) == 4
    windows = room_of(labels(400, 128, 400 / 165), 4096, 0.0)
    assert Size(100, 29, beside=129).blocks(windows) == 2 * windows.blocks(129)


def test_a_draft_that_takes_all_there_is_is_let_in_although_it_is_judged() -> None:
    for room in (Room(16, 2048, 16, 128, 0.0), one_at_a_time(2048)):
        assert room.holds(2048)
        assert Size(1024, 1024, beside=2064).blocks(room) == room.reservable


def test_layers_whose_block_is_not_said_are_charged_as_in_the_longest_sequence() -> None:
    said = labels(400, 128, 400 / 165) | {"effective_attention_block_size": "None"}
    assert room_of(said, 4096, 0.0).blocks(1) == 165


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"num_gpu_blocks": "400"},
        {"num_gpu_blocks": "1", "kv_cache_max_concurrency": "1.0"},
        {"num_gpu_blocks": "400", "kv_cache_max_concurrency": "nan"},
        {"num_gpu_blocks": "400", "kv_cache_max_concurrency": "0"},
        {"num_gpu_blocks": "9" * 5000, "kv_cache_max_concurrency": "inf"},
    ],
    ids=str,
)
def test_an_engine_that_says_too_little_has_room_for_one(said: dict[str, str]) -> None:
    room = room_of(said, 4096, 0.1)
    assert room == one_at_a_time(4096)
    assert (room.reservable, room.blocks(1), room.blocks(4096), room.is_said) == (1, 1, 1, False)


@pytest.mark.parametrize(
    ("room", "answer"), [(Room(32, 2048, 16, 128, 0.0), 1049), (Room(8, 2048, 16, 128, 0.0), 25)]
)
def test_what_can_never_be_held_is_refused_with_its_numbers(room: Room, answer: int) -> None:
    room.require_holding(1000, answer - 1)
    with pytest.raises(OverBudget) as refused:
        room.require_holding(1000, answer)
    told = str(refused.value)
    for number in (1000 + answer, 1000, answer, 2048, room.blocks(1000 + answer), room.reservable):
        assert f"{number} " in told or f"{number}." in told
