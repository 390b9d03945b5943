"""A real service over a small real engine, with more readers than the engine bears; and the engine bare.

Each kind of readers is a tenant with a release of its own, so that prompts and answers are long and short.
One kind's answers are longer than the whole KV cache. What a bare engine is sent are the very requests that
the service would have sent it.

The releases have few words: on two cores those that ship take seconds to be read, and then not the cache is
short but the processor. Answers go on to their last token, so that both sides write the same.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx2

from ingest.corpus import people
from ingest.corpus.collections import create_collection, set_collection_access
from ingest.corpus.database import Database
from service.adapters.chat_template import TemplateTokenizer
from service.adapters.vllm import VllmGenerator, events_of
from service.admitted import AdmittedGenerator
from service.answerable import Answerability, shipped_answerability
from service.bootstrap import open_admission
from service.breaker import CircuitBreaker
from service.capacity.reservations import read_ledger
from service.client import Client
from service.engine.chat import Deadlines, Heard, request_body
from service.engine.probe import exchange, sample
from service.engine.server import EngineStatus
from service.parts import Parts, Prompting
from service.prompt import PromptTemplate
from service.releases.activations import activate
from service.releases.release import ALL, Release
from service.releases.standing import Grounds
from service.types import GenerationPolicy, GenerationTask
from tests.fakes import ScriptedGenerator, make_prompting
from tests.serving import serving
from tests.vllm_server import MODEL
from tests.world import EVERYONE, KEY_SECRET, keep_text, make_parts

WINDOW = 8192  # tokens that the service reckons with, above the engine's, so that the KV cache decides
TOPICS = ("parking", "kitchen", "visitors", "laptops", "travel", "printing")
HABITS = ("sign the book at the desk", "pay by card", "ask the office first", "leave the key in the box")
PATIENCE_SECONDS = 1_800.0
TLS = ssl.create_default_context()  # never used, and made for each client unless given: it takes a while
WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class Kind:
    """Readers who are alike."""

    passages: int  # that they want an answer to rest on, at most
    answer: int  # tokens


MIXED = {"brief": Kind(1, 48), "plain": Kind(2, 96), "wordy": Kind(3, 160)}
NEVER_FITS = "endless"
GLANCE = "glance"  # cut off before a sentence is whole, which is an error: nothing but its first token counts
KINDS = {**MIXED, NEVER_FITS: Kind(1, 6000), GLANCE: Kind(2, 4)}


@dataclass(frozen=True, slots=True)
class Ask:
    """One question; its number makes it another than all others."""

    number: int
    kind: str

    @property
    def question(self) -> str:
        topic = TOPICS[self.number % len(TOPICS)]
        return f"What are the rules for {topic}? (question {self.number})"


@dataclass(frozen=True, slots=True)
class Stream:
    """What became of one request; seconds of `time.perf_counter`."""

    ask: Ask
    began: float
    ended: float
    outcome: str  # WHOLE, or the code of what came instead
    pieces: tuple[float, ...] = ()  # when the engine's text came, piece by piece
    reached: Mapping[str, float] = field(default_factory=dict)  # when its reader saw each stage begin

    @property
    def is_whole(self) -> bool:
        return self.outcome == WHOLE


@dataclass(frozen=True, slots=True)
class NotedGenerator(VllmGenerator):
    """The service's own, which notes when each piece of text came, by question."""

    noted: dict[str, list[float]] = field(default_factory=dict)

    async def _pieces(self, task: GenerationTask, heard: Heard) -> AsyncGenerator[str]:
        times = self.noted.setdefault(task.question.text, [])
        async with aclosing(VllmGenerator._pieces(self, task, heard)) as pieces:
            async for piece in pieces:
                times.append(time.perf_counter())
                yield piece


