"""What of an answer readers get and what only admins get, on every way out."""

from __future__ import annotations

import json
import re

import pytest

from tests.world import Caller, World, canary

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
QUESTION = f"What is {canary('acme', 'handbook')}?"


def generation_shown(caller: Caller) -> str | None:
    """The index generation of an answer: the same at once, in a stream, and out of the store."""
    at_once = caller.ask(QUESTION)
    stored = caller.get(f"/v1/answers/{at_once['answer_id']}").json()["answer"]
    asked, headers = {"question": QUESTION}, {"Accept": "text/event-stream"}
    stream = caller.send("POST", "/v1/ask", json=asked, headers=headers).text
    done = json.loads(stream.rpartition("data: ")[2])
    [shown] = {one["versions"].get("index_generation") for one in (at_once, stored, done)}
    return shown


def test_readers_are_not_told_how_much_happens_in_the_company_and_admins_are(world: World) -> None:
    before = generation_shown(world.root)
    assert before is not None
    assert re.fullmatch(r"handbook=\d+, hr=\d+", before)
    world.put(world.root, "hr", "new.txt", "A document that bob may not read.")
    assert generation_shown(world.root) not in (None, before)
    assert generation_shown(world.bob) is None
