"""The installation that commands work on, and who is meant where nobody is named."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import typer

from ingest.corpus import people
from ingest.corpus.database import Database, Session, open_database
from ingest.corpus.errors import NotFound
from ingest.corpus.permissions import parse_access
from ingest.corpus.seams import Embedder
from ingest.corpus.types import AccessList, Principal
from service.migrate import require_current_schema
from service.settings import ServiceSettings, load_settings

DEFAULT_TENANT = "default"
Tenant = Annotated[str, typer.Option("--tenant", help="The tenant to work in.")]
User = Annotated[str | None, typer.Option("--user", "-u", help="Ask as this user instead of as an admin.")]
Allow = Annotated[
    list[str] | None, typer.Option("--allow", help="Who may read: everyone, user:ID or group:ID. Repeatable.")
]
Deny = Annotated[
    list[str] | None, typer.Option("--deny", help="Who may not, whatever is allowed. Repeatable.")
]


@dataclass(frozen=True, slots=True)
class Installation:
    """What a command line works on; a caller of `app` may put in its own as the context's object."""

    settings: ServiceSettings
    embedder: Embedder | None = None  # None: the one that the settings name


def installation(context: typer.Context) -> Installation:
    """The one that was put in, else the one that the environment names."""
    return context.find_object(Installation) or Installation(load_settings())


def local_database(context: typer.Context) -> Database:
    """Closed when the command ends.

    :raises Conflict: if its tables are not this version's.
    """
    database = open_database(installation(context).settings.corpus.sqlalchemy_url)
    context.call_on_close(database.close)
    require_current_schema(database)
    return database


def principal(session: Session, tenant_id: str, user_id: str | None) -> Principal:
    """The user, or the first admin of the tenant.

    :raises NotFound: if there is none.
    """
    if user_id is not None:
        return people.find_principal(session, tenant_id, user_id)
    for user in people.list_users(session, tenant_id):
        if user.role == "admin":
            return Principal(tenant_id, user.id, user.group_ids, user.role)
    raise NotFound(
        f"There is no admin in tenant {tenant_id!r}.",
        next_step=f"Run `citeward init --tenant {tenant_id}`, or name a tenant that exists.",
    )


def access_list(allow: Iterable[str] | None, deny: Iterable[str] | None) -> AccessList | None:
    """None if nothing was said.

    :raises InvalidInput: for an entry that is no subject.
    """
    if not allow and not deny:
        return None
    return parse_access(frozenset(allow or ()), frozenset(deny or ()))
