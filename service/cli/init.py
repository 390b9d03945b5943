"""`citeward init`: data folder, tables, a tenant, its admin and his key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from ingest.corpus import people
from ingest.corpus.database import Session, open_database
from service.cli.local import DEFAULT_TENANT, Tenant, installation
from service.cli.show import Json, say, show, show_json
from service.migrate import migrate
from service.secret import key_secret

app = typer.Typer()
KEY_NAME = "init"


@dataclass(frozen=True, slots=True)
class Initialised:
    home: str
    tenant: str
    user: str
    created: bool  # False: tenant and admin were there already
    api_key: str | None  # None: none was made


@app.command()
def init(
    context: typer.Context,
    tenant: Tenant = DEFAULT_TENANT,
    admin: Annotated[str, typer.Option("--admin", help="Id of the tenant's first admin.")] = "admin",
    new_key: Annotated[bool, typer.Option("--new-key", help="Make a further key for the admin.")] = False,
    as_json: Json = False,
) -> None:
    """Make the data folder, the tables, a tenant and its admin; print his API key this once.

    What is there already stays; run it again after an upgrade, to bring the tables up to it.
    """
    settings = installation(context).settings
    settings.corpus.home.mkdir(parents=True, exist_ok=True)
    database = open_database(settings.corpus.sqlalchemy_url)
    context.call_on_close(database.close)
    migrate(database)
    with database.writing() as session:
        created = _add_admin(session, tenant, admin)
        credential = None
        if created or new_key:
            made = people.create_key(session, key_secret(settings), tenant, admin, KEY_NAME)
            credential = made.credential
    home = str(settings.corpus.home.resolve())
    _show(Initialised(home, tenant, admin, created, credential), as_json)


def _add_admin(session: Session, tenant: str, admin: str) -> bool:
    """Whether he was missing."""
    if tenant not in people.list_tenants(session):
        people.create_tenant(session, tenant)
    if admin in {user.id for user in people.list_users(session, tenant)}:
        return False
    people.create_user(session, tenant, admin, "admin")
    return True


def _show(done: Initialised, as_json: bool) -> None:
    there = "is ready" if done.created else "was there already"
    say(f"Tenant {done.tenant!r} with admin {done.user!r} {there} in {done.home}.")
    if done.api_key is None:
        say("No key was made; --new-key makes a further one.")
    if as_json:
        show_json(done)
    elif done.api_key is not None:
        say("The admin's API key, shown this once:")
        show(done.api_key)
