from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from ingest.corpus.database import Database
from service.app import create_app
from service.parts import Parts
from service.types import DraftStatement
from tests.fakes import ScriptedGenerator, make_prompting
from tests.world import World, canary, found_company, make_parts, running, running_world

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
QUESTION = f"What is {canary('acme', 'handbook')}?"

REFUSED: dict[str, dict[str, Any]] = {
    "blank": {"question": " \n\t\u3000\u200b\ufeff"},
    "empty": {"question": ""},
    "absent": {},
    "too long": {"question": "a" * 4001},
    "control character": {"question": "a\x1b[31m"},
    "carriage return": {"question": "a\r\nb"},
    "wrong type": {"question": 5},
    "list": {"question": ["a"]},
    "number as text": {"question": "a", "max_citations": "5"},
    "true as a number": {"question": "a", "max_citations": True},
    "fraction": {"question": "a", "max_citations": 3.0},
    "zero citations": {"question": "a", "max_citations": 0},
    "too many citations": {"question": "a", "max_citations": 9},
    "number as truth": {"question": "a", "include_citations": 1},
    "conversation": {"question": "a", "conversation_id": ""},
    "unknown output": {"question": "a", "output": "html"},
    "collections as text": {"question": "a", "collections": "handbook"},
    "collections as numbers": {"question": "a", "collections": [1]},
    "too many collections": {"question": "a", "collections": ["c"] * 101},
    "tenant": {"question": "a", "tenant_id": "globex"},
    "role": {"question": "a", "role": "admin"},
    "groups": {"question": "a", "groups": ["hr"]},
    "user": {"question": "a", "user_id": "ana"},
    "acl": {"question": "a", "acl": ["everyone"]},
    "sampling": {"question": "a", "temperature": 2},
}


def events_of(text: str) -> list[tuple[str, Any]]:
    frames = [frame.split("\n") for frame in text.split("\n\n") if frame]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in frames]


def stream(world: World, question: str, **fields: Any) -> list[tuple[str, Any]]:
    response = world.bob.send(
        "POST", "/v1/ask", json={"question": question, **fields}, headers={"Accept": "text/event-stream"}
    )
    assert response.headers["content-type"].startswith("text/event-stream")
    return events_of(response.text)


def test_what_cannot_be_a_question_is_refused_before_any_work(world: World) -> None:
    for name, body in REFUSED.items():
        response = world.bob.send("POST", "/v1/ask", json=body)
        assert (response.status_code, response.json()["code"]) == (422, "invalid_input"), name
        field = next(iter(set(body) - {"question"}), "question")
        assert response.json()["field"].startswith(field), name
    text = world.root.get("/metrics").text
    assert "citeward_answers_total{" not in text


def test_the_error_names_the_field_and_the_value(world: World) -> None:
    problem = world.bob.send("POST", "/v1/search", json={"query": "a", "top_k": 51}).json()
    assert problem["field"] == "top_k"
    assert "51" in problem["detail"]
    assert "50" in problem["detail"]


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
@pytest.mark.parametrize(("path", "field"), [("/v1/ask", "question"), ("/v1/search", "query")])
@pytest.mark.parametrize("sign", ["word ", "年"], ids=["en", "zh"])
def test_a_question_of_more_tokens_than_can_be_searched_for_is_413_before_any_work(
    world: World, path: str, field: str, accept: str, sign: str
) -> None:
    most = world.parts.embedder.max_tokens
    response = world.bob.send("POST", path, json={field: sign * (most + 1)}, headers={"Accept": accept})
    problem = response.json()
    assert (response.status_code, problem["code"], problem["field"]) == (413, "over_budget", field)
    assert response.headers["content-type"] == "application/problem+json"
    assert f"{most + 1} tokens" in problem["detail"]
    assert f"takes {most}" in problem["why"]
    assert world.bob.get("/v1/answers").json() == []


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_a_question_beyond_the_language_models_window_is_413_before_any_work(
    database: Database, tmp_path: Path, accept: str
) -> None:
    def narrow(parts: Parts) -> Parts:
        settings = replace(parts.settings, context_window=2000, reserved_output=1024)
        return replace(parts, settings=settings, prompting=make_prompting(max_new_tokens=1024))

    with running_world(database, tmp_path, narrow) as world:
        headers = {"Accept": accept}
        response = world.bob.send("POST", "/v1/ask", json={"question": "word " * 500}, headers=headers)
        problem = response.json()
        assert (response.status_code, problem["code"], problem["field"]) == (413, "over_budget", "question")
        over = int(re.findall(r"exceeds the context by (\d+) tokens", problem["detail"])[0])
        assert f"{2000 + over} are needed" in problem["why"]
        assert "holds 2000" in problem["why"]
        assert world.bob.get("/v1/answers").json() == []
        assert world.bob.search("word " * 500) is not None  # searching asks no language model
        assert world.bob.ask("word")["outcome"] in ("answered", "refused")


