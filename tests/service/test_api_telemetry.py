"""Traces of questions over HTTP: what is in them, what is not, and whose part they may be."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode
from sqlalchemy import text

from ingest.corpus.database import Database
from service.answer import answer_question
from service.app import create_app
from service.assemble import AnswerInProgress
from service.parts import Parts
from service.repair import load_repairs
from service.settings import ServiceSettings
from service.spans import question_span
from tests.fakes import ScriptedGenerator, make_prompting
from tests.scripted_engine import MODEL, ROLE, Do, Reply, spoken
from tests.service.test_api_capacity import QUESTION, SAID, WORD, admitting
from tests.service.test_api_questions import asgi_scope, drop, leaving_client
from tests.service.test_repair import ASKED, BOB, RIGHT, WRONG, Drafting
from tests.service.test_repair import parts as parts  # a fixture
from tests.service.test_telemetry import Kept, collecting
from tests.service.test_telemetry import kept as kept  # a fixture
from tests.world import World, found_company, make_parts, running_world

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def told(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def planted(spans: tuple[ReadableSpan, ...], *words: str) -> list[str]:
    """Those of these words, and of the world's, that stand in the spans: in names, values, resources."""
    said = "\n".join(one.to_json() for one in spans)
    return [word for word in (*words, "canary", "zqcrash", "zqengine", "zqtraceparent") if word in said]


# --- what is in a trace ------------------------------------------------------------------------


def test_every_stage_is_a_span_within_the_question(database: Database, tmp_path: Path, kept: Kept) -> None:
    began = time.time_ns()
    with admitting(database, tmp_path, Reply(spoken(SAID)), telemetry=kept.telemetry) as here:
        answer = here.ask().json()
    (root,) = kept.roots()
    stages = [one.name for one in kept.inside(root)]
    assert stages == [
        *("release", "retrieve", "look_up", "rerank", "pack", "sufficiency"),
        *("generate", "repair", "disagreements"),
    ]
    drafting = next(one for one in kept.inside(root) if one.name == "generate")
    assert [one.name for one in kept.inside(drafting)] == ["queue", f"chat {MODEL}", "check"]
    assert (root.kind, root.parent, root.status.status_code) == (SpanKind.SERVER, None, StatusCode.UNSET)
    spans = {one.context.span_id: one for one in kept.spans()}
    assert {one.context.trace_id for one in spans.values()} == {root.context.trace_id}
    for one in spans.values():
        around = spans[one.parent.span_id] if one.parent else None
        assert began <= one.start_time <= one.end_time <= time.time_ns()
        assert around is None or around.start_time <= one.start_time <= one.end_time <= around.end_time
        assert not one.events
    for one in kept.inside(root):
        if one.name in ("retrieve", "look_up", "pack"):
            milliseconds = (one.end_time - one.start_time) / 1e6
            assert milliseconds == pytest.approx(answer["timings_ms"][one.name], abs=1)


def test_the_question_tells_its_ids_its_end_counts_and_versions(
    database: Database, tmp_path: Path, kept: Kept
) -> None:
    with admitting(database, tmp_path, Reply(spoken(SAID)), telemetry=kept.telemetry) as here:
        response = here.ask()
    (root,) = kept.roots()
    answer, attributes = response.json(), told(root)
    versions = {name: attributes.pop(f"citeward.version.{name}") for name in answer["versions"]}
    assert versions == answer["versions"]
    assert attributes.pop("citeward.first_statement_ms") == answer["timings_ms"]["first_statement"]
    assert attributes == {
        "citeward.trace_id": answer["trace_id"],
        "citeward.answer_id": answer["answer_id"],
        "citeward.request_id": response.headers["x-request-id"],
        "gen_ai.conversation.id": answer["conversation_id"],
        "citeward.outcome": "answered",
        "citeward.finish_reason": "stop",
        "citeward.generator": "vllm",
        "citeward.degraded": (),
        "citeward.faults": ("prompt_tokens_differ",),  # the script counts otherwise
        "citeward.repair": "none",
        "citeward.language": "en",
        "citeward.output": "statements",
        "citeward.priority": "interactive",
        "citeward.turns_before": 0,
        "citeward.candidates": 1,
        "citeward.ranked": 1,
        "citeward.evidence": 1,
        "citeward.evidence_tokens": answer["usage"]["evidence_tokens"],
        "citeward.statements_shown": 1,
        "citeward.statements_dropped": 0,
        "citeward.disagreements": 0,
    }


