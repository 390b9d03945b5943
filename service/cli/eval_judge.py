"""`citeward eval judge`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ingest.corpus.errors import InvalidInput
from ingest.corpus.seams import Embedder
from service.bootstrap import open_judge
from service.checking.compare import FEATURES
from service.checking.fitted import shipped_judgement
from service.checking.judge import LexicalSemanticJudge
from service.cli.loaded import local_embedder
from service.cli.local import installation
from service.cli.show import Json, progress, say, show_done, show_json, show_rows
from service.evaluation.asking.cached import CACHE, CachedEmbedder
from service.evaluation.asking.indexed import counter
from service.evaluation.fitting import fit_judge, written
from service.evaluation.judging import JudgeRow, evaluate_judge
from service.evaluation.report.judge_page import judge_page
from service.evaluation.reranking import NO_DEADLINE
from service.evaluation.sets.claims import ClaimSet, read_claims
from service.settings import ServiceSettings
from service.watch import Watch


def judge(
    context: typer.Context,
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Folders with claims.jsonl.", exists=True, file_okay=False),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="An HTML file for the figures with reliability plots.")
    ] = None,
    fit: Annotated[
        Path | None, typer.Option("--fit", help="Fit on these sets instead; a file for the weights.")
    ] = None,
    as_json: Json = False,
) -> None:
    """How often the judge of statements is right about claims, by set and language.

    It is the one that CITEWARD_JUDGE names, else the built-in one. A set is claims.jsonl: id, claim,
    evidence, label, lang; only `supported` counts as supported. Of a set that the built-in one was fitted on
    the other half is asked, by the sha256 of the id. Vectors are kept in the data folder, so that a second
    run only compares.
    """
    sets = [_read(folder) for folder in folders]
    settings = installation(context).settings
    embedder = CachedEmbedder(local_embedder(context), settings.corpus.home / CACHE)
    with progress() as watch:
        if fit is not None:
            _remember(sets, embedder, watch)
            fitted = fit_judge(sets, LexicalSemanticJudge(embedder), FEATURES, fit.stem, watch)
            fit.write_text(written(fitted), "utf-8")
            show_done(fitted, f"Written: {fit}", as_json)
            return
        rows, version = _rows(sets, settings, embedder, watch)
    if out is not None:
        out.write_text(judge_page(rows), "utf-8")
        say(f"Written: {out}")
    if as_json:
        show_json({"rows": rows, "versions": {"judge": version, "embedder": _named(embedder)}})
        return
    show_rows(rows, COLUMNS, as_json=False)


def _read(folder: Path) -> ClaimSet:
    found = read_claims(folder)
    if not found.claims:
        raise InvalidInput(f"There are no claims in {found.name}.", next_step="Give a set that holds some.")
    return found


def _rows(
    sets: list[ClaimSet], settings: ServiceSettings, embedder: CachedEmbedder, watch: Watch
) -> tuple[tuple[JudgeRow, ...], str]:
    """With the judge's version. It is waited for: figures are of the judge, not of a slow machine."""
    judge = open_judge(replace(settings, judge_seconds=NO_DEADLINE), embedder)
    if settings.judge:
        return evaluate_judge(sets, "nli", judge, "nothing of ours", (), watch), judge.version
    _remember(sets, embedder, watch)
    shipped = shipped_judgement()
    return evaluate_judge(sets, "rules", judge, shipped.fitted_on, shipped.sets, watch), judge.version


def _remember(sets: list[ClaimSet], embedder: CachedEmbedder, watch: Watch) -> None:
    """Vectors of all claims and evidence at once, like lengths together: much faster than one by one."""
    judge = LexicalSemanticJudge(embedder)
    for one in sets:
        texts = [text for each in one.claims for text in judge.embedded_texts(each.evidence, each.text)]
        embedder.remember_tokens(texts, counter(watch, f"{one.name}: texts embedded", len(texts)))


def _named(embedder: Embedder) -> str:
    return f"{embedder.fingerprint.name}@{embedder.fingerprint.digest[:12]}"


def _interval(value: float | None, within: tuple[float, float] | None) -> str:
    if value is None:
        return "n/a"
    return f"{value:.3f}" if within is None else f"{value:.3f} ({within[0]:.3f} to {within[1]:.3f})"


def _three(row: JudgeRow) -> str:
    return " ".join(_interval(each, None) for each in (row.accuracy, row.ece, row.brier))


COLUMNS = {
    "set": lambda row: row.set,
    "language": lambda row: row.lang,
    "items": lambda row: row.items,
    "supported": lambda row: f"{row.supported:.2f}",
    "AUROC (95 %)": lambda row: _interval(row.auroc, row.auroc_ci),
    "balanced accuracy": lambda row: _interval(row.balanced_accuracy, row.balanced_accuracy_ci),
    "F1": lambda row: _interval(row.f1, row.f1_ci),
    "accuracy, ECE, Brier": _three,
}
