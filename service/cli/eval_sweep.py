"""`citeward eval sweep`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ingest.corpus.errors import InvalidInput
from service.checking.judge import LexicalSemanticJudge
from service.cli.eval_set import SetFolder, say_asked
from service.cli.loaded import local_embedder
from service.cli.local import installation
from service.cli.show import Json, progress, say, show_json, show_rows
from service.cli.writable import writable
from service.evaluation.report.page import report_page
from service.evaluation.sets.cases import part_of
from service.evaluation.sets.released import read_case_set
from service.evaluation.sweep import sweep_report, sweep_set

ROOMS = "256,512,1024,2048"  # the last is about as much as the most passages that are taken have
EVERY = 3  # of the shipped set 83 questions: intervals of .1 to either side, in some minutes


def sweep(
    context: typer.Context,
    folder: SetFolder,
    evidence_tokens: Annotated[
        str, typer.Option("--evidence-tokens", help="Budgets of evidence in tokens, with commas between.")
    ] = ROOMS,
    every: Annotated[int, typer.Option("--every", help="Ask one of so many questions; 1: all.")] = EVERY,
    out: Annotated[Path | None, typer.Option("--out", help="The report's file.")] = None,
    as_json: Json = False,
) -> None:
    """Quality and TTFT by how many tokens of evidence an answer may have: which CITEWARD_MAX_EVIDENCE_TOKENS?

    Asks in this process, with the settings in force but for that one, and keeps answers as `eval run` does.
    Writes the report of the run with the most room, with the curve over all.
    """
    rooms, case_set = _rooms(evidence_tokens), part_of(read_case_set(folder), every)
    here = installation(context)
    kept_at = here.settings.corpus.home / "eval" / case_set.name / case_set.version / "sweep.html"
    place, embedder = writable(out or kept_at), local_embedder(context)
    with progress() as watch:
        swept = sweep_set(case_set, here.settings, embedder, LexicalSemanticJudge(embedder), rooms, watch)
    runs = [one.run for one in swept.values()]
    say_asked(*runs)
    command = f"citeward eval sweep {folder} --evidence-tokens {evidence_tokens} --every {every}"
    report = sweep_report(swept, case_set, (command,))
    place.write_text(report_page(report), "utf-8")
    if as_json:
        counts = {"asked": sum(one.asked for one in runs), "kept": sum(one.kept for one in runs)}
        told = {"sweep": report.sweep, "questions": len(case_set.cases), "versions": report.versions}
        show_json({**told, **counts})
        return
    assert report.sweep is not None
    show_rows(report.sweep.points, POINTS, as_json=False)
    if all(one.ttft_ms is None for one in report.sweep.points):
        say("TTFT is not measured: no language model was asked.")
    say(f"Written: {place}")


def _rooms(given: str) -> tuple[int, ...]:
    try:
        return tuple(int(one) for one in given.split(","))
    except ValueError as error:
        raise InvalidInput(
            f"--evidence-tokens is {given!r}.",
            why="It must be whole numbers with commas between.",
            next_step=f"Give some, as {ROOMS}.",
        ) from error


POINTS = {
    "tokens of evidence": lambda one: f"{one.evidence_tokens:,}",
    "right": lambda one: f"{one.quality:.3f}",
    "95 %": lambda one: f"{one.low:.3f} to {one.high:.3f}",
    "TTFT, median ms": lambda one: "not measured" if one.ttft_ms is None else f"{one.ttft_ms:,.0f}",
}
