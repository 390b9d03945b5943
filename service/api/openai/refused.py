"""Errors as OpenAI's clients read them; the statuses and codes are those of all routes."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from service.api.door import DESCRIBED, Handler, ReaderRoute
from service.api.edge import REQUEST_ID, problem_of_any
from service.api.errors import Problem, headers_of, to_json

TYPES = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.NOT_FOUND: "not_found_error",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
}
SHAPE = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": "string"},
            },
        }
    },
}


class OpenAIRoute(ReaderRoute):
    """For everybody with a key, whatever goes wrong told in OpenAI's shape."""

    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()

        async def in_its_shape(request: Request) -> Response:
            try:
                return await handle(request)
            except Exception as error:  # the edge of these routes, as `Edge` is of all
                return error_response(problem_of_any(error, request.scope[REQUEST_ID]))

        return in_its_shape

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A method that there is not is refused before the handler is asked."""
        try:
            await super().handle(scope, receive, send)
        except HTTPException as error:
            response = error_response(problem_of_any(error, scope[REQUEST_ID]))
            response.headers.update(error.headers or {})
            await response(scope, receive, send)


def openai_routes() -> APIRouter:
    return APIRouter(
        route_class=OpenAIRoute, dependencies=DESCRIBED, tags=["openai"], responses=told_as_errors(401)
    )


def told_as_errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors that a route gives, for its OpenAPI description."""
    content = {"application/json": {"schema": SHAPE}}
    return {status: {"description": HTTPStatus(status).phrase, "content": content} for status in statuses}


def error_of(problem: Problem) -> dict[str, Any]:
    """The error itself, without its status."""
    said = (problem.detail, problem.why, problem.next_step)
    kind = "invalid_request_error" if problem.status < HTTPStatus.INTERNAL_SERVER_ERROR else "server_error"
    return {
        "message": " ".join(one for one in said if one),
        "type": TYPES.get(HTTPStatus(problem.status), kind),
        "param": problem.field,
        "code": problem.code,
    }


def error_response(problem: Problem) -> Response:
    body = to_json({"error": error_of(problem)})
    return Response(body, problem.status, headers_of(problem), media_type="application/json")
