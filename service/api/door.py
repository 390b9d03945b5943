"""What every request passes before its endpoint: who asks, may he call this, how much does he send.

Nothing of the body is read before the first two are settled.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Annotated, Any
from urllib.parse import unquote

from anyio import to_thread
from fastapi import APIRouter, Depends, Request, Response, Security
from fastapi.routing import APIRoute
from fastapi.security import APIKeyHeader, HTTPBearer
from starlette.types import Message, Receive

from ingest.corpus import people
from ingest.corpus.errors import TooLarge
from ingest.corpus.types import Principal
from service.api.errors import MISSING, NOT_KNOWN, Refused, problems
from service.api.state import Service, service_of
from service.settings import ServiceSettings

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
FORM_BYTES = 64 * 1024  # what a form may hold beside its file
# They describe the two headers in OpenAPI; the door reads them itself, before anything else.
DESCRIBED = [
    Security(HTTPBearer(auto_error=False, description="An API key: cw_…")),
    Security(APIKeyHeader(name="X-API-Key", auto_error=False)),
]


class StrictRequest(Request):
    """A request whose JSON is refused where two readers could understand it differently."""

    async def json(self) -> Any:
        return parse_strictly(await self.body())


class ReaderRoute(APIRoute):
    """For everybody with a key."""

    admins_only = False

    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()

        async def at_the_door(request: Request) -> Response:
            service = service_of(request)
            request.state.principal = await to_thread.run_sync(authenticate, request, service)
            _refuse_wrong_caller(request, self.admins_only)
            receive = limited(request.receive, self.body_bytes(service.parts.settings), request)
            return await handle(StrictRequest(request.scope, receive))

        return at_the_door

    def body_bytes(self, settings: ServiceSettings) -> int:
        return settings.max_body_bytes


class AdminRoute(ReaderRoute):
    """For admins; to anybody else it does not exist."""

    admins_only = True


class UploadRoute(AdminRoute):
    """For admins, with room for a file."""

    def body_bytes(self, settings: ServiceSettings) -> int:
        return settings.corpus.max_upload_bytes + FORM_BYTES


def reader_routes(tag: str) -> APIRouter:
    return APIRouter(route_class=ReaderRoute, dependencies=DESCRIBED, tags=[tag], responses=problems(401))


def admin_routes(tag: str) -> APIRouter:
    return APIRouter(route_class=AdminRoute, dependencies=DESCRIBED, tags=[tag], responses=problems(401, 404))


def upload_routes(tag: str) -> APIRouter:
    return APIRouter(
        route_class=UploadRoute, dependencies=DESCRIBED, tags=[tag], responses=problems(401, 404)
    )


def principal_of(request: Request) -> Principal:
    principal = request.state.principal
    assert isinstance(principal, Principal)
    return principal


Asker = Annotated[Principal, Depends(principal_of)]


def authenticate(request: Request, service: Service) -> Principal:
    """Who shows the one credential of the request, with role and groups of this moment.

    :raises Unauthenticated: for none, several, an invalid one, or one in the address, where logs keep it.
    """
    shown = _credentials(request)
    if len(shown) != 1 or people.CREDENTIAL.search(unquote(request.url.query)):
        raise NOT_KNOWN
    with service.parts.database.reading() as session:
        return people.authenticate(session, service.key_secret, shown[0])


def _credentials(request: Request) -> list[str]:
    bearers = [value.partition(" ") for value in request.headers.getlist("authorization")]
    shown = [secret.strip() if scheme.lower() == "bearer" else "" for scheme, _, secret in bearers]
    return shown + request.headers.getlist("x-api-key")


def _refuse_wrong_caller(request: Request, admins_only: bool) -> None:
    if admins_only and request.state.principal.role != "admin":
        raise MISSING
    if any("\0" in str(value) for value in request.path_params.values()):  # PostgreSQL refuses it
        raise MISSING


def limited(receive: Receive, most_bytes: int, request: Request) -> Receive:
    """`receive`, but for a body above the limit: by its announced length before a byte is read."""
    announced = request.headers.get("content-length", "")
    total = int(announced) if announced.isdecimal() else 0
    seen = 0

    async def receive_within_limit() -> Message:
        nonlocal seen
        message = await receive() if total <= most_bytes else {"type": "http.request", "body": b""}
        seen += len(message.get("body", b""))
        if max(seen, total) > most_bytes:
            raise Refused(_too_large(most_bytes))
        return message

    return receive_within_limit


def _too_large(most_bytes: int) -> TooLarge:
    return TooLarge(
        f"The body is larger than {most_bytes:,} bytes.",
        why="That is the limit here.",
        next_step="Send less, or split it.",
    )


def parse_strictly(body: bytes) -> Any:
    """JSON by RFC 8259, in UTF-8, without repeated names, NaN, Infinity, lone surrogates and zero characters.

    :raises json.JSONDecodeError: for anything else; the framework turns it into a refusal.
    """
    try:
        value = json.loads(body.decode(), object_pairs_hook=_without_repeats, parse_constant=_refuse_constant)
        _refuse_unstorable(value)
    except json.JSONDecodeError:
        raise
    except UnicodeDecodeError as error:
        raise json.JSONDecodeError("it is not UTF-8", "", error.start) from None
    except RecursionError:
        raise json.JSONDecodeError("it is nested too deeply", "", 0) from None
    except ValueError as error:
        raise json.JSONDecodeError(str(error), "", 0) from None
    return value


def _refuse_unstorable(value: Any) -> None:
    """:raises ValueError: for a string, wherever it stands, that UTF-8 or the database cannot hold."""
    if isinstance(value, str) and ("\0" in value or any("\ud800" <= one <= "\udfff" for one in value)):
        raise ValueError(f"{value[:60]!r} holds a character that cannot be stored")
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list):
        for one in value:
            _refuse_unstorable(one)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} occurs twice")
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")
