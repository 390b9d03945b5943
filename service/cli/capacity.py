"""`citeward capacity`: what memory a model and its readers take, what a service bears; a file a command."""

from __future__ import annotations

import typer

from service.cli.capacity_diagnose import diagnose
from service.cli.capacity_geometry import geometry
from service.cli.capacity_load import load
from service.cli.capacity_plan import plan
from service.cli.capacity_raw import kv, weights
from service.cli.capacity_replay import replay

app = typer.Typer()
capacity = typer.Typer(
    help="What memory a model and its readers take, and what a service bears.", no_args_is_help=True
)
app.add_typer(capacity, name="capacity")

capacity.command()(geometry)
capacity.command()(replay)
capacity.command()(plan)
capacity.command()(load)
capacity.command()(diagnose)
capacity.command()(kv)
capacity.command()(weights)
