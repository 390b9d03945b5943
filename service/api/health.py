"""Is it alive, is it ready, what has it counted, how is it called: for machines, mostly on this one."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse, JSONResponse

from ingest.corpus.errors import Unauthenticated
from service.api.door import authenticate
from service.api.errors import MISSING, problems
from service.api.state import Serving, service_of
from service.engine.probe import what_is_wrong
from service.migrate import schema_is_current

FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")  # a proxy on this machine is not an operator
routes = APIRouter(tags=["health"])


def operators_only(request: Request) -> None:
    """:raises NotFound: unless the call comes from this machine or with an admin's key."""
    if not _comes_from_here(request) and not _comes_from_admin(request):
        raise MISSING


OperatorsOnly = Annotated[None, Depends(operators_only)]


@routes.get("/healthz", summary="Is the process alive?")
def healthz() -> dict[str, str]:
    return {"status": "alive"}


@routes.get("/readyz", summary="Can it answer?", responses=problems(404, 503))
def readyz(_: OperatorsOnly, service: Serving) -> JSONResponse:
    """The embedder was loaded before the first request; database, schema and engine are asked now."""
    current = schema_is_current(service.parts.database)
    checks = {"embedder": "loaded", "database": "reachable", "schema": "current" if current else "old"}
    ready, settings = current, service.parts.settings
    if settings.llm:
        wrong = what_is_wrong(settings.engine_url, settings.llm, settings.context_window)
        quoting = settings.on_engine_failure == "quoting"
        checks["engine"] = "ready" if wrong is None else f"{wrong}{': answers are quoted' if quoting else ''}"
        ready = current and (wrong is None or quoting)
    if service.parts.admission is not None:
        checks["capacity"] = service.parts.admission.room.standing()
    return JSONResponse(
        {"status": "ready" if ready else "not ready", "checks": checks}, 200 if ready else 503
    )


@routes.get(
    "/metrics",
    summary="Prometheus metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}}, **problems(404)},
)
def metrics(_: OperatorsOnly, service: Serving) -> Response:
    return Response(service.metrics.exposition(), media_type="text/plain; version=0.0.4; charset=utf-8")


@routes.get("/openapi.json", include_in_schema=False)
def openapi(_: OperatorsOnly, request: Request) -> dict[str, Any]:
    description: dict[str, Any] = request.app.openapi()
    return description


@routes.get("/docs", include_in_schema=False)
def docs(_: OperatorsOnly) -> HTMLResponse:
    page = get_swagger_ui_html(openapi_url="/openapi.json", title="Citeward")
    page.headers["Content-Security-Policy"] = "frame-ancestors 'none'"  # the page loads its viewer from a CDN
    return page


def _comes_from_here(request: Request) -> bool:
    if request.client is None or any(name in request.headers for name in FORWARDED):
        return False
    try:
        return ip_address(request.client.host).is_loopback
    except ValueError:  # a test client or a socket file has no address
        return False


def _comes_from_admin(request: Request) -> bool:
    try:
        return authenticate(request, service_of(request)).role == "admin"
    except Unauthenticated:
        return False
