"""What is known of an engine's room, and when it must be looked at again."""

from __future__ import annotations

from service.capacity.engine_room import EngineRoom
from service.capacity.room import Room
from service.engine.cache import CacheSeen

ROOM = Room(64, 8192, 64, 128, 0.0)


def test_a_look_settles_the_doubts_that_it_began_with() -> None:
    room = EngineRoom(lambda: CacheSeen(ROOM), 8192)
    assert room.is_doubted
    room.see()
    assert not room.is_doubted
    room.doubt()
    assert room.is_doubted


def test_a_doubt_raised_during_a_look_outlives_it() -> None:
    """What that look brings may be of the engine before."""

    def breaks_off_meanwhile() -> CacheSeen:
        room.doubt()
        return CacheSeen(ROOM)

    room = EngineRoom(breaks_off_meanwhile, 8192)
    room.see()
    assert room.is_doubted
    assert room.last == ROOM