@dataclass(frozen=True, slots=True)
class Crowd:
    """A service that runs, and whoever asks."""

    engine: EngineStatus
    parts: Parts
    keys: Mapping[str, str]  # by kind
    noted: Mapping[str, Sequence[float]]
    port: int

    async def ask(self, ask: Ask) -> Stream:
        """Asked of the service over HTTP, as a stream."""
        began, body = time.perf_counter(), asked(ask)
        headers = {"X-API-Key": self.keys[ask.kind], "Accept": "text/event-stream"}
        async with sending(f"http://127.0.0.1:{self.port}/v1/ask", body, headers) as response:
            if response.status_code != httpx2.codes.OK:
                code = json.loads(await response.aread())["code"]
                return Stream(ask, began, time.perf_counter(), code)
            last: dict[str, Any] = {}
            reached: dict[str, float] = {}
            async for data in events_of(response):
                last = json.loads(data)
                if "stage" in last:
                    reached[last["stage"]] = time.perf_counter()
        outcome = WHOLE if "answer_id" in last else last.get("code", "broken")  # an error ends its stream
        pieces = tuple(self.noted.get(ask.question, ()))
        return Stream(ask, began, time.perf_counter(), outcome, pieces, reached)

    @property
    def tickets(self) -> int:
        """Of those who hold room or wait for it."""
        return len(read_ledger(self.parts.database, self.engine.url).tickets)


@contextmanager
def crowded(
    database: Database, home: Path, engine: EngineStatus, queue_length: int, queue_seconds: float
) -> Iterator[Crowd]:
    """No draft is made smaller where there is no room: else less would be compared with more."""
    plain = make_parts(database, home)
    settings = replace(
        plain.settings,
        llm=str(engine.model),
        engine_url=engine.url,
        context_window=WINDOW,
        queue_length=queue_length,
        queue_seconds=queue_seconds,
        on_no_room="no",
        on_engine_failure="error",
    )
    admission = open_admission(settings, database)
    deadlines = Deadlines(settings.engine_connect_seconds, PATIENCE_SECONDS, PATIENCE_SECONDS)
    model = NotedGenerator(engine.url, str(engine.model), deadlines)
    parts = replace(
        plain,
        settings=settings,
        generator=CircuitBreaker(AdmittedGenerator(model, admission, ())),
        prompting=prompting_by_kind(),
        admission=admission,
        sufficiency=replace(plain.sufficiency, answerability=content_with_anything()),
    )
    keys = {kind: found(parts, kind) for kind in KINDS}
    with serving(parts) as port:
        yield Crowd(engine, parts, keys, model.noted, port)


def content_with_anything() -> Answerability:
    """Weighs as ever; the fake embedder's vectors are too rough for what was fitted on real ones."""
    shipped = shipped_answerability()
    return replace(shipped, fitted={way: replace(one, threshold=0.0) for way, one in shipped.fitted.items()})


@dataclass(frozen=True, slots=True)
class LastingPolicy(GenerationPolicy):
    """Has the engine write as much as it may."""

    def sampling(self) -> dict[str, float | int | list[str] | None]:
        return {**GenerationPolicy.sampling(self), "min_tokens": self.max_new_tokens}


TEMPLATE = PromptTemplate(
    version="of few words",
    system="Repeat the rules, one after the other.",
    statements="",
    text="",
    passage="[$marker] $source\n$text",
    user="$evidence\n\n$question",
)


def prompting_by_kind() -> Prompting:
    """A release for each kind, with answers of its length."""
    plain = make_prompting(TemplateTokenizer(MODEL))
    releases = {
        kind: Release(kind, {"en": TEMPLATE, "zh": TEMPLATE}, LastingPolicy(f"of {kind}", one.answer))
        for kind, one in KINDS.items()
    }
    return replace(plain, releases=releases)


def found(parts: Parts, kind: str) -> str:
    """A tenant with rules of the house, its release in force; the key of its reader."""
    assert parts.prompting is not None
    release, shipped = parts.prompting.releases[kind].version, parts.prompting.release.version
    with parts.database.writing() as session:
        people.create_tenant(session, kind)
        people.create_user(session, kind, "ana", "reader")
        create_collection(session, kind, "handbook", "Handbook")
        set_collection_access(session, kind, "handbook", EVERYONE)
        activate(session, kind, release, ALL, "ana", shipped, Grounds(override="to have such answers"))
        key = people.create_key(session, KEY_SECRET.encode(), kind, "ana").credential
    for place, topic in enumerate(TOPICS):
        keep_text(parts, kind, "handbook", f"{topic}.txt", rules(topic, place))
    return key


