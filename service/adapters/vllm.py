"""The language model behind vLLM's HTTP: a task to one streaming request, its stream to drafted statements.

A connection of its own for each draft: closing it is what stops the engine, and none is stale. Whatever goes
wrong is one of three errors.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Literal

import httpx2
from anyio import fail_after, sleep

from ingest.corpus.errors import ModelTimeout
from service.engine.chat import (
    Deadlines,
    Heard,
    bad_stream,
    read_chunk,
    reader_for,
    request_body,
    turned_away,
    unavailable,
)
from service.types import DraftStatement, Generated, GenerationTask

RETRY_SECONDS = 0.2  # before the one more try
LONGEST_EVENT = 256 * 1024  # bytes; a token's is a few hundred
DATA, END = b"data:", b"[DONE]"


def model_version(model: str, revision: str) -> str:
    """As answers name it; the arguments are those of `VllmGenerator`."""
    return f"vllm:{model}@{revision}" if revision else f"vllm:{model}"


@dataclass(frozen=True, slots=True)
class VllmGenerator:
    url: str
    model: str  # the name that it is served under
    deadlines: Deadlines
    revision: str = ""  # of the weights; empty: not known
    kind: Literal["vllm"] = "vllm"
    tls: ssl.SSLContext = field(default_factory=ssl.create_default_context)  # making one takes a while

    @property
    def version(self) -> str:
        return model_version(self.model, self.revision)

    async def draft(self, task: GenerationTask) -> AsyncGenerator[DraftStatement | Generated]:
        """Needs a prompt and a policy; without evidence nothing is asked.

        :raises ModelUnavailable: if the engine is not there, turns us away, or leaves in the middle.
        :raises ModelBadOutput: if it refuses this request, or sends no whole stream of the form asked for.
        :raises ModelTimeout: if the first token or the last one is late.
        """
        if not task.evidence:
            yield Generated("stop", 0, 0)
            return
        with task.clock.visit("chat"):
            heard = Heard(task, self.deadlines)
            reader = reader_for(task)
            async with aclosing(self._pieces(task, heard)) as pieces:
                async for piece in pieces:
                    for statement in heard.anew(reader.feed(piece)):
                        yield statement
            end = heard.generated()
            for statement in heard.anew(reader.finish(end.finish_reason == "length")):
                yield statement
            if end.finish_reason == "length" and not heard.said:  # else it read as if nothing was found
                raise bad_stream("It was cut off before its first statement was whole.")
            yield end

    async def _pieces(self, task: GenerationTask, heard: Heard) -> AsyncGenerator[str]:
        """The text as it comes, until the stream says that it ends."""
        with self._failures_named():
            async with self._answering(task, heard) as response, aclosing(events_of(response)) as events:
                while (data := await heard.in_time(events)) != END:
                    piece = heard.take(read_chunk(data, self.model))
                    if piece:
                        yield piece

    @asynccontextmanager
    async def _answering(self, task: GenerationTask, heard: Heard) -> AsyncGenerator[httpx2.Response]:
        timeout = httpx2.Timeout(None, connect=self.deadlines.connect)  # the others are `heard`'s
        async with httpx2.AsyncClient(verify=self.tls, trust_env=False, timeout=timeout) as client:
            request = client.build_request(
                "POST",
                f"{self.url}/v1/chat/completions",
                json=request_body(self.model, task),
                headers={"Accept-Encoding": "identity"},
            )
            response = await self._send(client, request, heard)
            async with aclosing(response):
                if response.status_code != httpx2.codes.OK:
                    with fail_after(heard.seconds_left):
                        raise turned_away(response.status_code, await head_of(response))
                yield response

    async def _send(
        self, client: httpx2.AsyncClient, request: httpx2.Request, heard: Heard
    ) -> httpx2.Response:
        """The head of the response; a connection that broke before it is tried once more."""
        with fail_after(heard.seconds_left):
            try:
                return await client.send(request, stream=True)
            except httpx2.NetworkError:
                await sleep(RETRY_SECONDS)
                return await client.send(request, stream=True)

    @contextmanager
    def _failures_named(self) -> Iterator[None]:
        """What the library raises, as our errors."""
        try:
            yield
        except TimeoutError as error:
            raise ModelTimeout(
                "The language model was too slow.",
                why=f"Its first token may take {self.deadlines.first_token:g} s, its answer "
                f"{self.deadlines.total:g} s.",
                next_step="Ask again later, or ask for less.",
            ) from error
        except httpx2.DecodingError as error:
            raise bad_stream("Its stream cannot be decoded.") from error
        except httpx2.TransportError as error:
            raise unavailable(f"The connection to its server failed: {type(error).__name__}.") from error


async def events_of(response: httpx2.Response) -> AsyncGenerator[bytes]:
    """The data of each server-sent event; vLLM writes it on one line.

    :raises ModelBadOutput: for a line without end.
    """
    rest = b""
    async with aclosing(response.aiter_raw()) as pieces:
        async for piece in pieces:
            *lines, rest = (rest + piece).split(b"\n")
            for line in filter(is_data, lines):
                yield line.removeprefix(DATA).strip()
            if len(rest) > LONGEST_EVENT:
                raise bad_stream("Its stream has a line without end.")


async def head_of(response: httpx2.Response) -> bytes:
    """The body, or as much of it as an error's can be."""
    head = b""
    async with aclosing(response.aiter_raw()) as pieces:
        async for piece in pieces:
            head += piece
            if len(head) > LONGEST_EVENT:
                break
    return head


def is_data(line: bytes) -> bool:
    return line.startswith(DATA)
