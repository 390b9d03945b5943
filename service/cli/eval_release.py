"""`citeward eval release`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ingest.corpus.errors import InvalidInput
from service.adapters.causal_lm import CausalLanguageModel
from service.adapters.chat_template import folder_of
from service.cli.exits import CANNOT_TELL, MAY_NOT_SHIP
from service.cli.local import installation
from service.cli.show import Json, progress, show, show_json, show_rows
from service.engine.launch import find_model
from service.evaluation.releasing.release import Folders, Release, compare_models
from service.evaluation.sets.released import read_case_set

SHIPPED = Path("eval_sets", "company_handbook", "v1")
EXITS = {"ships": 0, "does not ship": MAY_NOT_SHIP, "cannot tell": CANNOT_TELL}
MODEL = "a model pack, a model folder, or a hub id that is in the local cache."
RUN = "Folder of a finished run of the set with it, by `citeward eval run SET --out`."


def release(
    context: typer.Context,
    base: Annotated[str, typer.Argument(metavar="BASE", help=f"The unquantised baseline: {MODEL}")],
    candidate: Annotated[
        str, typer.Argument(metavar="CANDIDATE", help=f"What is to take its place: {MODEL}")
    ],
    case_set: Annotated[Path, typer.Option("--set", help="Folder of a version of a set.")] = SHIPPED,
    base_run: Annotated[Path | None, typer.Option("--base-run", help=RUN)] = None,
    candidate_run: Annotated[Path | None, typer.Option("--candidate-run", help=RUN)] = None,
    perplexity: Annotated[
        bool, typer.Option(help="Read the set's documents with both models, in this process, on the CPU.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Whether a changed or quantised model may take its baseline's place: by slice, in pairs, with reasons.

    Perplexity is computed here. Task quality, stability, TTFT, ITL and throughput come from a run of the set
    with each model, and it does not ship without. Ends with 0 if it ships, 3 if it does not, and 4 if nobody
    can tell. With 1 or 2 it ends as any command does, if something failed or the call cannot be right, as
    with a set that is too small or has one language only: that is no verdict.
    """
    _require_something_to_compare(base_run, candidate_run, perplexity)
    with progress() as watch:
        found = compare_models(
            Folders(_model(context, base), base_run),
            Folders(_model(context, candidate), candidate_run),
            read_case_set(case_set),
            CausalLanguageModel if perplexity else None,
            watch,
        )
    if as_json:
        show_json(found)
    else:
        _show(found)
    raise typer.Exit(EXITS[found.verdict.said])


def _model(context: typer.Context, name: str) -> Path:
    """Where its files lie."""
    found = find_model(name, installation(context).settings.corpus.home)
    return Path(found) if Path(found).is_dir() else folder_of(found)


def _require_something_to_compare(
    base_run: Path | None, candidate_run: Path | None, perplexity: bool
) -> None:
    if (base_run is None) != (candidate_run is None):
        raise InvalidInput(
            "One run alone cannot be compared.", next_step="Give --base-run and --candidate-run, or neither."
        )
    if base_run is None and not perplexity:
        raise InvalidInput(
            "Without perplexity and without runs there is nothing to compare.",
            next_step="Leave --no-perplexity out, or give --base-run and --candidate-run.",
        )


def _show(found: Release) -> None:
    show_rows(found.rows, ROWS, as_json=False)
    show("")
    show_rows(found.served, SERVED, as_json=False)
    show(f"\n{found.candidate} in place of {found.base}, by {found.set}: {found.verdict.said}.")
    for reason in found.verdict.reasons:
        show(f"  {reason}")


def _number(value: float | None, digits: int = 3) -> str:
    return "not measured" if value is None else f"{value:,.{digits}f}"


ROWS = {
    "figure": lambda one: one.figure,
    "slice": lambda one: one.slice,
    "before": lambda one: _number(one.before),
    "after": lambda one: _number(one.after),
    "loss": lambda one: "" if one.loss is None else f"{one.loss:+.3f}",
    "95 %": lambda one: "" if one.low is None else f"{one.low:+.3f} to {one.high:+.3f}",
    "margin": lambda one: f"{one.margin:.2f}",
    "would be seen": lambda one: "" if one.smallest_seen is None else f"{one.smallest_seen:.3f}",
    "pairs": lambda one: f"{one.items} of {one.least}" if one.items < one.least else one.items,
    "finding": lambda one: one.finding,
}
SERVED = {
    "figure": lambda one: one.figure,
    "before": lambda one: _number(one.before, 1),
    "after": lambda one: _number(one.after, 1),
    "unit": lambda one: one.unit,
}
