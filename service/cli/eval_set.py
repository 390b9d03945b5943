"""The set that a command of `citeward eval` is about, and asking it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ingest.corpus.errors import InvalidInput
from ingest.corpus.seams import Embedder
from ingest.corpus.settings import variable
from service.cli.local import installation
from service.cli.show import progress, say
from service.evaluation.asking.attempts import Run
from service.evaluation.asking.cached import CACHE
from service.evaluation.asking.keys import read_keys
from service.evaluation.asking.live import Live, collection_of, run_live
from service.evaluation.asking.run import Change, run_set, unchanged
from service.evaluation.sets.cases import CaseSet
from service.parts import Parts

SetFolder = Annotated[
    Path,
    typer.Argument(
        metavar="SET", help="Folder of a set: a version of ours, or one of others.", file_okay=False
    ),
]
Url = Annotated[str | None, typer.Option("--url", help="Ask the service there, not one in this process.")]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file", help="With --url: the keys that `eval install` wrote, or the one key of an evaluator."
    ),
]
Collection = Annotated[
    str | None, typer.Option("--collection", help="Where the set lies there; NAME-VERSION if not given.")
]
ReleaseName = Annotated[
    str | None,
    typer.Option(
        "--release", help="Ask a language model with this prompt and policy; else with what is shipped."
    ),
]


def live_service(
    case_set: CaseSet, url: str | None, key_file: Path | None, collection: str | None, release: str | None
) -> Live | None:
    """The one that is to be asked; None: the set is asked in this process.

    :raises InvalidInput: for an address without keys, keys without an address, keys that are none, or a
        release with an address.
    """
    if url is None and key_file is None:
        return None
    if release is not None:
        raise InvalidInput(
            "--release is not for a running service.",
            why="What it asks with is what is in force there.",
            next_step="Leave --release or --url out.",
        )
    if url is None or key_file is None:
        raise InvalidInput(
            "--url and --key-file go together.", next_step="Give both, or none to ask in this process."
        )
    return Live(url, collection or collection_of(case_set), read_keys(key_file))


def ask_set(
    context: typer.Context, case_set: CaseSet, embedder: Embedder, live: Live | None, release: str | None
) -> Run:
    """Over HTTP if there is a service, else in this process."""
    if live is None:
        return ask_here(context, case_set, embedder, unchanged if release is None else with_release(release))
    if live.keys.askers is None:
        say("There is one key, so one person asks everything: what depends on who asks tells nothing.")
    with progress() as watch:
        run = run_live(case_set, live, installation(context).settings.corpus.home / CACHE, watch)
    say_asked(run)
    return run


def ask_here(
    context: typer.Context, case_set: CaseSet, embedder: Embedder, change: Change = unchanged, name: str = ""
) -> Run:
    """All of it in this process, on a scratch database; `change` and `name` as of `run_set`."""
    with progress() as watch:
        run = run_set(case_set, installation(context).settings, embedder, watch, change, name)
    say_asked(run)
    return run


def say_asked(*runs: Run) -> None:
    """How much of what is told was found out just now."""
    asked, kept = sum(one.asked for one in runs), sum(one.kept for one in runs)
    say(f"Questions asked: {asked:,}; kept from an earlier run: {kept:,}.")


def with_release(name: str) -> Change:
    """The service's own parts, asking with that release."""

    def change(parts: Parts) -> Parts:
        if parts.prompting is None:
            raise InvalidInput(
                f"There is no language model to ask with {name}.",
                why="Answers are quoted, and quoting has no prompt.",
                next_step=f"Set {variable('llm')}, or leave --release out.",
                field="release",
            )
        return replace(parts, prompting=parts.prompting.with_release(name))

    return change