def test_a_question_of_just_as_many_tokens_is_answered(world: World) -> None:
    assert world.bob.ask("word " * world.parts.embedder.max_tokens)["outcome"] in ("answered", "refused")


def test_an_answer_has_the_agreed_shape(world: World) -> None:
    answer = world.bob.ask(QUESTION)
    assert set(answer) == {
        *("answer_id", "trace_id", "outcome", "answer", "language", "statements", "citations", "refusal"),
        *("generator", "degraded", "usage", "timings_ms", "versions", "finish_reason"),
        *("conversation_id", "understood_as", "disagreements"),
    }
    assert answer["outcome"] == "answered"
    assert "[C1]" in answer["answer"]
    [citation] = answer["citations"]
    assert citation["quote"] in f"The secret word is {canary('acme', 'handbook')}."
    [statement] = answer["statements"]
    assert statement["verdict"]["status"] == "supported"


def test_readers_see_no_scores_and_admins_do(world: World) -> None:
    verdicts = [one.ask(QUESTION)["statements"][0]["verdict"] for one in (world.bob, world.root)]
    assert [one["score"] is None for one in verdicts] == [True, False]
    hits = [one.search(QUESTION)[0] for one in (world.bob, world.root)]
    assert [one["scores"] is None for one in hits] == [True, False]


def test_without_citations_there_are_no_markers_and_no_list(world: World) -> None:
    answer = world.bob.ask(QUESTION, include_citations=False)
    assert answer["outcome"] == "answered"
    assert answer["citations"] == []
    streamed = stream(world, QUESTION, include_citations=False)
    for text in (json.dumps(answer), json.dumps(streamed)):
        assert '"C1"' not in text
        assert "[C1]" not in text


def test_no_more_hits_than_asked_for(world: World) -> None:
    for number in range(6):
        world.put(world.root, "handbook", f"{number}.txt", f"Fact {number} about holidays.")
    assert len(world.bob.search("holidays", top_k=2)) == 2
    assert len(world.bob.search("holidays", top_k=50)) > 2


def test_an_empty_list_of_collections_means_none(world: World) -> None:
    assert world.bob.search(QUESTION, collections=[]) == []
    refused = world.bob.ask(QUESTION, collections=[])
    assert (refused["outcome"], refused["refusal"]["code"]) == ("refused", "no_evidence")
    assert world.bob.ask(QUESTION, collections=None)["outcome"] == "answered"


def test_a_refusal_is_a_200_in_the_language_of_the_question(world: World) -> None:
    refused = world.bob.ask("天气如何？", collections=[])
    assert refused["language"] == "zh"
    assert "文档" in refused["refusal"]["text"]
    assert refused["statements"] == refused["citations"] == []


