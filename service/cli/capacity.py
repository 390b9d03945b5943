"""`citeward capacity`: the memory that a model and its readers take, a file a command."""

from __future__ import annotations

import typer

from service.cli.capacity_geometry import geometry
from service.cli.capacity_plan import plan
from service.cli.capacity_raw import kv, weights
from service.cli.capacity_replay import replay

app = typer.Typer()
capacity = typer.Typer(help="The memory that a model and its readers take.", no_args_is_help=True)
app.add_typer(capacity, name="capacity")

capacity.command()(geometry)
capacity.command()(replay)
capacity.command()(plan)
capacity.command()(kv)
capacity.command()(weights)
