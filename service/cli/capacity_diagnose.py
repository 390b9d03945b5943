"""`citeward capacity diagnose`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ingest.corpus.errors import CitewardError, InvalidInput
from service.adapters.chat_template import folder_of
from service.capacity.diagnose import Findings, Step
from service.capacity.diagnose import diagnose as ten_steps
from service.capacity.geometry import Geometry, geometries
from service.capacity.room import room_of
from service.capacity.self_test import find_drift
from service.capacity.shapes import Request, read_trace
from service.cli.local import installation, local_database
from service.cli.show import Json, say, show, show_json
from service.engine.cache import CacheSeen
from service.engine.launch import find_model
from service.engine.metrics import Counted, counted
from service.engine.probe import ANSWER_SECONDS, exchange, served_model
from service.history import lengths_of_answers
from service.settings import ServiceSettings

MARKS = {"well": "   ", "look": " ! ", "wrong": "!!!", "unknown": " ? "}
MOST_ANSWERS = 1_000


def diagnose(
    context: typer.Context,
    vllm: Annotated[
        str | None, typer.Option("--vllm", help="Address of the engine; else that of the settings.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option("--model", help="Folder of its config.json; else that of CITEWARD_LLM.")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option("--trace", help="JSONL with the lengths that it was load tested with.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Why is it slow, or out of memory? Ten steps, each with what was read, a verdict and what to do.

    Asks the engine and reads the lengths of the newest answers; changes nothing. Ends with 1 if something is
    wrong.
    """
    settings = installation(context).settings
    url = vllm or settings.engine_url
    if not url.startswith(("http://", "https://")):
        raise InvalidInput(
            f"{url!r} is no address of an engine.",
            next_step="Give it as http://127.0.0.1:8001.",
            field="vllm",
        )
    seen, geometry = _counted(url), _geometry(settings, model)
    longest = served_model(url).get("max_model_len") if seen else None
    room = room_of(seen.labels, longest, settings.kv_headroom) if seen and isinstance(longest, int) else None
    drift = None
    if room is not None and geometry is not None and seen is not None:
        drift = find_drift(geometry, CacheSeen(room, tuple(sorted(seen.labels.items()))))
    steps = ten_steps(
        Findings(
            counted=seen,
            room=room,
            drift=drift,
            geometry=geometry,
            real=_real(context),
            tested=read_trace(trace) if trace else (),
            max_new_tokens=settings.reserved_output,
            context_window=settings.context_window,
            headroom=settings.kv_headroom,
        )
    )
    if as_json:
        show_json({"steps": steps})
    else:
        for step in steps:
            _show(step)
    if any(step.verdict == "wrong" for step in steps):
        raise typer.Exit(1)


def _counted(url: str) -> Counted | None:
    try:
        return counted(exchange(f"{url}/metrics", ANSWER_SECONDS).decode("utf-8", "replace"))
    except OSError as error:
        say(f"The engine at {url} is not seen: {error}")
        return None


def _geometry(settings: ServiceSettings, model: Path | None) -> Geometry | None:
    if model is None and not settings.llm:
        return None
    try:
        folder = model or folder_of(find_model(settings.llm, settings.corpus.home))
        return next(iter(geometries(folder)))
    except CitewardError as error:
        if model is not None:
            raise
        say(f"The model is not seen: {error}")
        return None


def _real(context: typer.Context) -> tuple[Request, ...]:
    """Of the newest answers that a language model wrote, of all tenants: lengths only."""
    try:
        with local_database(context).reading() as session:
            return tuple(Request(*one) for one in lengths_of_answers(session, MOST_ANSWERS))
    except CitewardError:  # no data folder yet: then nothing was asked
        return ()


def _show(step: Step) -> None:
    show(f"{step.number:2}. {MARKS[step.verdict]} {step.title}")
    for one in step.read:
        show(f"         {one}")
    show(f"         → {step.why} {step.next_step}")
