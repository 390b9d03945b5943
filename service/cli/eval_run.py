"""`citeward eval run`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from service.checking.judge import LexicalSemanticJudge
from service.cli.eval_set import Collection, KeyFile, ReleaseName, SetFolder, Url, ask_set, live_service
from service.cli.loaded import local_embedder
from service.cli.local import installation
from service.cli.show import Json, say, show, show_json, show_rows
from service.cli.writable import writable
from service.evaluation.asking.run import write_run
from service.evaluation.report.content import Asked, Report
from service.evaluation.report.page import report_page
from service.evaluation.scoring.figures import PriceTable
from service.evaluation.scoring.prices import price_of, read_prices
from service.evaluation.scoring.sanity import unmet
from service.evaluation.scoring.score import SCORES
from service.evaluation.scoring.sheet import of_these, read_sheet, score_run, write_sheet
from service.evaluation.sets.cases import part_of
from service.evaluation.sets.external import read_cases
from service.evaluation.sets.released import is_released
from service.evaluation.told import report_of


def run(
    context: typer.Context,
    folder: SetFolder,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for run, scores and report; else in the data folder.")
    ] = None,
    baseline: Annotated[Path | None, typer.Option("--baseline", help="Scores to compare with.")] = None,
    prices: Annotated[Path | None, typer.Option("--prices", help="A TOML file of what models cost.")] = None,
    url: Url = None,
    key_file: KeyFile = None,
    collection: Collection = None,
    every: Annotated[int, typer.Option("--every", help="Ask one of so many questions; 1: all.")] = 1,
    release: ReleaseName = None,
    as_json: Json = False,
) -> None:
    """Ask every question of a set as its asker, and tell how right, how well founded, and what failed where.

    Runs in this process on a scratch database; nothing goes into your collections. With --url it asks a
    running service on which `citeward eval install` has put the set. What was asked before with the same set,
    program and settings is not asked again. Writes run.json, scores.jsonl and report.html.
    """
    case_set = part_of(read_cases(folder), every)
    before = of_these(read_sheet(baseline), case_set) if baseline else None
    place = out or installation(context).settings.corpus.home / "eval" / case_set.name / case_set.version
    live = live_service(case_set, url, key_file, collection, release)
    costs = read_prices(prices) if prices else None
    names = ("run.json", "scores.jsonl", "report.html")
    run_file, scores_file, page = (writable(place / one) for one in names)
    embedder, ours = local_embedder(context), is_released(folder)
    found = ask_set(context, case_set, embedder, live, release)
    sheet = score_run(found, case_set, LexicalSemanticJudge(embedder))
    write_run(found, run_file)
    write_sheet(sheet, scores_file)
    price = None if costs is None else _price(costs, found.versions["model"])
    command = f"citeward eval run {folder}" + (f" --url {url} --key-file {key_file}" if url else "")
    command += f" --release {release}" if release else ""
    command += f" --every {every}" if every > 1 else ""
    report = report_of(found, sheet, case_set, before, price, commands=(command,))
    page.write_text(report_page(report), "utf-8")
    if as_json:
        told = {"figures": report.figures, "sanity": report.sanity, "versions": report.versions}
        show_json({**told, "asked": found.asked, "kept": found.kept})
    else:
        _show(report)
        say(f"Written: {page}")
    wrong = "The measures themselves are wrong" if ours else "Not all of this set can be told"
    for complaint in unmet(report.sanity):
        say(f"{wrong}: {complaint}")
    if ours and unmet(report.sanity):
        raise typer.Exit(1)


def _price(costs: Mapping[str, PriceTable], model: str) -> PriceTable | None:
    price = price_of(costs, model)
    if price is None:
        say(f"The prices are of {', '.join(costs)}, not of {model}: what it costs is not known.")
    return price


def _show(report: Report) -> None:
    headline = [one for one in report.figures if one.by in ("all", "language")]
    show_rows(headline, FIGURES, as_json=False)
    for layer, count in _failed_layers(report.failed):
        show(f"{count:4} failed: {layer}")


def _failed_layers(failed: Sequence[Asked]) -> Sequence[tuple[str, int]]:
    return Counter(one.failure.layer for one in failed if one.failure).most_common()


FIGURES = {
    "score": lambda one: one.name,
    "slice": lambda one: one.slice,
    "value": lambda one: f"{one.value:.3f}",
    "95 %": lambda one: f"{one.low:.3f} to {one.high:.3f}",
    "questions": lambda one: one.items,
    "better": lambda one: SCORES[one.name].better,
}
