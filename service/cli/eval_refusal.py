"""`citeward eval refusal`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from service.answerable import written
from service.cli.loaded import local_embedder
from service.cli.local import installation
from service.cli.show import Json, progress, say, show_done, show_json, show_rows
from service.cli.writable import writable
from service.evaluation.answerability import fit_answerability
from service.evaluation.refusals import evaluate_refusals
from service.evaluation.report.refusal_page import refusal_page
from service.evaluation.sets.answerable import read_answerable


def refusal(
    context: typer.Context,
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Folders of sets.", exists=True, file_okay=False),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="An HTML file for the figures with risk–coverage curves.")
    ] = None,
    fit: Annotated[
        Path | None, typer.Option("--fit", help="Fit on half of these sets instead; a file for the weights.")
    ] = None,
    as_json: Json = False,
) -> None:
    """How often what the documents do not answer is refused, and what they do answer.

    A set is corpus.jsonl (or .jsonl.gz) and queries.jsonl with "answerable". Questions that a threshold was
    set on are left out. Nothing of a set goes into your collections.
    """
    sets = [one for folder in folders for one in read_answerable(folder)]
    for place in filter(None, (out, fit)):
        writable(place)
    settings, embedder = installation(context).settings, local_embedder(context)
    with progress() as watch:
        if fit is not None:
            fitted = fit_answerability(sets, settings, embedder, fit.stem, watch)
            fit.write_text(written(fitted), "utf-8")
            show_done(fitted, f"Written: {fit}", as_json)
            return
        refusals = evaluate_refusals(sets, settings, embedder, watch)
    if out is not None:
        out.write_text(refusal_page(refusals), "utf-8")
        say(f"Written: {out}")
    if as_json:
        show_json({"rows": refusals.rows, "versions": refusals.versions})
        return
    show_rows(refusals.rows, COLUMNS, as_json=False)


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
