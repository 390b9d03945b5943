"""`citeward eval judge`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from ingest.corpus.errors import InvalidInput
from ingest.corpus.seams import Embedder
from service.bootstrap import open_asked_judge, open_judge
from service.checking.both import BothJudges
from service.checking.compare import FEATURES
from service.checking.fitted import Fitted, shipped_judgement
from service.checking.judge import LexicalSemanticJudge
from service.cli.loaded import local_embedder
from service.cli.local import installation
from service.cli.show import Json, progress, say, show_done, show_json, show_rows
from service.cli.writable import writable
from service.evaluation.asking.cached import CACHE, CachedEmbedder
from service.evaluation.asking.indexed import counter
from service.evaluation.asking.remembered import RememberedChooser
from service.evaluation.fitting import fit_combination, fit_judge, written
from service.evaluation.judging import JudgeRow, Kind, evaluate_judge, reported
from service.evaluation.judging_both import MeasuredJudge, evaluate_both
from service.evaluation.report.judge_page import judge_page
from service.evaluation.reranking import NO_DEADLINE
from service.evaluation.sets.claims import Claim, ClaimSet, first_of, fitting_half, read_claims
from service.settings import JUDGE_BY_LLM, ServiceSettings
from service.watch import Watch

NOTHING = "nothing of ours"  # that a model of others was fitted on
Named = Literal["rules", "llm", "both"]
MEASURED = b"measured"  # boundaries are made with it: the same question in every installation


def judge(
    context: typer.Context,
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Folders with claims.jsonl.", exists=True, file_okay=False),
    ],
    which: Annotated[
        Named | None,
        typer.Option(
            "--judge", help="Not the judge that is set, but: the built-in, the language model, both."
        ),
    ] = None,
    most: Annotated[
        int | None, typer.Option("--most", min=1, help="So many claims of each set, by sha256 of the id.")
    ] = None,
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

    With `--judge both` there are rows of the built-in judge, of the language model that CITEWARD_LLM names
    and of both together, over the same claims, and with `--fit` the two are weighed against each other. The
    model's answers are kept in the data folder: a run that was stopped goes on.
    """
    sets = [_read(folder) for folder in folders]
    for place in filter(None, (out, fit)):
        writable(place)
    settings = installation(context).settings
    embedder = CachedEmbedder(local_embedder(context), settings.corpus.home / CACHE)
    kind = which or _set_in(settings)
    with progress() as watch:
        if fit is not None:
            fitted = _fit(sets, kind, settings, embedder, fit.stem, most, watch)
            fit.write_text(written(fitted), "utf-8")
            show_done(fitted, f"Written: {fit}", as_json)
            return
        rows, version = _rows(sets, kind, settings, embedder, most, watch)
    if out is not None:
        out.write_text(judge_page(rows), "utf-8")
        say(f"Written: {out}")
    if as_json:
        show_json({"rows": rows, "versions": {"judge": version, "embedder": _named(embedder)}})
        return
    show_rows(rows, COLUMNS | (GAINS if kind == "both" else {}), as_json=False)


def _read(folder: Path) -> ClaimSet:
    found = read_claims(folder)
    if not found.claims:
        raise InvalidInput(f"There are no claims in {found.name}.", next_step="Give a set that holds some.")
    return found


def _set_in(settings: ServiceSettings) -> Kind:
    if settings.judge == JUDGE_BY_LLM:
        return "both"
    return "nli" if settings.judge else "rules"


def _fit(
    sets: list[ClaimSet],
    kind: Kind,
    settings: ServiceSettings,
    embedder: CachedEmbedder,
    version: str,
    most: int | None,
    watch: Watch,
) -> Fitted:
    """:raises InvalidInput: for a judge that has nothing to be fitted."""
    if kind not in ("rules", "both"):
        raise InvalidInput(
            f"There is nothing to fit for the judge {kind}.",
            why="A model says how likely it is by itself.",
            next_step="Fit with --judge rules, or with --judge both.",
        )
    if kind == "both":
        both = _both(settings, embedder)
        _remember(
            [ClaimSet(one.name, _first(fitting_half(one.claims), most)) for one in sets], embedder, watch
        )
        return fit_combination(sets, both, version, watch, most)
    _remember(sets, embedder, watch)
    return fit_judge(sets, LexicalSemanticJudge(embedder), FEATURES, version, watch)


