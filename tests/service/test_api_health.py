from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from tests.world import World, canary, running

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
OPERATORS = ("/readyz", "/metrics", "/openapi.json", "/docs")


def test_alive_says_nothing_more(world: World) -> None:
    response = world.client.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "alive"})


def test_from_elsewhere_only_an_admin_sees_how_it_is(world: World) -> None:
    missing = world.client.get("/v1/nothing")
    for path in OPERATORS:
        for response in (world.client.get(path), world.bob.get(path)):
            assert (response.status_code, response.content) == (404, missing.content), path
        assert world.root.get(path).status_code == 200, path


def test_from_this_machine_but_not_through_a_proxy_anybody_does(world: World) -> None:
    with running(world.parts, address="127.0.0.1") as local:
        for path in OPERATORS:
            assert local.get(path).status_code == 200, path
            assert local.get(path, headers={"X-Forwarded-For": "127.0.0.1"}).status_code == 404, path


def test_ready_means_database_schema_and_embedder(world: World) -> None:
    ready = world.root.get("/readyz").json()
    assert ready == {
        "status": "ready",
        "checks": {"embedder": "loaded", "database": "reachable", "schema": "current"},
    }


def test_metrics_count_by_route_template_and_name_nobody(world: World) -> None:
    world.bob.get("/v1/documents/doc_secret")
    world.bob.ask(f"What is {canary('acme', 'handbook')}?")
    world.bob.send("BREW", "/v1/ask")
    text = world.root.get("/metrics").text
    assert 'route="/v1/documents/{document_id}",status="404"' in text
    assert 'citeward_answers_total{code="none",outcome="answered"} 1.0' in text
    assert 'citeward_stage_seconds_count{stage="retrieve"} 1.0' in text
    assert "_created" not in text
    for secret in ("doc_secret", "zqacme", "acme", "bob", "handbook", "BREW"):
        assert secret not in text


def test_every_response_has_an_id_and_safe_headers(world: World) -> None:
    seen = set()
    for response in (
        world.client.get("/healthz", headers={"X-Request-Id": "mine"}),
        world.client.get("/nothing"),
        world.bob.get("/v1/collections"),
    ):
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in response.headers["content-security-policy"]
        seen.add(response.headers["x-request-id"])
    assert len(seen) == 3
    assert "mine" not in seen


def test_a_request_is_one_log_line_without_texts(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    document = world.put(world.root, "handbook", "zqfile.txt", "The zqtext is here.")
    world.bob.ask("Where is the zqtext?", collections=["handbook"])
    response = world.bob.get(f"/v1/documents/{document}/original")
    lines = [json.loads(one.message) for one in caplog.records if one.name == "citeward.requests"]
    last: dict[str, Any] = lines[-1]
    assert last["request_id"] == response.headers["x-request-id"]
    assert (last["user"], last["route"], last["status"]) == (
        "bob",
        "/v1/documents/{document_id}/original",
        200,
    )
    assert "zq" not in caplog.text


def test_a_crash_is_a_problem_without_details(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    def crash() -> None:
        raise RuntimeError("zqsecret")

    world.client.app.add_api_route("/crash", crash)  # type: ignore[attr-defined]
    response = world.client.get("/crash")
    assert (response.status_code, response.json()["code"]) == (500, "internal")
    assert response.headers["x-request-id"] in caplog.text
    assert "zqsecret" not in response.text + caplog.text


def test_a_wrong_method_says_which_are_right(world: World) -> None:
    response = world.root.send("PATCH", "/v1/ask")
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"
    assert response.json()["code"] == "method_not_allowed"


def test_openapi_has_examples_and_the_errors_of_each_route(world: World) -> None:
    described = world.root.get("/openapi.json").json()
    assert described["components"]["schemas"]["AskRequest"]["properties"]["question"]["examples"]
    for path, methods in described["paths"].items():
        for operation in methods.values():
            assert operation["summary"], path
            if path.startswith("/v1"):
                assert "401" in operation["responses"], path
