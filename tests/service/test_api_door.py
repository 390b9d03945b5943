from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from ingest.corpus import people
from tests.world import World

# What the door does is the same on every database.
pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
INVALID_KEYS = [
    {},
    {"Authorization": "Bearer cw_aaaaaaaaaaaa_" + "A" * 43},
    {"Authorization": "Bearer"},
    {"Authorization": "Bearer eyJhbGciOiJub25lIn0.eyJyb2xlIjoiYWRtaW4ifQ."},
    {"Authorization": "Basic cm9vdDpyb290"},
    {"X-API-Key": ""},
    {"X-API-Key": "x" * 100_000},
    {"X-User": "root", "X-Tenant-Id": "acme", "X-Forwarded-User": "root"},
]


def operations(world: World) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(method, path with its parameters filled in, description) of every route that needs a key."""
    for path, methods in world.client.app.openapi()["paths"].items():  # type: ignore[attr-defined]
        for method, operation in methods.items():
            if "security" in operation:
                filled = path.replace("{version}", "1").replace("{", "").replace("}", "")
                yield method.upper(), filled, operation


def test_every_route_but_health_needs_a_key(world: World) -> None:
    described = world.client.app.openapi()["paths"]  # type: ignore[attr-defined]
    without = {
        path for path, methods in described.items() for one in methods.values() if "security" not in one
    }
    assert without == {"/healthz", "/readyz", "/metrics"}


def test_a_bad_credential_gives_one_401_whatever_the_body(world: World) -> None:
    """One in each of the two shapes that errors have."""
    bodies = set()
    for headers in INVALID_KEYS:
        for method, path, _ in operations(world):
            response = world.client.request(method, path, headers=headers, content=b"{broken")
            assert response.status_code == 401, (method, path)
            assert response.headers["www-authenticate"].startswith("Bearer")
            bodies.add((response.headers["content-type"], response.content))
    for content in (b"", b'{"question": ""}', b"x" * 30_000):
        for path in ("/v1/ask", "/v1/chat/completions"):
            response = world.client.post(path, headers=INVALID_KEYS[0], content=content)
            bodies.add((response.headers["content-type"], response.content))
    assert sorted(kind for kind, _ in bodies) == ["application/json", "application/problem+json"]


def test_an_address_with_a_slash_too_many_is_one_that_is_not_there(world: World) -> None:
    nowhere = world.client.get("/v1/no/such/route")
    assert nowhere.status_code == 404
    for caller in (world.client, world.bob, world.root):
        for path in ("/v1/ask/", "/v1/users/", "/v1/collections/handbook/", "//v1/ask", "/healthz/"):
            for method in ("GET", "POST"):
                send = caller.request if isinstance(caller, TestClient) else caller.send
                response = send(method, path, follow_redirects=False)
                assert (response.status_code, response.content) == (404, nowhere.content), (method, path)


def test_either_header_carries_the_key(world: World) -> None:
    for headers in ({"Authorization": f"bearer {world.bob.key}"}, {"X-API-Key": world.bob.key}):
        assert world.client.get("/v1/collections", headers=headers).status_code == 200


def test_two_credentials_are_none(world: World) -> None:
    both = {"Authorization": f"Bearer {world.bob.key}", "X-API-Key": world.root.key}
    assert world.client.get("/v1/collections", headers=both).status_code == 401


def test_a_key_in_the_address_is_refused_even_beside_a_good_one(world: World) -> None:
    assert world.client.get(f"/v1/collections?key={world.bob.key}").status_code == 401
    assert world.bob.get(f"/v1/collections?key={world.bob.key}").status_code == 401


def test_a_revoked_key_looks_like_an_unknown_one(world: World) -> None:
    unknown = world.client.get("/v1/collections", headers={"X-API-Key": "cw_nothing"})
    with world.parts.database.writing() as session:
        people.revoke_key(session, "acme", world.bob.key.split("_")[1])
    revoked = world.bob.get("/v1/collections")
    assert (revoked.status_code, revoked.content) == (401, unknown.content)


def test_to_readers_admin_routes_do_not_exist_even_with_a_broken_body(world: World) -> None:
    nowhere = world.bob.get("/v1/no/such/route")
    for method, path, operation in operations(world):
        if "404" in operation["responses"] and (method, path) in ADMIN_ACTIONS:
            for content in (b"", b"{broken", b"x" * 30_000):
                response = world.bob.send(method, path, content=content)
                assert (response.status_code, response.content) == (404, nowhere.content), (method, path)


ADMIN_ACTIONS = {
    ("POST", "/v1/users"),
    ("GET", "/v1/users"),
    ("POST", "/v1/groups"),
    ("GET", "/v1/groups"),
} | {
    ("POST", "/v1/collections"),
    ("GET", "/v1/jobs"),
    ("POST", "/v1/collections/collection_id/documents"),
}


@pytest.mark.parametrize("name", ["X-Tenant-Id", "X-User", "X-Forwarded-User", "X-Role"])
def test_headers_that_claim_an_identity_change_nothing(world: World, name: str) -> None:
    plain = world.bob.get("/v1/collections")
    claimed = world.bob.get("/v1/collections?tenant_id=globex&role=admin", headers={name: "globex"})
    assert claimed.json() == plain.json()


AMBIGUOUS = {
    "repeated name": b'{"query": "a", "query": "b"}',
    "repeated name deep inside": b'{"query": "a", "collections": [{"a": 1, "a": 2}]}',
    "not a number": b'{"query": "a", "top_k": NaN}',
    "infinity": b'{"query": "a", "top_k": -Infinity}',
    "not UTF-8": b'{"query": "\xff"}',
    "half a surrogate pair": b'{"query": "\\ud800"}',
    "half a surrogate pair as a name": b'{"query": "a", "\\ud800": 1}',
    "a zero character": b'{"query": "a", "collections": ["a\\u0000b"]}',
    "too deep": b"[" * 10_000,
    "a huge number": b'{"query": "a", "top_k": 1' + b"0" * 5000 + b"}",
    "cut off": b'{"query": "a"',
    "nothing": b"",
    "null": b"null",
    "a list": b'["a"]',
}


def test_json_that_two_readers_could_understand_differently_is_refused(world: World) -> None:
    headers = {"Content-Type": "application/json"}
    for name, body in AMBIGUOUS.items():
        response = world.bob.send("POST", "/v1/search", content=body, headers=headers)
        assert (response.status_code, response.json()["code"]) == (422, "invalid_input"), name
        assert response.headers["content-type"] == "application/problem+json"


def test_unreadable_json_is_the_bodys_fault_and_said_in_plain_words(world: World) -> None:
    headers = {"Content-Type": "application/json"}
    problem = world.bob.send("POST", "/v1/search", content=b"[" * 10_000, headers=headers).json()
    assert problem["field"] == "body"
    assert problem["detail"].endswith("it is nested too deeply.")


def test_a_form_in_the_place_of_json_is_refused_with_the_header_to_send(world: World) -> None:
    response = world.bob.send("POST", "/v1/search", data={"query": "a"})
    assert response.status_code == 422
    assert response.json()["detail"].endswith("without Content-Type: application/json.")


def test_a_body_above_the_limit_is_refused_with_the_limit_named(world: World) -> None:
    body = json.dumps({"query": "x" * 30_000}).encode()
    announced = world.bob.send("POST", "/v1/search", content=body)
    chunked = world.bob.send("POST", "/v1/search", content=iter([body[:9000], body[9000:]]))
    for response in (announced, chunked):
        assert response.status_code == 413
        assert "20,000" in response.json()["detail"]
        assert response.headers["content-type"] == "application/problem+json"


def test_an_upload_above_the_limit_is_refused(world: World) -> None:
    path = "/v1/collections/handbook/documents"
    for size in (250_000, 500_000):  # within and beyond what the door lets in beside the file
        response = world.root.send("POST", path, files={"file": ("big.txt", b"x" * size)})
        assert response.status_code == 413
        assert response.json()["code"] == "too_large"


def test_no_byte_of_an_oversized_body_is_read_when_its_length_is_announced(world: World) -> None:
    def never() -> Iterator[bytes]:
        yield b"x" * 1000
        raise AssertionError("the body was read on")

    headers = {"Content-Length": "1000000000", "Content-Type": "application/json"}
    assert world.bob.send("POST", "/v1/search", content=never(), headers=headers).status_code == 413
