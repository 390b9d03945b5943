"""The generator over a real vLLM and a small real model: what it sends is taken, what comes back is read.

The model is too small to answer well, so nothing here looks at what it says.
"""

from __future__ import annotations

import json
import logging
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Any, Literal

import pytest
from anyio import create_task_group

from ingest.corpus.errors import ModelBadOutput, ModelUnavailable
from service.adapters.vllm import VllmGenerator
from service.engine.chat import Deadlines
from service.engine.probe import COUNTED, count_tokens, counting_faults, what_is_wrong
from service.engine.server import EngineStatus
from service.fit import prompt_of
from service.types import DraftStatement, GenerationPolicy, GenerationTask, Message, Question
from tests.contracts.real_models import chat_tokenizer
from tests.fakes import make_prompting
from tests.service.passages import evidence
from tests.vllm_server import MAX_MODEL_LEN, MODEL

pytestmark = pytest.mark.vllm

PATIENT = Deadlines(connect=10.0, first_token=240.0, total=240.0)
RULES = "Parking permits cost 40 EUR per month. They are sold at the front desk from Monday to Friday. "
PASSAGES = evidence(RULES * 2, "Cars are washed on Fridays between 9 and 11 o'clock, for 12 EUR a car.")
MOST = 64  # tokens of an answer


def generator(engine: EngineStatus) -> VllmGenerator:
    return VllmGenerator(engine.url, str(engine.model), PATIENT)


def task(
    output: Literal["statements", "text"], max_new_tokens: int = MOST, salt: str = "a1"
) -> GenerationTask:
    asked = Question("How much is a parking permit?", "en", output=output)
    prompting = make_prompting(chat_tokenizer(MODEL.name), max_new_tokens)
    prompt = prompt_of(asked, PASSAGES, "a1b2c3d4e5f60718", prompting)
    return GenerationTask(asked, PASSAGES, prompt, prompting.policy, salt)


async def generated(
    engine: EngineStatus, of: GenerationTask, caplog: pytest.LogCaptureFixture
) -> tuple[list[DraftStatement], dict[str, Any]]:
    """Statements, and the line of the log: so small a model may be cut off before its first statement."""
    caplog.clear()
    caplog.set_level(logging.INFO, "citeward.engine")
    statements = []
    try:
        async with aclosing(generator(engine).draft(of)) as drafts:
            statements = [one async for one in drafts if isinstance(one, DraftStatement)]
    except ModelBadOutput as failure:
        if "cut off" not in failure.why:
            raise
    lines = [json.loads(one.message) for one in caplog.records if one.name == "citeward.engine"]
    [line] = [line for line in lines if line["event"] == "generated"]
    return statements, line


@pytest.mark.parametrize("output", ["statements", "text"])
async def test_a_draft_is_read_to_its_end_and_counted_as_we_count(
    engine_alone: EngineStatus, output: Literal["statements", "text"], caplog: pytest.LogCaptureFixture
) -> None:
    of = task(output)
    statements, end = await generated(engine_alone, of, caplog)
    assert of.prompt is not None
    assert end["input_tokens"] == of.prompt.tokens
    assert end["faults"] == []
    assert end["finish_reason"] in ("stop", "length")
    assert 0 < end["output_tokens"] <= MOST
    assert {"queue", "prefill", "ttft", "decode", "itl_p50", "itl_p95"} == end["timings_ms"].keys()
    assert end["tokens_per_second"]
    if output == "statements":
        assert {marker for one in statements for marker in one.citations} <= {"C1", "C2"}


async def test_only_the_same_salt_finds_a_prompt_in_the_cache(
    engine_alone: EngineStatus, caplog: pytest.LogCaptureFixture
) -> None:
    first, same, other = [
        (await generated(engine_alone, task("text", 4, salt), caplog))[1]["cached_tokens"] or 0
        for salt in ("b2", "b2", "c3")
    ]
    assert (first, other) == (0, 0)
    assert same >= 128  # a block


async def test_another_model_or_a_prompt_beyond_the_window_is_refused_with_its_kind(
    engine_alone: EngineStatus,
) -> None:
    other = VllmGenerator(engine_alone.url, "other", PATIENT)
    with pytest.raises(ModelUnavailable) as unknown:
        [one async for one in other.draft(task("statements"))]
    assert "404: NotFoundError" in unknown.value.why
    of = task("statements")
    assert of.prompt is not None
    long = replace(of.prompt, messages=(Message("user", "word " * (MAX_MODEL_LEN + 1)),))
    with pytest.raises(ModelBadOutput) as beyond:
        [one async for one in generator(engine_alone).draft(replace(of, prompt=long))]
    assert "400: BadRequestError" in beyond.value.why
    assert "word" not in str(beyond.value)


@pytest.mark.slow
async def test_a_long_prompt_that_is_sampled_with_a_seed_leaves_the_server_alive(
    engine_alone: EngineStatus, caplog: pytest.LogCaptureFixture
) -> None:
    """Two at once, so that together they are more than a step holds."""
    of = task("text", 8)
    assert of.prompt is not None
    assert of.policy is not None
    long = replace(of.prompt, messages=(Message("user", "word " * 2500),))
    seeded = replace(of, prompt=long, policy=replace(of.policy, do_sample=True, seed=7))

    async def read(salt: str) -> None:
        with suppress(ModelBadOutput):  # cut off
            [one async for one in generator(engine_alone).draft(replace(seeded, tenant_salt=salt))]

    async with create_task_group() as group:
        for salt in ("d4", "e5"):
            group.start_soon(read, salt)
    _, end = await generated(engine_alone, of, caplog)
    assert end["output_tokens"]


async def test_every_value_that_a_policy_may_have_is_taken(
    engine_alone: EngineStatus, caplog: pytest.LogCaptureFixture
) -> None:
    policy = GenerationPolicy(
        "of a test",
        max_new_tokens=8,
        do_sample=True,
        temperature=0.7,
        top_p=0.9,
        top_k=40,
        min_p=0.05,
        repetition_penalty=1.1,
        presence_penalty=0.5,
        frequency_penalty=-0.5,
        seed=None,
        stop=("\n\n",),
    )
    _, end = await generated(engine_alone, replace(task("text"), policy=policy), caplog)
    assert 0 < end["output_tokens"] <= 8


def test_the_engine_counts_as_we_do_and_holds_what_it_should(engine_alone: EngineStatus) -> None:
    chat = chat_tokenizer(MODEL.name)
    assert count_tokens(engine_alone.url, str(engine_alone.model), COUNTED) == len(chat.ids(COUNTED))
    assert counting_faults(engine_alone.url, str(engine_alone.model), chat) == ()
    assert what_is_wrong(engine_alone.url, MODEL.name, MAX_MODEL_LEN) is None
    assert what_is_wrong(engine_alone.url, "other", MAX_MODEL_LEN) == "another model is served"
