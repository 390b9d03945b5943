"""The language model behind HTTP, over a real server that says what it is told and breaks wherever it can."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace

import pytest
from anyio import create_task_group, to_thread

from ingest.corpus.errors import ModelBadOutput, ModelFailed, ModelTimeout, ModelUnavailable
from service.adapters import vllm
from service.adapters.vllm import VllmGenerator
from service.drafting import MOST_STATEMENTS
from service.engine.chat import Deadlines
from service.fallback import FallbackGenerator
from service.types import (
    DraftStatement,
    Generated,
    GenerationPolicy,
    GenerationTask,
    Message,
    Prompt,
    Question,
)
from tests.fakes import ScriptedGenerator
from tests.scripted_engine import (
    DONE,
    MODEL,
    ROLE,
    Do,
    Reply,
    event,
    scripted_engine,
    spoken,
    token,
)
from tests.service.passages import evidence

SKY = '{"text":"Sky is blue.","citations":["C1"]}'
SEA = '{"text":"海是蓝的😀。","citations":["C2","C1"]}'
WHOLE = f'{{"answerable":true,"statements":[{SKY},{SEA}]}}'
BOTH = (DraftStatement("Sky is blue.", ("C1",)), DraftStatement("海是蓝的😀。", ("C2", "C1")))
STREAM = spoken(WHOLE, signs=9)
PATIENT = Deadlines(connect=5.0, first_token=60.0, total=60.0)
HASTY = Deadlines(connect=5.0, first_token=0.4, total=0.8)
TASK = GenerationTask(
    Question("Which is blue?", "en"),
    evidence("Sky is blue.", "Sea is blue."),
    Prompt((Message("system", "Cite."), Message("user", "Which is blue?")), "answer.v1@0", 100),
    GenerationPolicy("default.v1@0", max_new_tokens=64, seed=7, stop=("END",)),
    tenant_salt="5a17",
)
PROSE = replace(TASK, question=replace(TASK.question, output="text"))


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm, "RETRY_SECONDS", 0.0)


def generator(url: str, deadlines: Deadlines = PATIENT) -> VllmGenerator:
    return VllmGenerator(url, MODEL, deadlines)


async def drafted(
    of: VllmGenerator | FallbackGenerator, task: GenerationTask = TASK
) -> tuple[list[DraftStatement], Generated | ModelFailed]:
    """The statements, and how it ended."""
    statements: list[DraftStatement] = []
    try:
        async with aclosing(of.draft(task)) as drafts:
            async for one in drafts:
                if isinstance(one, Generated):
                    return statements, one
                statements.append(one)
    except ModelFailed as error:
        return statements, error
    raise AssertionError("a draft ends with Generated")


async def said(pieces: Sequence[bytes], task: GenerationTask = TASK) -> Generated:
    with scripted_engine(Reply(pieces)) as engine:
        _, ended = await drafted(generator(engine.url), task)
    assert isinstance(ended, Generated)
    return ended


# --- what is sent, and what is made of the stream ----------------------------------------------


async def test_every_value_of_the_policy_is_sent() -> None:
    with scripted_engine(Reply(STREAM)) as engine:
        await drafted(generator(engine.url))
        await drafted(generator(engine.url), replace(PROSE, tenant_salt=""))
        statements, prose = engine.asked
    schema = statements.pop("structured_outputs")["json"]
    items = schema["properties"]["statements"]["items"]["properties"]
    assert items["citations"]["items"]["enum"] == ["C1", "C2"]
    assert statements == {
        "model": MODEL,
        "messages": [
            {"role": "system", "content": "Cite."},
            {"role": "user", "content": "Which is blue?"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 64,
        "temperature": 0.0,
        "top_p": 1.0,
        "top_k": 0,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "seed": 7,
        "stop": ["END"],
        "cache_salt": "5a17",
    }
    del statements["cache_salt"]  # an empty one is refused by vLLM
    assert prose == statements


async def test_without_evidence_nothing_is_asked() -> None:
    with scripted_engine(Reply(STREAM)) as engine:
        assert await drafted(generator(engine.url), replace(TASK, evidence=())) == (
            [],
            Generated("stop", 0, 0),
        )
        assert engine.asked == []


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, 10_000])
async def test_a_stream_cut_into_any_pieces_says_the_same(size: int) -> None:
    whole = b": keep-alive\r\n\r\n" + b"".join(STREAM).replace(b"\n", b"\r\n")
    pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
    with scripted_engine(Reply(pieces)) as engine:
        statements, ended = await drafted(generator(engine.url))
    assert tuple(statements) == BOTH
    assert isinstance(ended, Generated)
    assert (ended.finish_reason, ended.input_tokens, ended.output_tokens, ended.faults) == (
        "stop",
        100,
        20,
        (),
    )


async def test_prose_is_read_sentence_by_sentence() -> None:
    text = "Sky is blue. [C1] Sea is blue [C2]. Both are [C1][C9]."
    with scripted_engine(Reply(spoken(text))) as engine:
        statements, _ = await drafted(generator(engine.url), PROSE)
    assert [(one.text, one.citations) for one in statements] == [
        ("Sky is blue.", ("C1",)),
        ("Sea is blue.", ("C2",)),
        ("Both are.", ("C1", "C9")),  # what does not exist is for `check` to refuse
    ]


async def test_a_statement_is_handed_on_while_the_engine_still_writes() -> None:
    head = WHOLE[: WHOLE.index(SKY) + len(SKY)]
    with scripted_engine(Reply([ROLE, token(head), Do.WAIT])) as engine:
        async with aclosing(generator(engine.url).draft(TASK)) as drafts:
            assert await anext(drafts) == BOTH[0]
            assert engine.running == 1
        assert engine.is_idle()


@pytest.mark.parametrize(
    ("task", "text"), [(TASK, WHOLE[:-5]), (PROSE, "Sky is blue [C1]. Sea is not [C1].")]
)
async def test_an_answer_that_was_cut_off_loses_its_last_statement_and_says_so(
    task: GenerationTask, text: str
) -> None:
    with scripted_engine(Reply(spoken(text, "length", written=64))) as engine:
        statements, ended = await drafted(generator(engine.url), task)
    assert statements == [BOTH[0]]
    assert isinstance(ended, Generated)
    assert (ended.finish_reason, ended.faults) == ("length", ())


async def test_going_in_circles_says_each_thing_once_and_not_without_end() -> None:
    circles = "Sky is blue [C1]. " * 40
    with scripted_engine(Reply(spoken(circles)), Reply(spoken(MANY))) as engine:
        assert (await drafted(generator(engine.url), PROSE))[0] == [BOTH[0]]
        assert len((await drafted(generator(engine.url), PROSE))[0]) == MOST_STATEMENTS


MANY = " ".join(f"Fact {number} is true [C1]." for number in range(MOST_STATEMENTS + 10))


# --- figures -----------------------------------------------------------------------------------


async def test_what_the_engine_counts_otherwise_than_we_do_is_a_fault(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert (await said(spoken(WHOLE, read=101))).faults == ("prompt_tokens_differ",)
    told = [json.loads(one.message) for one in caplog.records if "prompt_tokens_differ" in one.message]
    assert {"event": "prompt_tokens_differ", "ours": 100, "engine": 101} in told


async def test_a_limit_that_was_lowered_without_a_word_is_a_fault() -> None:
    assert (await said(spoken(WHOLE, "length", written=63))).faults == ("max_tokens_lowered",)


@pytest.mark.parametrize("figures", [None, {}, {"prompt_tokens": "100"}, {"prompt_tokens": True}, [1], "x"])
async def test_without_the_engines_counts_there_is_a_fault(figures: object) -> None:
    pieces = [*spoken(WHOLE)[:-2], event(choices=[], usage=figures), DONE]
    assert (await said(pieces)).faults == ("usage_missing",)


async def test_times_are_told_by_phase() -> None:
    metrics = {"queue_time_ms": 1.5, "time_to_first_token_ms": 20.25, "mean_itl_ms": None}
    ended = await said(spoken(WHOLE, metrics=metrics))
    times = ended.timings_ms
    assert (times["queue"], times["prefill"]) == (1.5, 20.25)
    assert set(times) == {"queue", "prefill", "ttft", "decode", "itl_p50", "itl_p95"}
    assert times["itl_p50"] <= times["itl_p95"] <= times["decode"]
    assert ended.tokens_per_second
    assert set((await said(spoken(WHOLE))).timings_ms) == {"ttft", "decode", "itl_p50", "itl_p95"}
    assert (await said(spoken(""), PROSE)).timings_ms == {}


async def test_the_log_has_figures_and_no_texts(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "citeward")
    await said(spoken(WHOLE))
    lines = [one.message for one in caplog.records if one.name == "citeward.engine"]
    (told,) = [json.loads(line) for line in lines]
    assert (told["event"], told["input_tokens"], told["finish_reason"]) == ("generated", 100, "stop")
    assert not [line for line in lines if "blue" in line or "Cite." in line]


# --- failures: what, where -> which error ------------------------------------------------------

DEEP = b"data: " + b"[" * 100_000 + b"\n\n"
FAULTS: dict[str, tuple[bytes | Do | None, type[ModelFailed]]] = {
    "reset": (Do.RESET, ModelUnavailable),
    "broken off": (Do.BREAK, ModelUnavailable),
    "an error event": (
        b'data: {"error": {"message": "zq", "type": "Service Unavailable", "code": 503}}\n\n',
        ModelUnavailable,
    ),
    "ended without its end": (None, ModelBadOutput),
    "garbage": (b"data: \x00\xff\xfe{]\n\n", ModelBadOutput),
    "half an event": (STREAM[2][: len(STREAM[2]) // 2] + b"\n\n", ModelBadOutput),
    "no object": (b"data: NaN\n\n", ModelBadOutput),
    "a huge number": (b"data: " + b"9" * 5000 + b"\n\n", ModelBadOutput),
    "deep": (DEEP, ModelBadOutput),
    "another model": (event(model="other", choices=[]), ModelBadOutput),
    "no choices": (event(), ModelBadOutput),
    "two choices": (event(choices=[{"delta": {}}, {"delta": {}}]), ModelBadOutput),
    "no delta": (event(choices=[{"text": "x"}]), ModelBadOutput),
    "content of another kind": (event(choices=[{"delta": {"content": 5}}]), ModelBadOutput),
    "a tool's call": (event(choices=[{"delta": {}, "finish_reason": "tool_calls"}]), ModelBadOutput),
    "a reason of another kind": (event(choices=[{"delta": {}, "finish_reason": 1}]), ModelBadOutput),
    "a line without end": (b"data: " + b"x" * 300_000, ModelBadOutput),
    "a flood": (token(" " * 50_000), ModelBadOutput),
}
PLACES = range(len(STREAM))  # before the first event … before [DONE]


def complete_before(place: int) -> tuple[DraftStatement, ...]:
    """What was said by the events before this place."""
    text = "".join(json.loads(one[6:])["choices"][0]["delta"]["content"] for one in STREAM[:-2][:place])
    return tuple(one for one, written in zip(BOTH, (SKY, SEA), strict=True) if written in text)


@pytest.mark.parametrize(("fault", "error"), FAULTS.values(), ids=FAULTS.keys())
async def test_a_fault_at_any_place_is_its_error_after_what_was_complete(
    fault: bytes | Do | None, error: type[ModelFailed], caplog: pytest.LogCaptureFixture
) -> None:
    faulty = [Reply([*STREAM[:place], *([fault, *STREAM[place:]] if fault else [])]) for place in PLACES]
    with scripted_engine(*faulty) as engine:
        asking = generator(engine.url)
        for place in PLACES:
            statements, ended = await drafted(asking)
            assert type(ended) is error, place
            assert tuple(statements) == complete_before(place), place
            assert "zq" not in str(ended) + caplog.text
            assert engine.is_idle()
            assert len(engine.asked) == place + 1  # nothing is tried again after the first byte


@pytest.mark.parametrize("place", [0, 1, 5, len(STREAM) - 1])
async def test_silence_is_a_timeout_and_stops_the_engine(place: int) -> None:
    with scripted_engine(Reply([*STREAM[:place], Do.WAIT])) as engine:
        statements, ended = await drafted(generator(engine.url, HASTY))
        assert type(ended) is ModelTimeout
        assert tuple(statements) == complete_before(place)[: len(statements)]  # a busy machine hears less
        assert engine.is_idle()


async def test_a_server_that_takes_the_request_and_says_nothing_is_a_timeout() -> None:
    with scripted_engine(Reply([Do.WAIT], status=None)) as engine:
        assert type((await drafted(generator(engine.url, HASTY)))[1]) is ModelTimeout
        assert engine.is_idle()


@pytest.mark.parametrize("place", range(1, len(STREAM) - 2))
async def test_an_end_too_early_is_bad_output(place: int) -> None:
    with scripted_engine(Reply([*STREAM[:place], DONE])) as engine:
        statements, ended = await drafted(generator(engine.url))
    assert type(ended) is ModelBadOutput
    assert tuple(statements) == complete_before(place)


WRONG = {
    "prose": "Sky is blue [C1].",
    "unknown id": WHOLE.replace('["C1"]', '["C3"]'),
    "number": WHOLE.replace('"Sky is blue."', "5"),
    "more after its end": WHOLE + WHOLE,
    "nothing": "",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG.keys())
async def test_an_answer_that_is_not_of_the_form_is_bad_output(text: str) -> None:
    with scripted_engine(Reply(spoken(text))) as engine:
        assert type((await drafted(generator(engine.url)))[1]) is ModelBadOutput
        assert engine.is_idle()


TURNED_AWAY = dict.fromkeys([401, 404, 429, 500, 502, 503], ModelUnavailable)
REFUSED = dict.fromkeys([400, 413, 422], ModelBadOutput)


@pytest.mark.parametrize(("status", "kind"), [*TURNED_AWAY.items(), *REFUSED.items()])
async def test_a_refused_request_says_why_and_is_not_sent_again(status: int, kind: type[ModelFailed]) -> None:
    error = {"message": "zqsecret", "type": "BadRequestError", "param": "input_tokens", "code": status}
    body = json.dumps({"error": error}).encode()
    with scripted_engine(Reply([body], status, "application/json")) as engine:
        _, ended = await drafted(generator(engine.url))
        assert type(ended) is kind
        assert f"{status}: BadRequestError, input_tokens." in ended.why
        assert "zq" not in str(ended)
        assert len(engine.asked) == 1


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"error": "x"}', b'{"error": {"type": "\\n\\n"}}'])
async def test_an_error_without_a_reason_is_one_too(body: bytes) -> None:
    with scripted_engine(Reply([body] if body else [], 500)) as engine:
        _, ended = await drafted(generator(engine.url))
    assert type(ended) is ModelUnavailable
    assert "no reason given" in ended.why


async def test_a_page_in_place_of_a_stream_is_bad_output() -> None:
    with scripted_engine(Reply([b"<html>hello</html>"], content_type="text/html")) as engine:
        assert type((await drafted(generator(engine.url)))[1]) is ModelBadOutput


async def test_what_is_no_http_is_unavailable() -> None:
    with scripted_engine(Reply([b"SSH-2.0-x\r\n\r\n"], status=None)) as engine:
        assert type((await drafted(generator(engine.url)))[1]) is ModelUnavailable
        assert len(engine.asked) == 1


async def test_nobody_there_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    _, ended = await drafted(generator(f"http://127.0.0.1:{port}"))
    assert type(ended) is ModelUnavailable
    assert "ConnectError" in ended.why


async def test_a_name_that_nobody_knows_is_unavailable() -> None:
    assert type((await drafted(generator("http://engine.invalid:8001")))[1]) is ModelUnavailable


async def test_a_connection_that_broke_before_the_first_byte_is_tried_once_more() -> None:
    with scripted_engine(Reply([Do.RESET], status=None), Reply(STREAM)) as engine:
        assert tuple((await drafted(generator(engine.url)))[0]) == BOTH
        assert len(engine.asked) == 2
    with scripted_engine(Reply([Do.RESET], status=None)) as engine:
        assert type((await drafted(generator(engine.url)))[1]) is ModelUnavailable
        assert len(engine.asked) == 2


async def test_a_client_who_leaves_stops_the_engine() -> None:
    async def listen(url: str) -> None:
        await drafted(generator(url))

    with scripted_engine(Reply([ROLE, token("{"), Do.WAIT])) as engine:
        async with create_task_group() as group:
            group.start_soon(listen, engine.url)
            assert await to_thread.run_sync(engine.is_busy)
            group.cancel_scope.cancel()
        assert engine.is_idle()


# --- instead of it -----------------------------------------------------------------------------

QUOTE = DraftStatement("Sea is blue.", ("C2",))


def with_fallback(url: str, deadlines: Deadlines = PATIENT) -> FallbackGenerator:
    quoting = ScriptedGenerator(QUOTE)
    quoting.kind = "quoting"
    return FallbackGenerator(generator(url, deadlines), quoting)


@pytest.mark.parametrize(
    ("pieces", "code"),
    [
        ([Do.RESET], "model_unavailable"),
        ([ROLE, token("{"), Do.BREAK], "model_unavailable"),
        ([ROLE, Do.WAIT], "model_timeout"),
        (spoken("Sky is blue."), "model_bad_output"),
    ],
)
async def test_where_nothing_was_said_quoting_answers_and_the_answer_says_so(
    pieces: Sequence[bytes | Do], code: str
) -> None:
    with scripted_engine(Reply(pieces)) as engine:
        deadlines = HASTY if code == "model_timeout" else PATIENT
        statements, ended = await drafted(with_fallback(engine.url, deadlines))
    assert statements == [QUOTE]
    assert isinstance(ended, Generated)
    assert (ended.generator, ended.version, ended.degraded) == ("quoting", "scripted", ("quoting",))
    assert ended.faults == (code,)


async def test_where_something_was_said_the_failure_stands() -> None:
    with scripted_engine(Reply([*STREAM[:-5], Do.BREAK])) as engine:
        statements, ended = await drafted(with_fallback(engine.url))
    assert statements == [BOTH[0]]
    assert type(ended) is ModelUnavailable


async def test_where_the_model_answers_nothing_is_degraded() -> None:
    with scripted_engine(Reply(STREAM)) as engine:
        statements, ended = await drafted(with_fallback(engine.url))
    assert tuple(statements) == BOTH
    assert isinstance(ended, Generated)
    assert (ended.generator, ended.degraded) == (None, ())


async def test_figures_that_cannot_be_are_left_out() -> None:
    absurd = {"queue_time_ms": 10**400, "time_to_first_token_ms": float("nan")}
    with scripted_engine(Reply(spoken(WHOLE, metrics=absurd, written=10**400))) as engine:
        _, end = await drafted(generator(engine.url))
    assert isinstance(end, Generated)
    assert not {"queue", "prefill"} & end.timings_ms.keys()
    assert (end.output_tokens, end.faults) == (0, ("usage_missing",))


@pytest.mark.parametrize(
    ("code", "kind"), [(400, ModelBadOutput), (500, ModelUnavailable), (None, ModelUnavailable)]
)
async def test_an_error_within_a_stream_is_told_by_its_code(
    code: int | None, kind: type[ModelFailed]
) -> None:
    failed = event(error={"type": "BadRequestError", "message": "zqsecret", "code": code})
    with scripted_engine(Reply([ROLE, failed, DONE])) as engine:
        _, ended = await drafted(generator(engine.url))
    assert type(ended) is kind
    assert "zq" not in str(ended)


async def test_what_is_cut_off_before_a_statement_is_whole_is_the_models_failure() -> None:
    with scripted_engine(Reply(spoken(WHOLE[:40], "length", written=64))) as engine:
        statements, ended = await drafted(generator(engine.url))
    assert (statements, type(ended)) == ([], ModelBadOutput)
