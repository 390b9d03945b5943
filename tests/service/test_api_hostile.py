"""Whatever is sent to whichever route, by its own description: an answer or words, never a crash."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.world import Caller, World

IN_PATHS = [
    "%00",
    "a%00b",
    "%ED%A0%80",
    "%FF",
    "%E2%80%8B",
    "%2e%2e%2f",
    quote("手册\u202e"),
    "a" * 5000,
    "%25",
]
IN_FORMS = [
    "",
    "\0",
    "a\0b",
    "\u200b",
    "\u202etxt.exe",
    "a" * 100_000,
    "{",
    "[" * 10_000,
    '{"allow": ["\\ud800"]}',
]
OPENAI = ("/v1/models", "/v1/chat/completions", "/v1/responses")
NO_TEXT = ["\0", "a\0b", "\ud800", "\udfff中", "a\udc00"]  # as JSON escapes: nothing that may be stored
DEPTHS = [50, 300, 600, 800, 900, 950, 980, 1000, 10_000]  # around what Python's stack allows
HUGE = ["1" + "0" * 400, "9" * 4000, "1e400", "-1e999", "0." + "1" * 5000, "1" + "0" * 10_000]
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@dataclass(frozen=True, slots=True)
class Operation:
    """A route that needs a key, as the service describes it."""

    method: str
    path: str
    fields: dict[str, Any]  # of its JSON body, with their schemas; empty where it takes none

    def filled(self, value: str = "nothing") -> str:
        parts = self.path.split("/")
        return "/".join(value if part.startswith("{") else part for part in parts)

    def body_with(self, **changed: Any) -> dict[str, Any]:
        """A body that would do, but for what is changed; it makes nothing that is there already."""
        usual = {
            "question": "a",
            "query": "a",
            "id": "x1",
            "title": "T",
            "name": "n",
            "allow": [],
            "deny": [],
            "release": "answer.v2+default.v1",
            "override": "tried",
            "config": {},
            "gpu": "h100-80gb",
            "model": "citeward",
            "messages": [{"role": "user", "content": "a"}],
            "input": "a",
        }
        return {name: value for name, value in usual.items() if name in self.fields} | changed


def operations(world: World) -> Iterator[Operation]:
    described = world.client.app.openapi()  # type: ignore[attr-defined]
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            if "security" in operation:
                yield Operation(
                    method.upper(), path, fields_of(operation, described["components"]["schemas"])
                )


def fields_of(operation: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
    fields: dict[str, Any] = schemas[name]["properties"] if name else {}
    return fields


def with_bodies(world: World) -> list[Operation]:
    found = [one for one in operations(world) if one.fields]
    assert len(found) >= 8  # else the description has changed its form and nothing below is tried
    return found


def send(caller: Caller, operation: Operation, body: str | bytes, path: str | None = None) -> httpx2.Response:
    content = body if isinstance(body, bytes) else body.encode()
    headers = {"Content-Type": "application/json"}
    return caller.send(operation.method, path or operation.filled(), content=content, headers=headers)


def require_words(response: httpx2.Response, sent: object, *, refused: bool = False) -> None:
    shown = repr(sent)[:200]
    assert response.status_code < 500, shown
    if refused:
        assert response.status_code >= 400, shown
    if response.status_code >= 400:
        assert words_of(response), shown
        assert len(response.content) < 3000, shown


def words_of(response: httpx2.Response) -> tuple[str, str | None]:
    """What an error says, and of which field; in OpenAI's shape on the routes of its clients alone."""
    told, kind = response.json(), response.headers["content-type"]
    if response.request.url.path.startswith(OPENAI):
        assert kind == "application/json"
        assert told.keys() == {"error"}
        error = told["error"]
        assert error.keys() == {"message", "type", "param", "code"}
        assert error["message"]
        return error["message"], error["param"]
    assert kind == "application/problem+json"
    assert told["status"] == response.status_code
    assert told["detail"]
    return told["detail"], told.get("field")


def test_no_id_in_an_address_breaks_a_route(world: World) -> None:
    for operation in operations(world):
        for value in IN_PATHS if "{" in operation.path else ():
            path = operation.filled(value)
            response = send(world.root, operation, json.dumps(operation.body_with()), path)
            require_words(response, (operation, value), refused="GET" in operation.method)


def test_no_query_breaks_a_route(world: World) -> None:
    for operation in operations(world):
        for query in (
            "limit=%00",
            "after=%ED%A0%80",
            "wait=%FF",
            "limit=" + "9" * 5000,
            "%00=%00",
            "&=&",
            "after=%00",
        ):
            response = send(world.root, operation, "{", f"{operation.filled()}?{query}")
            require_words(response, (operation, query))


def test_what_is_no_text_is_refused_in_every_field_and_as_a_name(world: World) -> None:
    for operation in with_bodies(world):
        for value in NO_TEXT:
            for name in operation.fields:
                for sent in (value, [value], {value: 1}):
                    body = json.dumps(operation.body_with(**{name: sent}))
                    require_words(send(world.root, operation, body), (operation, name, sent), refused=True)
            body = json.dumps(operation.body_with(**{value: "a"}))
            require_words(send(world.root, operation, body), (operation, value), refused=True)


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_an_unknown_field_is_refused_everywhere(world: World) -> None:
    for operation in with_bodies(world):
        response = send(world.root, operation, json.dumps(operation.body_with(surprise=1)))
        assert response.status_code == 422, operation
        assert "surprise" in str(words_of(response)[1])


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_numbers_without_measure_and_nesting_without_end_are_refused_everywhere(world: World) -> None:
    for operation in with_bodies(world):
        for raw in [
            *HUGE,
            *("[" * depth + "]" * depth for depth in DEPTHS),
            *('{"a":' * d + "1" + "}" * d for d in DEPTHS),
        ]:
            require_words(send(world.root, operation, raw), (operation, raw[:20], len(raw)), refused=True)
            for name in operation.fields:
                rest = {key: value for key, value in operation.body_with().items() if key != name}
                body = f'{json.dumps(rest)[:-1]}{", " if rest else ""}"{name}": {raw}}}'
                response = send(world.root, operation, body)
                require_words(response, (operation, name, raw[:20], len(raw)), refused=True)


def test_no_form_breaks_the_upload(world: World) -> None:
    path = "/v1/collections/handbook/documents"
    for value in IN_FORMS:
        for field in ("name", "access", "wait", value[:40]):
            response = world.root.send("POST", path, files={"file": ("a.txt", b"words")}, data={field: value})
            require_words(response, (field, value[:20]))
        response = world.root.send("POST", path, files={"file": (value[:40] or "x", b"words")})
        require_words(response, value[:20])
    for name in (b"\xff\xfe", b"\xed\xa0\x80", b"\x00"):
        head = (
            b'--x\r\nContent-Disposition: form-data; name="file"; filename="'
            + name
            + b'"\r\n\r\nwords\r\n--x--\r\n'
        )
        headers = {"Content-Type": "multipart/form-data; boundary=x"}
        require_words(world.root.send("POST", path, content=head, headers=headers), name)


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_no_json_breaks_a_route(world: World) -> None:
    takers = with_bodies(world)

    @settings(max_examples=300, deadline=None, database=None, derandomize=True)
    @given(st.sampled_from(takers), st.data())
    def attack(operation: Operation, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from([*operation.fields, "other"]))
        body = json.dumps(operation.body_with(**{name: data.draw(JSON_VALUES)}))
        require_words(send(world.root, operation, body), body)
        require_words(send(world.root, operation, data.draw(st.binary(max_size=40))), body)

    attack()