def test_the_models_call_has_the_names_of_the_conventions(
    database: Database, tmp_path: Path, kept: Kept
) -> None:
    with admitting(database, tmp_path, Reply(spoken(SAID)), telemetry=kept.telemetry) as here:
        answer = here.ask().json()
        port = int(here.engine.url.rpartition(":")[2])
        (sent,) = here.engine.asked
    chat = next(one for one in kept.spans() if one.name == f"chat {MODEL}")
    attributes = told(chat)
    first = attributes.pop("gen_ai.response.time_to_first_chunk")
    assert first == pytest.approx(answer["timings_ms"]["ttft"] / 1000)
    assert chat.kind is SpanKind.CLIENT
    assert attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "vllm",
        "gen_ai.conversation.id": answer["conversation_id"],
        "gen_ai.output.type": "json",
        "gen_ai.request.model": MODEL,
        "gen_ai.request.stream": True,
        "gen_ai.request.temperature": sent["temperature"],
        "gen_ai.request.top_p": sent["top_p"],
        "gen_ai.request.frequency_penalty": sent["frequency_penalty"],
        "gen_ai.request.presence_penalty": sent["presence_penalty"],
        "gen_ai.request.seed": sent["seed"],
        "gen_ai.request.max_tokens": sent["max_tokens"],
        "gen_ai.response.model": MODEL,
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "server.address": "127.0.0.1",
        "server.port": port,
    }


def test_a_call_that_was_let_in_for_less_says_for_how_much(
    database: Database, tmp_path: Path, kept: Kept
) -> None:
    reply = Reply(spoken(SAID))
    with admitting(database, tmp_path, reply, queue_seconds=1.5, telemetry=kept.telemetry) as here:
        here.occupy(64 - 10)
        assert here.ask().json()["degraded"] == ["shorter_output"]
        (sent,) = here.engine.asked
    chat = next(one for one in kept.spans() if one.name == f"chat {MODEL}")
    assert told(chat)["gen_ai.request.max_tokens"] == sent["max_tokens"] < ServiceSettings().reserved_output


async def test_a_second_draft_has_a_span_of_its_own(parts: Parts) -> None:
    prompting = replace(make_prompting(), repairs=load_repairs())
    drafting = replace(parts, generator=Drafting([WRONG], [RIGHT]), prompting=prompting)
    ended: list[AnswerInProgress] = []
    async for _ in answer_question(ASKED, BOB, drafting, ended.append):
        pass
    root = question_span(ended[0], "req_1")
    names = [one.name for one in root.children]
    assert names[-4:] == ["generate", "repair", "generate", "disagreements"]
    assert [[inner.name for inner in one.children] for one in root.children if one.children] == [
        ["check"]
    ] * 2
    assert root.attributes["citeward.repair"] == "tried"
    assert root.attributes["citeward.statements_dropped"] == 1


# --- how questions end -------------------------------------------------------------------------


