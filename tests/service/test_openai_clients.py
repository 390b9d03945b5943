"""The clients that people have: OpenAI's own and LangChain's, as they are, against the running service.

They are imported by the tests themselves: each takes seconds, which no other test is to wait for.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from ingest.corpus.database import Database
from service.parts import Parts
from service.types import DraftStatement
from tests.fakes import ScriptedGenerator
from tests.service.test_api_engine import QUESTION, SAID, WORD
from tests.serving import serving
from tests.world import World, found_company, make_parts, running_world

BASE = "http://testserver/v1"
COST, SOLD = "And what do they cost?", "Where are parking permits sold?"
OUTSIDE = "Which vaccinations are recommended?"


def openai_client(world: World, **fields: Any) -> Any:
    import openai  # see above

    given = {"api_key": world.bob.key, "base_url": BASE, "http_client": world.client, "max_retries": 0}
    return openai.OpenAI(**(given | fields))


def test_openais_own_client_lists_asks_streams_and_asks_on(lasting_world: World) -> None:
    client = openai_client(lasting_world)
    assert [one.id for one in client.models.list()] == ["citeward", "citeward/handbook"]
    assert client.models.retrieve("citeward/handbook").name == "handbook of acme"
    first: list[Any] = [{"role": "user", "content": QUESTION}]
    whole = client.chat.completions.create(model="citeward", messages=first)
    message = whole.choices[0].message
    [cited] = [one.url_citation for one in message.annotations]
    assert message.content[cited.start_index : cited.end_index] == "[C1]"
    assert (whole.citations[0]["url"], whole.citeward["outcome"]) == (cited.url, "answered")
    stream = {"stream_options": {"include_usage": True}}
    with client.chat.completions.stream(model="citeward", messages=first, **stream) as events:
        made = events.get_final_completion()
    assert made.choices[0].message.content == message.content
    assert [one.url_citation for one in made.choices[0].message.annotations] == [cited]
    assert made.usage == whole.usage
    again = [*first, message, {"role": "user", "content": "And what is it for?"}]  # as it came
    assert client.chat.completions.create(model="citeward", messages=again).citeward["understood_as"]
    refused = client.chat.completions.create(
        model="citeward", messages=[{"role": "user", "content": OUTSIDE}]
    )
    assert refused.choices[0].message.refusal


def test_openais_own_client_knows_responses(lasting_world: World) -> None:
    client = openai_client(lasting_world)
    first = client.responses.create(model="citeward/handbook", input=QUESTION)
    [cited] = first.output[0].content[0].annotations
    assert (first.output_text[cited.start_index : cited.end_index], first.status) == ("[C1]", "completed")
    with client.responses.stream(model="citeward/handbook", input=QUESTION) as events:
        kinds = [one.type for one in events]
        made = events.get_final_response()
    assert (made.output_text, made.output[0].content[0].annotations) == (first.output_text, [cited])
    assert kinds.count("response.output_text.annotation.added") == 1
    for history in (
        {"input": "And what is it for?", "previous_response_id": first.id},
        {
            "input": [
                {"role": "user", "content": QUESTION},
                *first.output,
                {"role": "user", "content": "And?"},
            ]
        },
    ):
        assert client.responses.create(model="citeward", **history).citeward["understood_as"]


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_openais_own_client_raises_what_it_should(database: Database, tmp_path: Path) -> None:
    import openai  # see above

    def breaking(parts: Parts) -> Parts:
        return replace(parts, generator=ScriptedGenerator(DraftStatement(SAID, ("C1",)), RuntimeError("x")))

    asked: list[Any] = [{"role": "user", "content": QUESTION}]
    with running_world(database, tmp_path, breaking) as world:
        client = openai_client(world)
        for expected, call in (
            (openai.NotFoundError, {"model": "citeward/hr"}),
            (openai.UnprocessableEntityError, {"n": 2}),
            (openai.InternalServerError, {}),
        ):
            with pytest.raises(expected) as raised:
                client.chat.completions.create(**({"model": "citeward", "messages": asked} | call))
            assert raised.value.code
        assert raised.value.type == "server_error"
        with pytest.raises(openai.AuthenticationError):
            openai_client(world, api_key="cw_nothing").models.list()
        chunks = client.chat.completions.create(model="citeward", messages=asked, stream=True)
        with pytest.raises(openai.APIError, match="Something went wrong") as broken:
            list(chunks)
        assert broken.value.code == "internal"
        events = list(client.responses.create(model="citeward", input=QUESTION, stream=True))
        assert [one.type for one in events[-2:]] == ["error", "response.failed"]


@contextmanager
def stopping_service(database: Database, home: Path) -> Iterator[tuple[str, str, threading.Event]]:
    """Address, key, and what lets the second statement be drafted: until then there is but one."""
    go_on = threading.Event()

    async def wait() -> None:
        while not go_on.is_set():
            await anyio.sleep(0.01)

    script = (DraftStatement(SAID, ("C1",)), wait, DraftStatement(f"{WORD} is the secret word.", ("C1",)))
    parts = replace(make_parts(database, home), generator=ScriptedGenerator(*script))
    key = found_company(parts, "acme")["bob"]
    with serving(parts) as port:
        try:
            yield f"http://127.0.0.1:{port}/v1", key, go_on
        finally:
            go_on.set()


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_over_a_real_connection_a_statement_comes_while_the_next_is_not_there_yet(
    database: Database, tmp_path: Path
) -> None:
    import openai  # see above

    with (
        stopping_service(database, tmp_path) as (url, key, go_on),
        openai.OpenAI(api_key=key, base_url=url, timeout=60, max_retries=0) as client,
    ):
        for path in ("chat", "responses"):
            go_on.clear()
            said = []
            for piece in texts_of(client, path):
                said.append(piece)
                go_on.set()  # if it came only now, the first piece would have waited for ever
            assert "".join(said).startswith(SAID[:-1])
            assert len(said) == 2


def texts_of(client: Any, path: str) -> Iterator[str]:
    if path == "chat":
        messages = [{"role": "user", "content": QUESTION}]
        for chunk in client.chat.completions.create(model="citeward", messages=messages, stream=True):
            if chunk.choices[0].delta.content:
                yield chunk.choices[0].delta.content
        return
    for event in client.responses.create(model="citeward", input=QUESTION, stream=True):
        if event.type == "response.output_text.delta":
            yield event.delta


def test_langchain_asks_streams_and_asks_on(lasting_world: World) -> None:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage  # see above
    from langchain_openai import ChatOpenAI  # see above

    given: dict[str, Any] = {"model": "citeward", "base_url": BASE, "http_client": lasting_world.client}
    given |= {"api_key": lasting_world.bob.key, "max_retries": 0, "temperature": 0, "stream_usage": True}
    chat, responses = ChatOpenAI(**given), ChatOpenAI(**given, use_responses_api=True)
    first = [SystemMessage("Answer in verse."), HumanMessage(QUESTION)]
    whole = chat.invoke(first)
    assert f"{SAID[:-1]} [C1]." == whole.content
    assert whole.response_metadata["finish_reason"] == "stop"
    assert whole.response_metadata["system_fingerprint"].startswith("fp_")
    assert whole.usage_metadata is not None
    assert "".join(str(one.content) for one in chat.stream(first)) == whole.content
    again = chat.invoke([*first, whole, HumanMessage("And what is it for?")])
    assert isinstance(again, AIMessage)
    [block] = responses.invoke(first).content
    assert block["text"] == whole.content
    [cited] = block["annotations"]
    assert block["text"][cited["start_index"] : cited["end_index"]] == "[C1]"
    streamed = [one for one in responses.stream(first) if one.content]
    texts = [block.get("text", "") for one in streamed for block in one.content]
    assert "".join(texts) == whole.content
    cited_in = [each for one in streamed for block in one.content for each in block.get("annotations", [])]
    assert [each["url"] for each in cited_in] == [cited["url"]]
    answer = responses.invoke(first)
    assert responses.invoke([*first, answer, HumanMessage("And what is it for?")]).content
