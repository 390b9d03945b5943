"""Around every request: an id, headers that keep browsers from harm, one log line, one count, crashes.

Plain ASGI, because a wrapper that reads the response would hide from a stream that its client left.
"""

from __future__ import annotations

import json
import logging
import time
import traceback
from dataclasses import dataclass

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ingest.corpus.ids import new_id
from service.api.errors import Problem, internal_problem, internal_response, problem_for
from service.api.metrics import Metrics

LOG = logging.getLogger("citeward.requests")
REQUEST_ID = "citeward.request_id"  # its key in the ASGI scope
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "Cache-Control": "no-store",  # what somebody may read now he may not be able to read later
}


@dataclass(slots=True)
class Passage:
    """One request on its way through."""

    request_id: str
    started: float
    status: int = 0  # 0: no response has begun


class Edge:
    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        passage = Passage(new_id("req"), time.perf_counter())
        scope[REQUEST_ID] = passage.request_id

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                passage.status = message["status"]
                _add_headers(message, passage.request_id)
            await send(message)

        try:
            await self.app(scope, receive, send_with_headers)
        except Exception as error:  # the last place where a crash can still become an answer
            log_crash(error, passage.request_id)
            if not passage.status:  # else the response has begun, and the server breaks it off
                await internal_response()(scope, receive, send_with_headers)
        finally:
            self._note(scope, passage)

    def _note(self, scope: Scope, passage: Passage) -> None:
        seconds = time.perf_counter() - passage.started
        route = getattr(scope.get("route"), "path", "unmatched")
        principal = scope.get("state", {}).get("principal")
        self.metrics.count_request(scope["method"], route, passage.status, seconds)
        LOG.info(
            json.dumps(
                {
                    "event": "request",
                    "request_id": passage.request_id,
                    "tenant": principal and principal.tenant_id,
                    "user": principal and principal.user_id,
                    "method": scope["method"],
                    "route": route,
                    "status": passage.status,
                    "ms": round(seconds * 1000, 1),
                }
            )
        )


def _add_headers(message: Message, request_id: str) -> None:
    headers = MutableHeaders(scope=message)
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    headers["X-Request-Id"] = request_id


def problem_of_any(error: Exception, request_id: str) -> Problem:
    """What to tell of it, where the application's own handlers do not; a crash is logged."""
    problem = problem_for(error)
    if problem is None:  # what nobody foresaw
        log_crash(error, request_id)
        return internal_problem()
    return problem


def log_crash(error: Exception, request_id: str) -> None:
    """Where it broke, not what it says: messages of libraries quote the texts that they were given."""
    where = [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
    LOG.error(
        json.dumps(
            {"event": "crash", "request_id": request_id, "error": type(error).__name__, "at": where[-12:]}
        )
    )
