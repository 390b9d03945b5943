"""`citeward eval`: figures over evaluation sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from ingest.corpus.errors import InvalidInput
from ingest.corpus.seams import Embedder
from service.checking.judge import LexicalSemanticJudge
from service.cli.loaded import local_embedder
from service.cli.local import installation
from service.cli.show import Json, progress, say, show, show_json, show_rows
from service.evaluation.asking.attempts import Run
from service.evaluation.asking.bad_drafts import BadDrafts, shown_drafts, with_bad_drafts
from service.evaluation.asking.run import Change, run_set, unchanged, write_run
from service.evaluation.report.content import Asked
from service.evaluation.report.page import report_page
from service.evaluation.retrieval import RetrievalRow, evaluate_retrieval
from service.evaluation.scoring.compare import compare
from service.evaluation.scoring.figures import Figure
from service.evaluation.scoring.gate import Fault, faults
from service.evaluation.scoring.sanity import sanity_rows, unmet
from service.evaluation.scoring.score import SCORES
from service.evaluation.scoring.sheet import read_sheet, score_run, write_sheet
from service.evaluation.sets.beir import read_set
from service.evaluation.sets.cases import CaseSet
from service.evaluation.sets.released import read_case_set
from service.evaluation.told import report_of

app = typer.Typer()
evaluate = typer.Typer(help="Figures over evaluation sets.", no_args_is_help=True)
app.add_typer(evaluate, name="eval")


@evaluate.command()
def retrieval(
    context: typer.Context,
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Folders of sets.", exists=True, file_okay=False),
    ],
    as_json: Json = False,
) -> None:
    """How well documents are found: by words, by meaning, and by both.

    A set is corpus.jsonl (or .jsonl.gz), queries.jsonl and qrels.tsv, or a BEIR folder. Vectors are kept in
    the data folder, so that a second run only searches. Nothing of a set goes into your collections.
    """
    sets = [read_set(folder) for folder in folders]
    with progress() as watch:
        rows, versions = evaluate_retrieval(
            sets, installation(context).settings, local_embedder(context), watch
        )
    if as_json:
        show_json({"rows": rows, "versions": versions})
        return
    show_rows(rows, COLUMNS, as_json=False)


SetFolder = Annotated[
    Path,
    typer.Argument(
        metavar="SET", help="Folder of a version of a set, as eval_sets/company_handbook/v1.", file_okay=False
    ),
]
Baseline = Annotated[Path, typer.Option("--baseline", help="A scores.jsonl to be held against.")]


@evaluate.command("run")
def run_command(
    context: typer.Context,
    folder: SetFolder,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for run, scores and report; else in the data folder.")
    ] = None,
    baseline: Annotated[Path | None, typer.Option("--baseline", help="Scores to compare with.")] = None,
    as_json: Json = False,
) -> None:
    """Ask every question of a set as its asker, and tell how right, how well founded, and what failed where.

    Runs in this process on a scratch database; nothing goes into your collections. What was asked before with
    the same set, program and settings is not asked again. Writes run.json, scores.jsonl and report.html.
    """
    case_set, before = read_case_set(folder), read_sheet(baseline) if baseline else None
    embedder = local_embedder(context)
    run = _asked(context, case_set, embedder)
    sheet = score_run(run, case_set, LexicalSemanticJudge(embedder))
    place = out or installation(context).settings.corpus.home / "eval" / case_set.name / case_set.version
    write_run(run, place / "run.json")
    write_sheet(sheet, place / "scores.jsonl")
    report = report_of(run, sheet, case_set, before, commands=(f"citeward eval run {folder}",))
    (place / "report.html").write_text(report_page(report), "utf-8")
    if as_json:
        show_json({"figures": report.figures, "sanity": report.sanity, "versions": report.versions})
    else:
        _show_figures(report.figures)
        for layer, count in _failed_layers(report.failed):
            show(f"{count:4} failed: {layer}")
        say(f"Written: {place / 'report.html'}")
    for complaint in unmet(report.sanity):
        say(f"The measures themselves are wrong: {complaint}")
    if unmet(report.sanity):
        raise typer.Exit(1)


@evaluate.command("compare")
def compare_command(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="scores.jsonl of one run.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="scores.jsonl of another.")],
    folder: SetFolder,
    as_json: Json = False,
) -> None:
    """What changed between two runs of a set, question by question, and whether chance could have done it."""
    case_set, first, second = read_case_set(folder), read_sheet(before), read_sheet(after)
    for sheet, path in ((first, before), (second, after)):
        if sheet.set_sha256 != case_set.sha256:
            raise InvalidInput(
                f"{path} is of {sheet.set}, not of this {case_set.label}.",
                next_step="Give the set that both runs are of.",
            )
    differences = compare(first.scores, second.scores, case_set)
    show_rows(differences, DIFFERENCES, as_json)


@evaluate.command()
def gate(
    context: typer.Context,
    folder: SetFolder,
    baseline: Baseline,
    drafts: Annotated[
        Literal["own", "bad"],
        typer.Option("--drafts", help="own: the service's; bad: made-up ones that its checks must stop."),
    ] = "own",
    as_json: Json = False,
) -> None:
    """Whether it may ship: ends with 1 if a slice fell, anything leaked, or a citation was not valid.

    With `--drafts bad` the generator writes what must never be shown, and only what is shown of it counts.
    """
    case_set, before = read_case_set(folder), read_sheet(baseline)
    embedder = local_embedder(context)
    if drafts == "bad":
        run = _asked(context, case_set, embedder, with_bad_drafts, BadDrafts().version)
        found = [Fault("bad_draft", f"{one}: a draft that is wrong was shown.") for one in shown_drafts(run)]
    else:
        run = _asked(context, case_set, embedder)
        sheet = score_run(run, case_set, LexicalSemanticJudge(embedder))
        found = [*faults(sheet, case_set, before)]
        found += [Fault("sanity", complaint) for complaint in unmet(sanity_rows(case_set, run.texts))]
    if as_json:
        show_json({"faults": found})
    else:
        for fault in found:
            show(f"{fault.check}: {fault.what}")
        show(f"{case_set.label}: {'it may not ship' if found else 'it may ship'}.")
    if found:
        raise typer.Exit(1)


def _asked(
    context: typer.Context, case_set: CaseSet, embedder: Embedder, change: Change = unchanged, name: str = ""
) -> Run:
    with progress() as watch:
        return run_set(case_set, installation(context).settings, embedder, watch, change, name)


def _failed_layers(failed: Sequence[Asked]) -> Sequence[tuple[str, int]]:
    return Counter(one.failure.layer for one in failed if one.failure).most_common()


def _show_figures(found: Sequence[Figure]) -> None:
    show_rows([one for one in found if one.by in ("all", "language")], FIGURES, as_json=False)


def _three(name: str, row: RetrievalRow) -> str:
    return " ".join(f"{figures[name]:.3f}" for figures in (row.words, row.meaning, row.hybrid))


COLUMNS = {
    "set": lambda row: row.set,
    "slice": lambda row: row.slice,
    "documents": lambda row: row.documents,
    "questions": lambda row: row.queries,
    "left out": lambda row: row.without_qrels,
    "MRR@10: words, meaning, hybrid": lambda row: _three("mrr@10", row),
    "nDCG@10": lambda row: _three("ndcg@10", row),
    "recall@5": lambda row: _three("recall@5", row),
    "recall@10": lambda row: _three("recall@10", row),
}
FIGURES = {
    "score": lambda one: one.name,
    "slice": lambda one: one.slice,
    "value": lambda one: f"{one.value:.3f}",
    "95 %": lambda one: f"{one.low:.3f} to {one.high:.3f}",
    "questions": lambda one: one.items,
    "better": lambda one: SCORES[one.name].better,
}
DIFFERENCES = {
    "score": lambda one: one.name,
    "slice": lambda one: one.slice if one.by == "all" else f"{one.by} {one.slice}",
    "before": lambda one: f"{one.before:.3f}",
    "after": lambda one: f"{one.after:.3f}",
    "95 % of the change": lambda one: f"{one.low:+.3f} to {one.high:+.3f}",
    "by chance": lambda one: f"{one.chance:.3f}",
    "questions": lambda one: one.items,
}
