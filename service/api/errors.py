"""The one place where an error becomes an HTTP status: RFC 9457 problems that say what, why and what next.

What is missing and what is forbidden get the same bytes, whatever the error knows; so do all bad credentials.
A document holds no request id, which would make equal answers differ: it stands in the header `X-Request-Id`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from ingest.corpus.errors import (
    CitewardError,
    Conflict,
    FingerprintMismatch,
    InvalidInput,
    ModelBadOutput,
    ModelFailed,
    ModelTimeout,
    NoCapacity,
    NotFound,
    Overloaded,
    SnapshotDamaged,
    TooLarge,
    Unauthenticated,
    Unavailable,
    Unreadable,
)

STATUSES: dict[type[CitewardError], HTTPStatus] = {
    InvalidInput: HTTPStatus.UNPROCESSABLE_ENTITY,
    Unreadable: HTTPStatus.UNPROCESSABLE_ENTITY,
    Unauthenticated: HTTPStatus.UNAUTHORIZED,
    NotFound: HTTPStatus.NOT_FOUND,
    Conflict: HTTPStatus.CONFLICT,
    TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    Unavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    FingerprintMismatch: HTTPStatus.SERVICE_UNAVAILABLE,
    SnapshotDamaged: HTTPStatus.SERVICE_UNAVAILABLE,
    Overloaded: HTTPStatus.TOO_MANY_REQUESTS,
    NoCapacity: HTTPStatus.SERVICE_UNAVAILABLE,
    ModelFailed: HTTPStatus.SERVICE_UNAVAILABLE,
    ModelBadOutput: HTTPStatus.BAD_GATEWAY,
    ModelTimeout: HTTPStatus.GATEWAY_TIMEOUT,
    CitewardError: HTTPStatus.INTERNAL_SERVER_ERROR,
}
MISSING = NotFound(
    "There is no such thing, or you may not see it.", next_step="Check the address and the ids in it."
)
NOT_KNOWN = Unauthenticated(
    "No valid key came with the request.",
    next_step="Send a key that an admin has made for you: Authorization: Bearer cw_…",
)
RETRY_AFTER_SECONDS = 2  # where nobody can say better
LONGEST_VALUE = 60  # characters of a value that is shown back
MOST_ERRORS = 10  # of one body
MEDIA_TYPE = "application/problem+json"


class Problem(BaseModel):
    """An error as clients get it."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    why: str | None = None
    next_step: str | None = None
    field: str | None = None
    retry_after: int | None = None  # seconds; in a stream, too, where there is no header for it


class Refused(HTTPException):
    """Carries an error of ours out of FastAPI's reading of the body, which lets only this kind through."""

    def __init__(self, error: CitewardError) -> None:
        super().__init__(status_of(error))
        self.error = error


def status_of(error: CitewardError) -> HTTPStatus:
    if isinstance(error, Unreadable) and error.code == "unsupported_type":
        return HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def problem_of(error: CitewardError) -> Problem:
    if isinstance(error, NotFound):
        error = MISSING
    if isinstance(error, Unauthenticated):
        error = NOT_KNOWN
    problem = _problem(status_of(error), error.code, error.what, error.why, error.next_step, error.field)
    if isinstance(error, Overloaded):
        problem.retry_after = error.retry_after_seconds
    return problem


def problem_response(error: CitewardError) -> Response:
    return _respond(problem_of(error))


def internal_problem() -> Problem:
    """For what nobody foresaw; the log has it under the request id."""
    return _problem(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "internal",
        "Something went wrong here.",
        next_step="Tell the operator the X-Request-Id of this response.",
    )


def internal_response() -> Response:
    return _respond(internal_problem())


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors that a route gives, for its OpenAPI description."""
    return {status: _described(HTTPStatus(status)) for status in statuses}


def handle_errors(app: FastAPI) -> None:
    for kind in (CitewardError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _on_error)


async def _on_error(_request: Request, error: Exception) -> Response:
    problem = problem_for(error)
    assert problem is not None
    response = _respond(problem)
    if isinstance(error, HTTPException):
        response.headers.update(error.headers or {})
    return response


def problem_for(error: Exception) -> Problem | None:
    """None for what nobody foresaw."""
    if isinstance(error, CitewardError):
        return problem_of(error)
    if isinstance(error, RequestValidationError):
        return problem_of(_invalid(error.errors()))
    return _problem_of_http(error) if isinstance(error, HTTPException) else None


def _problem_of_http(error: HTTPException) -> Problem:
    if isinstance(error, Refused):
        return problem_of(error.error)
    if error.status_code == HTTPStatus.NOT_FOUND:
        return problem_of(MISSING)
    if error.status_code == HTTPStatus.BAD_REQUEST:  # the framework's word for a form that it cannot read
        return problem_of(InvalidInput("The body cannot be read.", next_step="Correct the request."))
    status = HTTPStatus(error.status_code)
    return _problem(status, status.name.lower(), f"{status.description or status.phrase}.")


def _invalid(errors: Sequence[Any]) -> InvalidInput:
    """The first error leads; the others follow in the reason."""
    said = [_say(error) for error in errors[:MOST_ERRORS]]
    return InvalidInput(
        said[0],
        why=" ".join(said[1:]),
        next_step="Correct the request; /openapi.json describes it.",
        field=_field(errors[0]),
    )


def _say(error: Any) -> str:
    if error["type"] == "json_invalid":
        return f"The body is not JSON that can be accepted: {error['ctx']['error']}."
    if error["type"] == "model_attributes_type" and _field(error) == "body":
        return "The body is not a JSON object, or came without Content-Type: application/json."
    met = repr(error.get("input"))
    shown = met if len(met) <= LONGEST_VALUE else f"{met[:LONGEST_VALUE]}…"
    return f"{_field(error)}: {error['msg']}; it was {shown}."


def _field(error: Any) -> str:
    if error["type"] == "json_invalid":  # its place is an offset, which would look like a field's name
        return "body"
    place = [str(part) for part in error["loc"] if part not in ("body", "query", "path")]
    return ".".join(place)[:LONGEST_VALUE] or "body"


def _problem(
    status: HTTPStatus, code: str, detail: str, why: str = "", next_step: str = "", field: str | None = None
) -> Problem:
    return Problem(
        type=f"urn:citeward:problem:{code}",
        title=status.phrase,
        status=status,
        detail=detail,
        code=code,
        why=why or None,
        next_step=next_step or None,
        field=field,
    )


def _respond(problem: Problem) -> Response:
    body = to_json(problem.model_dump(mode="json", exclude_none=True))
    return Response(body, problem.status, headers_of(problem), media_type=MEDIA_TYPE)


def to_json(value: Any) -> bytes:
    """A client may send half a surrogate pair in the name of a field, and it must not break the answer."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")


def headers_of(problem: Problem) -> dict[str, str]:
    """Those that a status calls for, whatever the shape of its body."""
    if problem.status == HTTPStatus.UNAUTHORIZED:
        return {"WWW-Authenticate": 'Bearer realm="citeward"'}
    if problem.retry_after or problem.status == HTTPStatus.SERVICE_UNAVAILABLE:
        return {"Retry-After": str(problem.retry_after or RETRY_AFTER_SECONDS)}
    return {}


def _described(status: HTTPStatus) -> dict[str, Any]:
    return {
        "description": status.phrase,
        "content": {MEDIA_TYPE: {"schema": Problem.model_json_schema()}},
    }
