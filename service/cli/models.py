"""`citeward models`: packs of model files that need no model hub."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from ingest.models import PACKS, installed, pull
from service.cli.local import installation
from service.cli.show import Json, say, show_json, show_rows

app = typer.Typer()
models = typer.Typer(help="Model packs that need no model hub.", no_args_is_help=True)
app.add_typer(models, name="models")


@dataclass(frozen=True, slots=True)
class PackShown:
    name: str
    installed: bool
    in_use: bool
    download_mb: int
    installed_mb: int
    licence: str
    summary: str


@models.command("list")
def list_(context: typer.Context, as_json: Json = False) -> None:
    """Which there are, which are here, which is in use."""
    corpus = installation(context).settings.corpus
    here = installed(corpus.home)
    rows = [
        PackShown(
            one.name,
            one.name in here,
            one.name == corpus.embedder,
            one.download_mb,
            one.installed_mb,
            one.licence,
            one.summary,
        )
        for one in PACKS
    ]
    columns = {
        "name": lambda row: row.name,
        "here": lambda row: "yes" if row.installed else "no",
        "in use": lambda row: "yes" if row.in_use else "no",
        "download": lambda row: f"{row.download_mb} MB",
        "licence": lambda row: row.licence,
        "what it is": lambda row: row.summary,
    }
    show_rows(rows, columns, as_json)


@models.command("pull")
def pull_(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="As `citeward models list` shows it.")],
    as_json: Json = False,
) -> None:
    """Download, verify and convert a pack; one that is here already stays as it is."""
    folder = pull(name, installation(context).settings.corpus.home, say)
    if as_json:
        show_json({"name": name, "folder": folder})
