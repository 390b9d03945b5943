"""`citeward eval compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ingest.corpus.errors import InvalidInput
from service.cli.eval_set import SetFolder
from service.cli.show import Json, show_rows
from service.evaluation.scoring.compare import compare as compare_scores
from service.evaluation.scoring.sheet import read_sheet
from service.evaluation.sets.external import read_cases


def compare(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="scores.jsonl of one run.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="scores.jsonl of another.")],
    folder: SetFolder,
    as_json: Json = False,
) -> None:
    """What changed between two runs of a set, question by question, and whether chance could have done it."""
    case_set, first, second = read_cases(folder), read_sheet(before), read_sheet(after)
    for sheet, path in ((first, before), (second, after)):
        if sheet.set_sha256 != case_set.sha256:
            raise InvalidInput(
                f"{path} is of {sheet.set}, not of this {case_set.label}.",
                next_step="Give the set that both runs are of.",
            )
    show_rows(compare_scores(first.scores, second.scores, case_set), DIFFERENCES, as_json)


DIFFERENCES = {
    "score": lambda one: one.name,
    "slice": lambda one: one.slice if one.by == "all" else f"{one.by} {one.slice}",
    "before": lambda one: f"{one.before:.3f}",
    "after": lambda one: f"{one.after:.3f}",
    "95 % of the change": lambda one: f"{one.low:+.3f} to {one.high:+.3f}",
    "by chance": lambda one: f"{one.chance:.3f}",
    "questions": lambda one: one.items,
}
