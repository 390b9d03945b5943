"""What of an answer readers get and what only admins get, on every way out."""

from __future__ import annotations

import json
import re

import pytest

from tests.world import Caller, World, canary

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
QUESTION = f"What is {canary('acme', 'handbook')}?"


def generation_shown(caller: Caller) -> str:
    """The index generation of an answer: the same at once, in a stream, and out of the store."""
    at_once = caller.ask(QUESTION)
    stored = caller.get(f"/v1/answers/{at_once['answer_id']}").json()["answer"]
    asked, headers = {"question": QUESTION}, {"Accept": "text/event-stream"}
    stream = caller.send("POST", "/v1/ask", json=asked, headers=headers).text
    done = json.loads(stream.rpartition("data: ")[2])
    [shown] = {one["versions"]["index_generation"] for one in (at_once, stored, done)}
    return shown


def test_readers_are_not_told_how_much_happens_in_the_company_and_admins_are(world: World) -> None:
    before, number = generation_shown(world.bob), generation_shown(world.root)
    assert re.fullmatch("[0-9a-f]{16}", before)
    assert re.fullmatch(r"handbook=\d+, hr=\d+", number)
    world.put(world.root, "hr", "new.txt", "A document that bob may not read.")
    assert (generation_shown(world.bob), generation_shown(world.root) != number) == (before, True)
    world.put(world.root, "handbook", "new.txt", "A document that bob may read.")
    assert generation_shown(world.bob) != before
