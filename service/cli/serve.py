"""`citeward serve`: the service over HTTP."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from service.app import serve as serve_forever
from service.cli.local import installation

app = typer.Typer()


@app.command()
def serve(
    context: typer.Context,
    host: Annotated[str | None, typer.Option(help="Address to listen on, instead of CITEWARD_HOST.")] = None,
    port: Annotated[
        int | None, typer.Option(help="Port, instead of CITEWARD_PORT.", min=1, max=65535)
    ] = None,
) -> None:
    """Run the service until it is stopped."""
    settings = installation(context).settings
    listening = replace(settings, host=host or settings.host, port=port or settings.port)
    serve_forever(listening)