def rules(topic: str, place: int) -> str:
    """Some 100 tokens."""
    said = " ".join(
        f"From {number + place} o'clock on you {HABITS[(number + place) % len(HABITS)]}."
        for number in range(7, 13)
    )
    return f"{topic}\n\nThese are the rules for {topic}. {said}"


def asked(ask: Ask) -> dict[str, Any]:
    """What /v1/ask is sent."""
    return {"question": ask.question, "max_citations": KINDS[ask.kind].passages, "output": "text"}


# --- who asks when -----------------------------------------------------------------------------

Send = Callable[[Ask], Awaitable[Stream]]


async def closed_loop(asks: Sequence[Ask], at_once: int, send: Send) -> list[Stream]:
    """Never more than `at_once` under way, each again when answered."""
    turns = asyncio.Semaphore(at_once)

    async def one(ask: Ask) -> Stream:
        async with turns:
            return await send(ask)

    return await asyncio.gather(*map(one, asks))


async def open_loop(due: Sequence[tuple[float, Ask]], send: Send) -> list[Stream]:
    """Each at its time, in seconds from now, whatever became of the others; it began when it was due."""
    now = time.perf_counter()

    async def one(at: float, ask: Ask) -> Stream:
        await asyncio.sleep(now + at - time.perf_counter())
        try:
            return replace(await send(ask), began=now + at)
        except httpx2.HTTPError as error:
            return Stream(ask, now + at, time.perf_counter(), type(error).__name__)

    return await asyncio.gather(*(one(at, ask) for at, ask in due))


# --- the engine without the service ------------------------------------------------------------


def tasks(crowd: Crowd, asks: Sequence[Ask]) -> dict[Ask, GenerationTask]:
    """What the engine would be given for each, made by the service itself."""
    recorder = ScriptedGenerator()
    with serving(replace(crowd.parts, generator=recorder, admission=None)) as port:
        for ask in asks:
            url = f"http://127.0.0.1:{port}"
            Client(url, crowd.keys[ask.kind]).send("POST", "/v1/ask", asked(ask))
    assert [task.question.text for task in recorder.tasks] == [ask.question for ask in asks]
    return dict(zip(asks, recorder.tasks, strict=True))


async def ask_engine(engine: EngineStatus, ask: Ask, task: GenerationTask) -> Stream:
    """The same, sent straight to the engine."""
    began, pieces, outcome = time.perf_counter(), [], "broken"
    body = request_body(str(engine.model), task)
    async with sending(f"{engine.url}/v1/chat/completions", body, {}) as response:
        if response.status_code != httpx2.codes.OK:
            outcome = f"http_{response.status_code}"
        async for data in events_of(response):
            if data == b"[DONE]":
                outcome = WHOLE
                break
            event = json.loads(data)
            if "error" in event:  # with status 200, and an end behind it as of a whole answer
                outcome = f"http_{event['error']['code']}"
                break
            if any(choice["delta"].get("content") for choice in event.get("choices", ())):
                pieces.append(time.perf_counter())
    return Stream(ask, began, time.perf_counter(), outcome, tuple(pieces))


@asynccontextmanager
async def sending(
    url: str, body: Mapping[str, Any], headers: Mapping[str, str]
) -> AsyncGenerator[httpx2.Response]:
    """On a connection of its own, as the service asks its engine."""
    async with (
        httpx2.AsyncClient(verify=TLS, trust_env=False, timeout=PATIENCE_SECONDS) as client,
        client.stream("POST", url, json=dict(body), headers=dict(headers)) as response,
    ):
        yield response


@dataclass(frozen=True, slots=True)
class Counted:
    """What the engine has counted, since it started or between two times."""

    preemptions: int
    tokens: int  # written

    def __sub__(self, before: Counted) -> Counted:
        return Counted(self.preemptions - before.preemptions, self.tokens - before.tokens)


def counted(url: str) -> Counted:
    page = exchange(f"{url}/metrics", PATIENCE_SECONDS).decode()
    preemptions, tokens = (
        sample(page, f"vllm:{name}_total") for name in ("num_preemptions", "generation_tokens")
    )
    assert preemptions is not None
    assert tokens is not None
    return Counted(int(preemptions), int(tokens))
