"""`citeward models`: packs of model files that need no model hub."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from ingest.models import installed, pull
from ingest.packs import PACKS
from service.cli.local import installation
from service.cli.show import Json, say, show_json, show_rows

app = typer.Typer()
models = typer.Typer(help="Model packs that need no model hub.", no_args_is_help=True)
app.add_typer(models, name="models")


@dataclass(frozen=True, slots=True)
class PackShown:
    name: str
    use: str  # "embedder" or "llm"
    installed: bool
    in_use: bool
    download_mb: int
    installed_mb: int
    licence: str
    origin: str
    summary: str


@models.command("list")
def list_(context: typer.Context, as_json: Json = False) -> None:
    """Which there are, which are here, which are in use; whose they are and under which licence."""
    settings = installation(context).settings
    here = installed(settings.corpus.home)
    rows = [
        PackShown(
            name=one.name,
            use=one.use,
            installed=one.name in here,
            in_use=one.name in (settings.corpus.embedder, settings.llm),
            download_mb=one.download_mb,
            installed_mb=one.installed_mb,
            licence=one.licence,
            origin=one.origin,
            summary=one.summary,
        )
        for one in PACKS
    ]
    columns = {
        "name": lambda row: row.name,
        "use": lambda row: row.use,
        "here": lambda row: "yes" if row.installed else "no",
        "in use": lambda row: "yes" if row.in_use else "no",
        "download": lambda row: f"{row.download_mb} MB",
        "licence": lambda row: row.licence,
        "origin": lambda row: row.origin,
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
