"""A real HTTP server in vLLM's place: it says what a script tells it, to the byte, and breaks where told.

It runs in a thread with a loop of its own, so that a test's loop may wait for it.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

MODEL = "scripted"
PATIENCE_SECONDS = 20.0  # for what happens at once
TURNS = 5


class Do(Enum):
    RESET = auto()  # the connection, as a crash of the machine does
    BREAK = auto()  # close it in the middle of the body, as a killed process does
    WAIT = auto()  # until the client leaves


@dataclass(frozen=True, slots=True)
class Reply:
    pieces: Sequence[bytes | Do]
    status: int | None = 200  # None: `pieces` are all that is sent
    content_type: str = "text/event-stream"


@dataclass(slots=True)
class ScriptedEngine:
    """Each request for a chat gets the next reply, the last one again and again."""

    replies: list[Reply]
    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    running: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)
    pages: dict[str, bytes] = field(default_factory=dict)  # of other paths

    def is_idle(self) -> bool:
        """Whether no request runs, once what was closed has been noticed."""
        with self.changed:
            return self.changed.wait_for(lambda: self.running == 0, PATIENCE_SECONDS)

    def is_busy(self) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: self.running > 0, PATIENCE_SECONDS)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._answer(reader, writer)
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        lengths = [line.split(":")[1] for line in head.lower().split("\r\n") if "content-length" in line]
        body = await reader.readexactly(int(lengths[0])) if lengths else b""
        path = head.split()[1]
        if path != "/v1/chat/completions":
            await self._show(path, writer)
            return
        self._count(1)
        try:
            self.asked.append(json.loads(body))
            await self._play(self.replies[min(len(self.asked), len(self.replies)) - 1], reader, writer)
        finally:
            self._count(-1)

    async def _show(self, path: str, writer: asyncio.StreamWriter) -> None:
        page = self.pages.get(path)
        status = "404 Not Found" if page is None else "200 OK"
        content = page or b"{}"
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(content)}\r\n".encode())
        writer.write(b"Content-Type: application/json\r\nConnection: close\r\n\r\n" + content)
        await writer.drain()

    async def _play(self, reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        whole = reply.status is not None
        if whole:
            writer.write(
                f"HTTP/1.1 {reply.status} Scripted\r\nContent-Type: {reply.content_type}\r\n".encode()
            )
            writer.write(b"Transfer-Encoding: chunked\r\n\r\n")
        for piece in reply.pieces:
            if isinstance(piece, bytes):
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if whole else piece)
                await writer.drain()
            elif piece is Do.WAIT:
                await reader.read()
                return
            else:
                self._break(writer, piece)
                return
        if whole:
            writer.write(b"0\r\n\r\n")
            await writer.drain()

    def _break(self, writer: asyncio.StreamWriter, how: Do) -> None:
        if how is Do.RESET:
            connection: socket.socket = writer.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

    def _count(self, change: int) -> None:
        with self.changed:
            self.running += change
            self.changed.notify_all()


@contextmanager
def scripted_engine(*replies: Reply) -> Iterator[ScriptedEngine]:
    engine = ScriptedEngine(list(replies))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="scripted engine")
    thread.start()
    server = asyncio.run_coroutine_threadsafe(
        asyncio.start_server(engine.serve, "127.0.0.1", 0), loop
    ).result()
    engine.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield engine
    finally:
        asyncio.run_coroutine_threadsafe(_stop(server), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _stop(server: asyncio.Server) -> None:
    server.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    for _ in range(TURNS):  # of the loop, in which what was closed lets go of its socket
        await asyncio.sleep(0)


# --- what vLLM says ----------------------------------------------------------------------------


def event(**fields: Any) -> bytes:
    return f"data: {json.dumps({'id': 'x', 'model': MODEL, **fields}, ensure_ascii=False)}\n\n".encode()


def token(content: str) -> bytes:
    return event(choices=[{"index": 0, "delta": {"content": content}, "finish_reason": None}])


def end(reason: str = "stop") -> bytes:
    return event(choices=[{"index": 0, "delta": {"content": ""}, "finish_reason": reason}])


def usage(read: int = 100, written: int = 20, **fields: Any) -> bytes:
    return event(choices=[], usage={"prompt_tokens": read, "completion_tokens": written}, **fields)


ROLE = event(choices=[{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}])
DONE = b"data: [DONE]\n\n"


def spoken(text: str, reason: str = "stop", signs: int = 5, **figures: Any) -> list[bytes]:
    """A whole stream, a token every few signs."""
    tokens = [token(text[start : start + signs]) for start in range(0, len(text), signs)]
    return [ROLE, *tokens, end(reason), usage(**figures), DONE]