def _rows(
    sets: list[ClaimSet],
    kind: Kind,
    settings: ServiceSettings,
    embedder: CachedEmbedder,
    most: int | None,
    watch: Watch,
) -> tuple[tuple[JudgeRow, ...], str]:
    """With the judge's version. It is waited for: figures are of the judge, not of a slow machine."""
    if kind == "nli":
        model = open_judge(replace(settings, judge_seconds=NO_DEADLINE), embedder)
        return evaluate_judge(sets, kind, model, NOTHING, (), watch, most), model.version
    rules = shipped_judgement()
    if kind == "rules":
        _remember(_reported(sets, rules.sets, most), embedder, watch)
        built_in = LexicalSemanticJudge(embedder)
        rows = evaluate_judge(sets, kind, built_in, rules.fitted_on, rules.sets, watch, most)
        return rows, built_in.version
    both = _both(settings, embedder)
    fitted_sets = (*rules.sets, *both.fitted.sets)
    if kind == "llm":
        asked = MeasuredJudge(both.asked)
        return evaluate_judge(sets, kind, asked, NOTHING, fitted_sets, watch, most), asked.version
    _remember(_reported(sets, fitted_sets, most), embedder, watch)
    fitted_on: dict[Kind, str] = {"rules": rules.fitted_on, "llm": NOTHING, "both": both.fitted.fitted_on}
    return evaluate_both(sets, both, fitted_on, fitted_sets, watch, most), both.version


def _both(settings: ServiceSettings, embedder: CachedEmbedder) -> BothJudges:
    """As they ship, with the language model's answers kept.

    :raises InvalidInput: if no language model is set.
    """
    waited_for = replace(settings, judge=JUDGE_BY_LLM, judge_seconds=NO_DEADLINE)
    asked = open_asked_judge(waited_for)
    chooser = RememberedChooser(asked.chooser, settings.corpus.home / CACHE)
    return BothJudges(LexicalSemanticJudge(embedder), replace(asked, chooser=chooser, secret=MEASURED))


def _reported(sets: list[ClaimSet], fitted_sets: Sequence[str], most: int | None) -> list[ClaimSet]:
    return [ClaimSet(one.name, tuple(reported(one, fitted_sets, most)[0])) for one in sets]


def _first(claims: tuple[Claim, ...], most: int | None) -> tuple[Claim, ...]:
    return claims if most is None else first_of(claims, most)


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


def _gain(value: float | None, within: tuple[float, float] | None) -> str:
    return "" if value is None or within is None else f"{value:+.3f} ({within[0]:+.3f} to {within[1]:+.3f})"


def _three(row: JudgeRow) -> str:
    return " ".join(_interval(each, None) for each in (row.accuracy, row.ece, row.brier))


COLUMNS = {
    "set": lambda row: row.set,
    "language": lambda row: row.lang,
    "judge": lambda row: row.judge,
    "items": lambda row: row.items,
    "unknown": lambda row: row.unknown,
    "supported": lambda row: f"{row.supported:.2f}",
    "AUROC (95 %)": lambda row: _interval(row.auroc, row.auroc_ci),
    "balanced accuracy": lambda row: _interval(row.balanced_accuracy, row.balanced_accuracy_ci),
    "F1": lambda row: _interval(row.f1, row.f1_ci),
    "accuracy, ECE, Brier": _three,
}
GAINS = {
    "AUROC over rules": lambda row: _gain(row.gain_over_rules, row.gain_over_rules_ci),
    "over llm": lambda row: _gain(row.gain_over_llm, row.gain_over_llm_ci),
}
