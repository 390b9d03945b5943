"""One question by each way that leads to an answer, each read back to the answer in our words."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from tests.world import Caller


@dataclass(frozen=True, slots=True)
class Told:
    """What a client was told, whichever way he asked."""

    status: int  # of the response; of an error in a stream, 200
    error: str | None  # its code
    answer: dict[str, Any] | None  # as /v1/ask has it; None: there is none
    text: str  # what the client shows
    passed: int  # statements that were sent one by one; 0 where nothing is streamed
    whole: str  # all of it


Way = Callable[[Caller, str, str | None], Told]


def chunks_of(text: str) -> list[Any]:
    """The data of a stream of chat completions; "[DONE]" as it is written."""
    frames = [frame.removeprefix("data: ") for frame in text.split("\n\n") if frame]
    return [frame if frame == "[DONE]" else json.loads(frame) for frame in frames]


def events_of(text: str) -> list[dict[str, Any]]:
    """The events of a response, each under the name that it has itself."""
    found = []
    for frame in text.split("\n\n"):
        name, _, data = frame.partition("\n")
        if frame:
            found.append(json.loads(data.removeprefix("data: ")))
            assert name == f"event: {found[-1]['type']}"
    assert [one["sequence_number"] for one in found] == list(range(len(found)))
    return found


def model_of(collection: str | None) -> str:
    return "citeward" if collection is None else f"citeward/{collection}"


def post(caller: Caller, path: str, body: Mapping[str, Any], **headers: str) -> httpx2.Response:
    return caller.send("POST", path, json=body, headers=headers)


def chat_body(question: str, collection: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"model": model_of(collection), "messages": [{"role": "user", "content": question}], **fields}


def response_body(question: str, collection: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"model": model_of(collection), "input": question, **fields}


def by_ask(caller: Caller, question: str, collection: str | None) -> Told:
    response = post(caller, "/v1/ask", _ask_body(question, collection))
    body = response.json()
    if response.status_code != 200:
        return Told(response.status_code, body["code"], None, "", 0, response.text)
    return Told(200, None, body, _shown(body), 0, response.text)


def by_ask_streamed(caller: Caller, question: str, collection: str | None) -> Told:
    response = post(caller, "/v1/ask", _ask_body(question, collection), Accept="text/event-stream")
    if response.status_code != 200:
        return Told(response.status_code, response.json()["code"], None, "", 0, response.text)
    frames = [frame.split("\n") for frame in response.text.split("\n\n") if frame]
    events = [(name.removeprefix("event: "), json.loads(data[6:])) for name, data in frames]
    passed = [name for name, _ in events].count("statement")
    name, last = events[-1]
    if name == "error":
        return Told(200, last["code"], None, "", passed, response.text)
    return Told(200, None, last, _shown(last), passed, response.text)


def by_chat(caller: Caller, question: str, collection: str | None) -> Told:
    response = post(caller, "/v1/chat/completions", chat_body(question, collection))
    body = response.json()
    if response.status_code != 200:
        return Told(response.status_code, body["error"]["code"], None, "", 0, response.text)
    assert body["citations"] == body["citeward"]["citations"]
    return Told(200, None, body["citeward"], body["choices"][0]["message"]["content"], 0, response.text)


def by_chat_streamed(caller: Caller, question: str, collection: str | None) -> Told:
    response = post(caller, "/v1/chat/completions", chat_body(question, collection, stream=True))
    if response.status_code != 200:
        return Told(response.status_code, response.json()["error"]["code"], None, "", 0, response.text)
    chunks = chunks_of(response.text)
    deltas = [one["choices"][0]["delta"] for one in chunks if "choices" in one]
    text = "".join(one.get("content", "") for one in deltas)
    passed = sum("annotations" in one for one in deltas)
    if "error" in chunks[-1]:
        return Told(200, chunks[-1]["error"]["code"], None, text, passed, response.text)
    assert chunks[-1] == "[DONE]"
    assert chunks[-2]["citations"] == chunks[-2]["citeward"]["citations"]
    return Told(200, None, chunks[-2]["citeward"], text, passed, response.text)


def by_response(caller: Caller, question: str, collection: str | None) -> Told:
    response = post(caller, "/v1/responses", response_body(question, collection))
    body = response.json()
    if response.status_code != 200:
        return Told(response.status_code, body["error"]["code"], None, "", 0, response.text)
    assert body["citations"] == body["citeward"]["citations"]
    return Told(200, None, body["citeward"], body["output"][0]["content"][0]["text"], 0, response.text)


def by_response_streamed(caller: Caller, question: str, collection: str | None) -> Told:
    response = post(caller, "/v1/responses", response_body(question, collection, stream=True))
    if response.status_code != 200:
        return Told(response.status_code, response.json()["error"]["code"], None, "", 0, response.text)
    events = events_of(response.text)
    deltas = [one["delta"] for one in events if one["type"] == "response.output_text.delta"]
    last = events[-1]
    if last["type"] == "response.failed":
        assert events[-2]["type"] == "error"
        assert last["response"]["error"]["code"] == events[-2]["code"]
        return Told(200, events[-2]["code"], None, "".join(deltas), len(deltas), response.text)
    [part] = [one["part"] for one in events if one["type"] == "response.content_part.done"]
    assert last["response"]["output"][0]["content"] == [part]
    answer = last["response"]["citeward"]
    passed = 0 if answer["outcome"] == "refused" else len(deltas)
    return Told(200, None, answer, "".join(deltas), passed, response.text)


WAYS: dict[str, Way] = {
    "ask": by_ask,
    "ask, streamed": by_ask_streamed,
    "chat": by_chat,
    "chat, streamed": by_chat_streamed,
    "responses": by_response,
    "responses, streamed": by_response_streamed,
}


def _ask_body(question: str, collection: str | None) -> dict[str, Any]:
    return {"question": question} | ({} if collection is None else {"collections": [collection]})


def _shown(answer: Mapping[str, Any]) -> str:
    return str(answer["refusal"]["text"] if answer["refusal"] else answer["answer"])