def test_the_stream_tells_what_the_answer_tells(world: World) -> None:
    events = stream(world, QUESTION)
    names = [name for name, _ in events]
    assert names[:5] == ["progress"] * 4 + ["evidence"]
    assert names[-1] == "done"
    plain, done = world.bob.ask(QUESTION), events[-1][1]
    assert done["statements"] == [data["statement"] for name, data in events if name == "statement"]
    assert [one["text"] for one in plain["statements"]] == [one["text"] for one in done["statements"]]
    assert done["citations"] == [
        one for name, data in events if name == "statement" for one in data["citations"]
    ]


def test_a_refusal_is_streamed_and_the_end_still_has_the_whole_answer(world: World) -> None:
    events = dict(stream(world, QUESTION, collections=[]))
    assert events["refusal"]["code"] == events["done"]["refusal"]["code"] == "no_evidence"


def test_a_stream_is_refused_by_status_before_it_begins(world: World) -> None:
    body = {"question": QUESTION, "collections": ["hr"]}
    response = world.bob.send("POST", "/v1/ask", json=body, headers={"Accept": "text/event-stream"})
    assert (response.status_code, response.headers["content-type"]) == (404, "application/problem+json")


def test_text_and_statements_are_there_whichever_is_asked_for(world: World) -> None:
    text, statements = (world.bob.ask(QUESTION, output=output) for output in ("text", "statements"))
    assert text["answer"] == statements["answer"]
    assert text["statements"] == statements["statements"]
    assert text["statements"]


SAID = DraftStatement(f"The secret word is {canary('acme', 'handbook')}.", ("C1",))


def test_a_crash_in_the_stream_is_its_last_event(database: Database, tmp_path: Path) -> None:
    breaking = ScriptedGenerator(SAID, RuntimeError("zqsecret"))
    parts = replace(make_parts(database, tmp_path), generator=breaking)
    key = found_company(parts, "acme")["bob"]
    with running(parts) as client:
        headers = {"X-API-Key": key, "Accept": "text/event-stream"}
        response = client.post("/v1/ask", json={"question": QUESTION}, headers=headers)
    assert [name for name, _ in events_of(response.text)].count("statement") == 1
    name, problem = events_of(response.text)[-1]
    assert (name, problem["code"], problem["status"]) == ("error", "internal", 500)
    assert "zqsecret" not in response.text


@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
async def test_when_the_client_goes_the_work_ends_and_the_record_says_cancelled(
    database: Database, tmp_path: Path, accept: str
) -> None:
    waiting = anyio.Event()

    async def wait_for_ever() -> None:
        waiting.set()
        await anyio.sleep_forever()

    generator = ScriptedGenerator(SAID, wait_for_ever)
    parts = replace(make_parts(database, tmp_path), generator=generator)
    keys = found_company(parts, "acme")
    app = create_app(parts)
    async with app.router.lifespan_context(app) as state:
        scope = asgi_scope(keys["bob"], accept, dict(state or {}))
        with anyio.fail_after(60):
            await app(scope, leaving_client(json.dumps({"question": QUESTION}).encode(), waiting), drop)
    assert (generator.begun, generator.ended) == (1, 1)
    with running(parts) as client:
        answers = client.get("/v1/answers", headers={"X-API-Key": keys["bob"]}).json()
    assert [one["finish_reason"] for one in answers] == ["cancelled"]


def asgi_scope(key: str, accept: str, state: dict[str, Any]) -> dict[str, Any]:
    headers = {"x-api-key": key, "accept": accept, "content-type": "application/json"}
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": "POST",
        "path": "/v1/ask",
        "raw_path": b"/v1/ask",
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "server": ("test", 80),
        "client": ("198.51.100.7", 1),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "state": state,
    }


def leaving_client(body: bytes, leaves: anyio.Event) -> Any:
    """Sends its body, and goes when it is told to."""
    messages: AsyncIterator[dict[str, Any]] = _messages(body, leaves)
    return messages.__anext__


async def _messages(body: bytes, leaves: anyio.Event) -> AsyncIterator[dict[str, Any]]:
    yield {"type": "http.request", "body": body}
    await leaves.wait()
    yield {"type": "http.disconnect"}


async def drop(_message: Any) -> None:
    """Nobody reads the response."""
