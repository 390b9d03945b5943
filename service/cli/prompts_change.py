"""`citeward prompts activate`, `canary` and `rollback`: each holds for the next question."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import Annotated

import typer

from ingest.corpus.settings import variable
from service.adapters.chat_template import folder_of
from service.adapters.vllm import model_version
from service.cli.local import DEFAULT_TENANT, Tenant, installation, local_database, principal
from service.cli.show import Json, say, show_done
from service.engine.launch import find_model
from service.engine.weights import revision
from service.evaluation.scoring.gate_result import read_gate_result
from service.releases.activations import activate as put_in_force
from service.releases.activations import roll_back
from service.releases.grounds import grounds_of
from service.releases.release import ALL, SHIPPED, load_release
from service.settings import ServiceSettings

ReleaseName = Annotated[str, typer.Argument(metavar="RELEASE", help="As `citeward prompts list` names it.")]
Gate = Annotated[
    Path | None,
    typer.Option("--gate", help="What `citeward eval gate … --release RELEASE --out FILE` wrote."),
]
Override = Annotated[
    str | None, typer.Option("--override", help="Why it is put in force without a gate run. It is kept.")
]


def activate(
    context: typer.Context,
    release: ReleaseName,
    gate: Gate = None,
    override: Override = None,
    tenant: Tenant = DEFAULT_TENANT,
    as_json: Json = False,
) -> None:
    """Put a release in force for everybody; one whose canary runs needs no further gate run."""
    _put_in_force(context, release, ALL, gate, override, tenant, as_json)


def canary(
    context: typer.Context,
    release: ReleaseName,
    share: Annotated[int, typer.Option("--share", min=1, max=ALL - 1, help="Percent of the users.")],
    gate: Gate = None,
    override: Override = None,
    tenant: Tenant = DEFAULT_TENANT,
    as_json: Json = False,
) -> None:
    """Give a release to a share of the users, the same ones each time; a larger share keeps them."""
    _put_in_force(context, release, share, gate, override, tenant, as_json)


def rollback(context: typer.Context, tenant: Tenant = DEFAULT_TENANT, as_json: Json = False) -> None:
    """End the canary; without one, go back to what was in force for everybody before."""
    settings = installation(context).settings
    shipped = load_release(SHIPPED, settings.reserved_output).version
    with local_database(context).writing() as session:
        principal(session, tenant, None)
        made = roll_back(session, tenant, _actor(), shipped)
    require_language_model_or_say(settings)
    show_done(made, f"{made.release} is in force for everybody again, {made.previous} no longer.", as_json)


def require_language_model_or_say(settings: ServiceSettings) -> None:
    if not settings.llm:
        say(
            f"There is no language model ({variable('llm')} is empty): answers are quoted, and no prompt is "
            "used until there is one."
        )


def _put_in_force(
    context: typer.Context,
    name: str,
    share: int,
    gate: Path | None,
    override: str | None,
    tenant: str,
    as_json: bool,
) -> None:
    settings = installation(context).settings
    release = load_release(name, settings.reserved_output).version
    shipped = load_release(SHIPPED, settings.reserved_output).version
    result = None if gate is None else read_gate_result(gate)
    grounds = grounds_of(release, result, override, _model(settings))
    with local_database(context).writing() as session:
        principal(session, tenant, None)
        made = put_in_force(session, tenant, release, share, _actor(), shipped, grounds)
    require_language_model_or_say(settings)
    whom = "everybody" if share == ALL else f"{share} % of the users"
    show_done(made, f"{release} is in force for {whom}, from the next question on.", as_json)


def _model(settings: ServiceSettings) -> str | None:
    """That answers name; None: there is none."""
    if not settings.llm:
        return None
    found = find_model(settings.llm, settings.corpus.home)
    folder = Path(found) if Path(found).is_dir() else folder_of(found)
    return model_version(settings.llm, revision(folder))


def _actor() -> str:
    """The account of this machine that calls the command."""
    try:
        return f"command:{pwd.getpwuid(os.geteuid()).pw_name}"
    except KeyError:  # as in a container
        return f"command:{os.geteuid()}"
