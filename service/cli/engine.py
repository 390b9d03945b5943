"""`citeward engine`: the server of the language model, vLLM, as a process of its own."""

from __future__ import annotations

from dataclasses import dataclass

import typer

from service.cli.local import installation
from service.cli.show import Json, say, show, show_done, show_json
from service.engine import server
from service.engine.launch import has_gpu, plan
from service.engine.server import EngineStatus, engine_folder

app = typer.Typer()
engine = typer.Typer(help="The language model's server (vLLM).", no_args_is_help=True)
app.add_typer(engine, name="engine")


@dataclass(frozen=True, slots=True)
class Stopped:
    stopped: bool  # False: none was running


@engine.command()
def start(context: typer.Context, as_json: Json = False) -> None:
    """Start it with the model that CITEWARD_LLM names, and return when it is ready."""
    settings = installation(context).settings
    _show(server.start(plan(settings, has_gpu()), engine_folder(settings), say), as_json)


@engine.command()
def status(context: typer.Context, as_json: Json = False) -> None:
    """Whether it runs, whether it answers, with which model, and how many tokens its KV cache holds."""
    settings = installation(context).settings
    _show(server.status(settings.engine_url, engine_folder(settings)), as_json)


@engine.command()
def stop(context: typer.Context, as_json: Json = False) -> None:
    """Stop it, with all the processes that it started."""
    stopped = server.stop(engine_folder(installation(context).settings))
    show_done(
        Stopped(stopped), "The engine is stopped." if stopped else "The engine was not running.", as_json
    )


def _show(found: EngineStatus, as_json: bool) -> None:
    if as_json:
        show_json(found)
        return
    state = "ready" if found.ready else "not ready yet" if found.running else "not running"
    show(f"The engine is {state}: {found.url}")
    if found.model is not None:
        show(f"  model           {found.model}")
    if found.max_model_len is not None:
        show(f"  longest         {found.max_model_len:,} tokens in one sequence")
    if found.kv_tokens is not None:
        show(f"  KV cache        {found.kv_tokens:,} tokens ({found.kv_blocks} blocks of {found.block_size})")
    if found.uptime_seconds is not None:
        show(f"  running for     {found.uptime_seconds} s, process {found.pid}, log {found.log}")
    elif found.ready:
        show("  It was not started by `citeward engine start` with this data folder.")
