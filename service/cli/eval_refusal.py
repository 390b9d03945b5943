"""`citeward eval refusal`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from service.cli.loaded import local_embedder
from service.cli.local import installation
from service.cli.show import Json, progress, show_json, show_rows
from service.evaluation.refusals import evaluate_refusals
from service.evaluation.sets.answerable import read_answerable


def refusal(
    context: typer.Context,
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Folders of sets.", exists=True, file_okay=False),
    ],
    as_json: Json = False,
) -> None:
    """How often what the documents do not answer is refused, and what they do answer.

    A set is corpus.jsonl (or .jsonl.gz) and queries.jsonl with "answerable". Questions that a threshold was
    set on are left out. Nothing of a set goes into your collections.
    """
    sets = [one for folder in folders for one in read_answerable(folder)]
    with progress() as watch:
        rows, versions = evaluate_refusals(
            sets, installation(context).settings, local_embedder(context), watch
        )
    if as_json:
        show_json({"rows": rows, "versions": versions})
        return
    show_rows(rows, COLUMNS, as_json=False)


def _rate(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.3f}"


COLUMNS = {
    "set": lambda row: row.set,
    "language": lambda row: row.lang,
    "kind": lambda row: row.kind,
    "unanswerable": lambda row: row.unanswerable,
    "refused": lambda row: _rate(row.refused_rate),
    "before drafting": lambda row: _rate(row.refused_before_drafting_rate),
    "answerable": lambda row: row.answerable,
    "refused wrongly": lambda row: _rate(row.over_refusal_rate),
    "wrongly before drafting": lambda row: _rate(row.over_refused_before_drafting_rate),
}