def test_a_refusal_is_no_failure_and_says_its_code(database: Database, tmp_path: Path, kept: Kept) -> None:
    with running_world(database, tmp_path, telemetry=kept.telemetry) as world:
        answer = world.bob.ask("How many moons has Jupiter?")
    (root,) = kept.roots()
    assert answer["outcome"] == told(root)["citeward.outcome"] == "refused"
    assert told(root)["citeward.refusal_code"] == answer["refusal"]["code"]
    assert root.status.status_code is StatusCode.UNSET
    assert "generate" not in {one.name for one in kept.inside(root)}


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_a_failure_is_one_with_its_code(database: Database, tmp_path: Path, kept: Kept, accept: str) -> None:
    breaks, settings = Reply([ROLE, Do.BREAK]), {"on_engine_failure": "error"}
    with admitting(database, tmp_path, breaks, telemetry=kept.telemetry, **settings) as here:
        here.world.bob.send("POST", "/v1/ask", json={"question": QUESTION}, headers={"Accept": accept})
    failed = {one.name: told(one) for one in kept.spans() if one.status.status_code is StatusCode.ERROR}
    assert failed.keys() == {"ask", "generate", f"chat {MODEL}"}
    assert {one["error.type"] for one in failed.values()} == {"model_unavailable"}
    assert failed["ask"]["citeward.outcome"] == failed["ask"]["citeward.finish_reason"] == "error"
    chat = failed[f"chat {MODEL}"]
    assert chat["gen_ai.response.finish_reasons"] == ("error",)
    assert not {"gen_ai.usage.input_tokens", "gen_ai.response.model"} & chat.keys()


def test_where_quoting_takes_over_only_the_call_has_failed(
    database: Database, tmp_path: Path, kept: Kept
) -> None:
    with admitting(database, tmp_path, Reply(spoken("no JSON")), telemetry=kept.telemetry) as here:
        assert here.ask().json()["degraded"] == ["quoting"]
    failed = {one.name: told(one) for one in kept.spans() if one.status.status_code is StatusCode.ERROR}
    assert {name: one["error.type"] for name, one in failed.items()} == {f"chat {MODEL}": "model_bad_output"}
    assert failed[f"chat {MODEL}"]["gen_ai.response.finish_reasons"] == ("error",)
    (root,) = kept.roots()
    assert told(root)["citeward.degraded"] == ("quoting",)
    assert told(root)["citeward.faults"] == ("model_bad_output",)


def test_a_crash_says_its_kind_and_none_of_its_words(database: Database, tmp_path: Path, kept: Kept) -> None:
    crashing = ScriptedGenerator(ValueError(f"zqcrash in {WORD}"))
    with running_world(
        database, tmp_path, lambda parts: replace(parts, generator=crashing), kept.telemetry
    ) as world:
        assert world.bob.send("POST", "/v1/ask", json={"question": QUESTION}).status_code == 500
    (root,) = kept.roots()
    assert told(root)["error.type"] == "ValueError"
    assert root.status.status_code is StatusCode.ERROR
    assert not planted(kept.spans())


async def test_who_leaves_has_a_trace_that_says_so_and_no_error(
    database: Database, tmp_path: Path, kept: Kept
) -> None:
    waiting = anyio.Event()

    async def wait_for_ever() -> None:
        waiting.set()
        await anyio.sleep_forever()

    generator = ScriptedGenerator(wait_for_ever)
    parts = replace(make_parts(database, tmp_path), generator=generator)
    keys = found_company(parts, "acme")
    app = create_app(parts, kept.telemetry)
    async with app.router.lifespan_context(app) as state:
        scope = asgi_scope(keys["bob"], "text/event-stream", dict(state or {}))
        with anyio.fail_after(60):
            await app(scope, leaving_client(json.dumps({"question": QUESTION}).encode(), waiting), drop)
    (root,) = kept.roots()
    assert told(root)["citeward.outcome"] == told(root)["citeward.finish_reason"] == "cancelled"
    assert {one.name for one in kept.spans() if told(one).get("citeward.cancelled")} == {"ask", "generate"}
    assert not [one for one in kept.spans() if one.status.status_code is StatusCode.ERROR]


def test_a_record_that_cannot_be_kept_is_a_failure(database: Database, tmp_path: Path, kept: Kept) -> None:
    with running_world(database, tmp_path, telemetry=kept.telemetry) as world:
        with world.parts.database.writing() as session:
            session.execute(text("ALTER TABLE answers RENAME TO gone"))
        assert world.bob.send("POST", "/v1/ask", json={"question": QUESTION}).status_code == 503
    (root,) = kept.roots()
    assert told(root)["citeward.outcome"] == "error"
    assert root.status.status_code is StatusCode.ERROR


