"""`citeward prompts`: what a language model is asked with, what is in force, and how it came to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from service.cli.local import DEFAULT_TENANT, Tenant, installation, local_database, principal
from service.cli.prompts_change import activate, canary, require_language_model_or_say, rollback
from service.cli.prompts_compare import compare
from service.cli.show import Json, show, show_json, show_rows
from service.releases.activations import activation_history
from service.releases.release import ALL, SHIPPED, Release, load_release, load_releases
from service.releases.standing import Standing, standing

app = typer.Typer()
prompts = typer.Typer(help="What a language model is asked with.", no_args_is_help=True)
app.add_typer(prompts, name="prompts")
prompts.command()(activate)
prompts.command()(canary)
prompts.command()(rollback)
prompts.command()(compare)


@dataclass(frozen=True, slots=True)
class ReleaseListed:
    release: str
    version: str
    share: int  # percent of the users who get it


@prompts.command("list")
def list_(context: typer.Context, tenant: Tenant = DEFAULT_TENANT, as_json: Json = False) -> None:
    """Each prompt with each policy, and which share of the users gets it."""
    settings = installation(context).settings
    releases = load_releases(settings.reserved_output)
    with local_database(context).reading() as session:
        principal(session, tenant, None)
        now = standing(activation_history(session, tenant), releases[SHIPPED].version)
    require_language_model_or_say(settings)
    rows = [ReleaseListed(one.name, one.version, _share(one, now)) for one in releases.values()]
    show_rows(rows, LISTED, as_json)


def _share(release: Release, now: Standing) -> int:
    canary_share = now.canary.share if now.canary else 0
    if now.canary is not None and release.version == now.canary.release:
        return canary_share
    return ALL - canary_share if release.version == now.in_force else 0


@prompts.command("show")
def show_(
    context: typer.Context,
    release: Annotated[str, typer.Argument(metavar="RELEASE", help="As `list` names it.")] = SHIPPED,
    as_json: Json = False,
) -> None:
    """The words and values of a release, as a language model gets them."""
    found = load_release(release, installation(context).settings.reserved_output)
    if as_json:
        show_json({"release": found.name, "version": found.version, "templates": found.templates,
                   "policy": found.policy, "sampling": found.policy.sampling()})  # fmt: skip
        return
    show(found.version)
    for template in found.templates.values():
        show(f"\n--- {template.version}")
        for part in (template.system, template.statements, template.text, template.passage, template.user):
            show(f"\n{part}")
    show(f"\n--- {found.policy.version}")
    for name, value in found.policy.sampling().items():
        show(f"{name} = {value}")


@prompts.command("history")
def history(context: typer.Context, tenant: Tenant = DEFAULT_TENANT, as_json: Json = False) -> None:
    """Who put what in force, when, for which share of the users and on which grounds; the oldest first."""
    with local_database(context).reading() as session:
        principal(session, tenant, None)
        rows = activation_history(session, tenant)
    show_rows(rows, HISTORY, as_json)


LISTED = {
    "release": lambda one: one.release,
    "hash": lambda one: one.version.partition("@")[2],
    "users": lambda one: f"{one.share} %" if one.share else "",
}
HISTORY = {
    "when": lambda one: one.at,
    "who": lambda one: one.actor,
    "did": lambda one: one.action,
    "release": lambda one: one.release,
    "users": lambda one: f"{one.share} %",
    "instead of": lambda one: one.previous,
    "grounds": lambda one: _grounds(one.grounds),
}


def _grounds(grounds: object) -> str:
    gate, override = getattr(grounds, "gate", None), getattr(grounds, "override", None)
    if gate:
        return f"gate {gate['set']} {gate['sha256'][:12]}"
    return f"override: {override}" if override else ""
