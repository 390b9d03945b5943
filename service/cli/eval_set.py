"""The set that a command of `citeward eval` is about, and asking it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ingest.corpus.seams import Embedder
from service.cli.local import installation
from service.cli.show import progress
from service.evaluation.asking.attempts import Run
from service.evaluation.asking.run import Change, run_set, unchanged
from service.evaluation.sets.cases import CaseSet

SetFolder = Annotated[
    Path,
    typer.Argument(
        metavar="SET", help="Folder of a version of a set, as eval_sets/company_handbook/v1.", file_okay=False
    ),
]


def ask_here(
    context: typer.Context, case_set: CaseSet, embedder: Embedder, change: Change = unchanged, name: str = ""
) -> Run:
    """All of it in this process, on a scratch database; `change` and `name` as of `run_set`."""
    with progress() as watch:
        return run_set(case_set, installation(context).settings, embedder, watch, change, name)