# --- what is not in a trace --------------------------------------------------------------------


def test_no_word_of_question_document_or_answer_and_nobodys_name(
    database: Database, tmp_path: Path, kept: Kept
) -> None:
    """Answered, streamed, refused, repaired in vain, failed, cut off: the engine's own errors quote, too."""
    replies = [
        Reply(spoken(SAID)),
        Reply(spoken(SAID)),
        Reply([json.dumps({"error": {"message": f"zqengine {WORD}", "type": "zqtype"}}).encode()], 400),
        Reply([ROLE, Do.BREAK]),
        Reply(spoken(json.dumps({"answerable": False, "statements": []}))),
    ]
    with admitting(database, tmp_path, *replies, telemetry=kept.telemetry) as here:
        for headers in ({}, {"Accept": "text/event-stream"}, {}, {}, {}):
            body = {"question": f"{QUESTION} zqasked"}
            here.world.bob.send("POST", "/v1/ask", json=body, headers=headers)
        here.world.bob.ask("zqnothing", collections=["handbook"])
        here.world.bob.send("POST", "/v1/ask", json={"question": ["zqinvalid"]})
    assert len(kept.roots()) == len(replies) + 1
    assert not planted(
        kept.spans(), "bob", "acme", "handbook", "secret word", "zqasked", "zqnothing", "zqtype"
    )


# --- whose part it is --------------------------------------------------------------------------


@pytest.mark.parametrize("flags", ["01", "00"])  # who asks does not decide whether it is recorded
def test_the_trace_goes_on_that_of_who_asks(
    database: Database, tmp_path: Path, kept: Kept, flags: str
) -> None:
    with running_world(database, tmp_path, telemetry=kept.telemetry) as world:
        headers = {"traceparent": f"00-{TRACE}-{PARENT}-{flags}", "tracestate": "zqvendor=1"}
        answer = world.bob.send("POST", "/v1/ask", json={"question": QUESTION}, headers=headers).json()
    (root,) = kept.roots()
    assert {f"{one.context.trace_id:032x}" for one in kept.spans()} == {TRACE}
    assert root.parent is not None
    assert f"{root.parent.span_id:016x}" == PARENT
    assert answer["trace_id"] == told(root)["citeward.trace_id"] != TRACE
    assert not planted(kept.spans(), "zqvendor")


MALFORMED = [
    "",
    "zqtraceparent",
    TRACE,
    f"00-{TRACE}-{PARENT}",
    f"00-{'0' * 32}-{PARENT}-01",
    f"00-{TRACE}-{'0' * 16}-01",
    f"ff-{TRACE}-{PARENT}-01",
    f"00-{TRACE.upper()}-{PARENT}-zz",
    f"00-{TRACE}-{PARENT}-01-more",
    f"00-{TRACE}-{PARENT}-01, 00-{TRACE}-{PARENT}-01",
    "0" * 60_000,
]


@pytest.mark.parametrize("header", MALFORMED, ids=range(len(MALFORMED)))
def test_a_malformed_parent_is_none(database: Database, tmp_path: Path, kept: Kept, header: str) -> None:
    with running_world(database, tmp_path, telemetry=kept.telemetry) as world:
        headers = {"traceparent": header}
        response = world.bob.send("POST", "/v1/ask", json={"question": QUESTION}, headers=headers)
        assert response.status_code == 200
    (root,) = kept.roots()
    assert root.parent is None
    assert f"{root.context.trace_id:032x}" != TRACE
    assert not planted(kept.spans())


