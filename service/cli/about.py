"""`citeward version` and `citeward settings`."""

from __future__ import annotations

import platform
from importlib.metadata import version as version_of

import typer

from service.cli.show import Json, show_done, show_rows
from service.settings import load_settings, show_settings

app = typer.Typer()


@app.command()
def version(as_json: Json = False) -> None:
    """Which version this is."""
    found = {"citeward": version_of("citeward"), "python": platform.python_version()}
    show_done(found, f"citeward {found['citeward']} (Python {found['python']})", as_json)


@app.command()
def settings(as_json: Json = False) -> None:
    """Every setting, its value, where it comes from and what it is for."""
    columns = {
        "setting": lambda row: row.variable,
        "value": lambda row: row.value,
        "origin": lambda row: row.origin,
        "what it is": lambda row: row.describes,
    }
    show_rows(tuple(show_settings(load_settings())), columns, as_json)
