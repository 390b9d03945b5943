"""The room of a real vLLM is the one that we reckon, and its series are those that we read."""

from __future__ import annotations

import pytest

from service.bootstrap import open_self_test
from service.engine.cache import look_at_cache
from service.engine.server import EngineStatus
from tests.vllm_server import MAX_MODEL_LEN, MODEL

pytestmark = pytest.mark.vllm


def test_a_real_engines_blocks_are_as_we_reckon(vllm_server: EngineStatus) -> None:
    seen = look_at_cache(vllm_server.url, MAX_MODEL_LEN, 0.0)
    room = seen.room
    assert room.is_said
    assert (vllm_server.kv_blocks, vllm_server.block_size) == (room.usable + 1, room.attention_block)
    assert room.longest_blocks == -(-MAX_MODEL_LEN // (vllm_server.block_size or 1))
    assert seen.preemptions is not None
    assert seen.used is not None
    assert open_self_test(MODEL)(seen) is None