def test_of_two_parents_none_is_believed(database: Database, tmp_path: Path, kept: Kept) -> None:
    with running_world(database, tmp_path, telemetry=kept.telemetry) as world:
        parents = [
            ("traceparent", f"00-{TRACE}-{PARENT}-01"),
            ("traceparent", f"00-{TRACE[::-1]}-{PARENT}-01"),
        ]
        headers = [("X-API-Key", world.bob.key), *parents]
        assert world.client.post("/v1/ask", json={"question": QUESTION}, headers=headers).status_code == 200
    (root,) = kept.roots()
    assert root.parent is None


def test_who_may_not_ask_leaves_no_trace(database: Database, tmp_path: Path, kept: Kept) -> None:
    headers = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
    with running_world(database, tmp_path, telemetry=kept.telemetry) as world:
        for key in ({}, {"X-API-Key": "cw_nobody"}):
            body = {"question": QUESTION}
            assert world.client.post("/v1/ask", json=body, headers=headers | key).status_code == 401
    assert kept.spans() == ()


# --- the collector -----------------------------------------------------------------------------


@contextmanager
def sending(database: Database, home: Path, endpoint: str) -> Iterator[World]:
    def change(parts: Parts) -> Parts:
        return replace(parts, settings=replace(parts.settings, otlp_endpoint=endpoint))

    with running_world(database, home, change) as world:
        yield world


@pytest.mark.parametrize("path", ["", "/", "/behind/a/path"])
def test_a_collector_hears_of_a_question_over_http(database: Database, tmp_path: Path, path: str) -> None:
    with collecting() as collector, sending(database, tmp_path, collector.url + path) as world:
        answer = world.bob.ask(QUESTION)
        metrics = world.root.get("/metrics").text
    assert {one.path for one in collector.heard} == {f"{path.rstrip('/')}/v1/traces"}
    (resource,) = {one.resource.SerializeToString(): one.resource for one in collector.groups()}.values()
    about = {one.key: one.value.string_value for one in resource.attributes}
    assert about["service.name"] == "citeward"
    spans = collector.spans()
    root = next(one for one in spans if not one.parent_span_id)
    told = {one.key: one.value for one in root.attributes}
    assert root.name == "ask"
    assert told["citeward.trace_id"].string_value == answer["trace_id"]
    assert told["citeward.evidence"].int_value == 1
    assert {one.name for one in spans} >= {"retrieve", "look_up", "rerank", "pack", "generate", "check"}
    assert {one.trace_id for one in spans} == {root.trace_id}
    assert "citeward_spans_dropped_total 0.0" in metrics
    assert WORD not in str(spans)


def test_a_collector_that_is_gone_costs_spans_and_nothing_else(
    database: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with collecting() as collector:
        nobody = collector.url
    began = time.monotonic()
    with sending(database, tmp_path, nobody) as world:
        answers = [world.bob.ask(QUESTION) for _ in range(3)]
    assert [one["outcome"] for one in answers] == ["answered"] * 3
    assert all(WORD in one["answer"] for one in answers)
    assert time.monotonic() - began < 30  # the questions, and the end of the service
    lost = [json.loads(one.message) for one in caplog.records if one.name == "citeward.telemetry"]
    assert [one["event"] for one in lost] == ["spans_dropped"]
    assert not [one for one in caplog.records if one.name.startswith("opentelemetry")]


def test_a_collector_that_takes_for_ever_delays_no_answer(database: Database, tmp_path: Path) -> None:
    with collecting(answers=False) as collector:
        with sending(database, tmp_path, collector.url) as world:
            first = world.bob.ask(QUESTION)
            assert collector.is_asked()  # and keeps the sender waiting
            second = world.bob.ask(QUESTION)
            assert not collector.heard
            collector.let_go()
        assert len({one.trace_id for one in collector.spans()}) == 2
    assert WORD in first["answer"]
    assert first["answer"] == second["answer"]


def test_the_frameworks_own_telemetry_stays_off(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what it refuses it would send the values."""
    with collecting() as collector:
        monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        with running_world(database, tmp_path) as world:
            body = {"question": {"zqinvalid": 1}}
            assert world.bob.send("POST", "/v1/ask", json=body).status_code == 422
    assert collector.heard == []
