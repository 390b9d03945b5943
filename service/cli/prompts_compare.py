"""`citeward prompts compare`."""

from __future__ import annotations

from typing import Annotated

import typer

from service.cli.local import DEFAULT_TENANT, Tenant, local_database, principal
from service.cli.show import Json, show_rows
from service.releases.activations import newest_activation
from service.releases.outcomes import outcomes, read_records


def compare(
    context: typer.Context,
    since: Annotated[
        str | None,
        typer.Option(help="A time, as `history` shows it. Else when what is in force became so."),
    ] = None,
    tenant: Tenant = DEFAULT_TENANT,
    as_json: Json = False,
) -> None:
    """How the answers of each release ended, by language: shows what is badly wrong with a canary.

    Different users asked different questions. Which release is better is told by `citeward eval compare`.
    """
    with local_database(context).reading() as session:
        principal(session, tenant, None)
        newest = newest_activation(session, tenant)
        records = read_records(session, tenant, since or (newest.at if newest else ""))
    show_rows(tuple(outcomes(records)), OUTCOMES, as_json)


OUTCOMES = {
    "release": lambda one: one.release,
    "language": lambda one: one.language,
    "asked": lambda one: one.asked,
    "answered": lambda one: one.answered,
    "refused": lambda one: one.refused,
    "quoted instead": lambda one: one.quoted_instead,
    "failed": lambda one: one.failed,
    "statements": lambda one: one.statements,
    "dropped": lambda one: one.dropped,
    "median ms": lambda one: one.median_ms,
}
