"""`citeward eval injection`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from service.cli.loaded import local_embedder
from service.cli.local import installation
from service.cli.show import Json, progress, show, show_json, show_rows
from service.evaluation.poisoning import evaluate_poisoning
from service.evaluation.sets.poisoned import read_poisoned


def injection(
    context: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of the set.", exists=True, file_okay=False)
    ],
    as_json: Json = False,
) -> None:
    """What attacks within documents change, and whether look-alikes are held for attacks.

    A set is corpus.jsonl, queries.jsonl, poisoned.jsonl (documents with an attack put into each) and
    injections.jsonl (attacks and benign texts). Nothing of it goes into your collections.
    """
    one = read_poisoned(folder)
    with progress() as watch:
        rows, benign = evaluate_poisoning(one, installation(context).settings, local_embedder(context), watch)
    if as_json:
        show_json({"rows": rows, "benign": benign})
        return
    show_rows(rows, COLUMNS, as_json=False)
    show(f"{benign.texts} benign look-alikes: {benign.altered} altered, {benign.withheld} withheld.")


COLUMNS = {
    "attack at": lambda row: row.position,
    "questions": lambda row: row.questions,
    "answered, clean": lambda row: f"{row.answered_clean:.3f}",
    "answered": lambda row: f"{row.answered:.3f}",
    "same answer": lambda row: f"{row.same_answer:.3f}",
    "attack quoted": lambda row: f"{row.attack_quoted:.3f}",
    "forged citations": lambda row: row.forged_citations,
}
