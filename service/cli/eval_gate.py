"""`citeward eval gate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ingest.corpus.errors import InvalidInput
from service.checking.judge import LexicalSemanticJudge
from service.cli.eval_set import (
    Collection,
    KeyFile,
    ReleaseName,
    SetFolder,
    Url,
    ask_here,
    ask_set,
    live_service,
)
from service.cli.exits import MAY_NOT_SHIP
from service.cli.loaded import local_embedder
from service.cli.show import Json, show, show_json
from service.cli.writable import writable
from service.evaluation.asking.bad_drafts import BadDrafts, shown_drafts, with_bad_drafts
from service.evaluation.scoring.gate import Fault, faults
from service.evaluation.scoring.gate_result import gate_result, write_gate_result
from service.evaluation.scoring.sanity import sanity_rows, unmet
from service.evaluation.scoring.sheet import of_these, read_sheet, score_run
from service.evaluation.sets.released import read_case_set


def gate(
    context: typer.Context,
    folder: SetFolder,
    baseline: Annotated[Path, typer.Option("--baseline", help="A scores.jsonl to be held against.")],
    drafts: Annotated[
        Literal["own", "bad"],
        typer.Option("--drafts", help="own: the service's; bad: made-up ones that its checks must stop."),
    ] = "own",
    url: Url = None,
    key_file: KeyFile = None,
    collection: Collection = None,
    release: ReleaseName = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write what was found, for `citeward prompts activate`.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Whether it may ship: ends with 3 if a slice fell, anything leaked, or a citation was not valid.

    With 1 or 2 it ends as any command does, if something failed or the call cannot be right: nothing is said
    then of whether it may ship.

    With `--drafts bad` the generator writes what must never be shown, and only what is shown of it counts.
    """
    elsewhere = {"--url": url, "--key-file": key_file, "--collection": collection, "--release": release}
    useless = [name for name, given in elsewhere.items() if given is not None]
    if drafts == "bad" and useless:
        raise InvalidInput(
            f"--drafts bad goes without {', '.join(useless)}.",
            why="It puts a generator that writes what is wrong in the place of the service's own.",
            next_step=f"Leave {', '.join(useless)} out.",
        )
    case_set = read_case_set(folder)
    before = of_these(read_sheet(baseline), case_set)
    live = live_service(case_set, url, key_file, collection, release)
    place = None if out is None else writable(out)
    embedder = local_embedder(context)
    if drafts == "bad":
        run = ask_here(context, case_set, embedder, with_bad_drafts, BadDrafts().version)
        found = [Fault("bad_draft", f"{one}: a draft that is wrong was shown.") for one in shown_drafts(run)]
    else:
        run = ask_set(context, case_set, embedder, live, release)
        sheet = score_run(run, case_set, LexicalSemanticJudge(embedder))
        found = [*faults(sheet, case_set, before)]
        found += [Fault("sanity", complaint) for complaint in unmet(sanity_rows(case_set, run.texts))]
    told = [f"{one.check}: {one.what}" for one in found]
    if place is not None:
        write_gate_result(gate_result(run, baseline, told), place)
    if as_json:
        show_json({"faults": found, "asked": run.asked, "kept": run.kept})
    else:
        for line in told:
            show(line)
        show(f"{case_set.label}: {'it may not ship' if found else 'it may ship'}.")
    if found:
        raise typer.Exit(MAY_NOT_SHIP)
