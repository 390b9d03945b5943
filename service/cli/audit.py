"""`citeward audit`: who changed what, and when."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from service.audit import list_audit
from service.cli.local import DEFAULT_TENANT, Tenant, local_database, principal
from service.cli.show import Json, show_rows

app = typer.Typer()
audit = typer.Typer(help="Who changed what, and when.", no_args_is_help=True)
app.add_typer(audit, name="audit")


@audit.command("list")
def list_(
    context: typer.Context,
    actor: Annotated[str | None, typer.Option("--actor", help="Of one alone, as user:root.")] = None,
    about: Annotated[
        str | None, typer.Option("--about", help="What the action begins with, as release.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000)] = 100,
    tenant: Tenant = DEFAULT_TENANT,
    as_json: Json = False,
) -> None:
    """The newest first. No text of a question, a document or an answer is in it."""
    with local_database(context).reading() as session:
        principal(session, tenant, None)
        show_rows(list_audit(session, tenant, limit, actor, about), COLUMNS, as_json)


COLUMNS = {
    "at": lambda one: one.at,
    "actor": lambda one: one.actor,
    "action": lambda one: one.action,
    "target": lambda one: one.target,
    "details": lambda one: json.dumps(one.details, ensure_ascii=False),
}
