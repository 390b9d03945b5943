"""The installation that commands work on, and who is meant where nobody is named."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated

import typer

from ingest.corpus import people
from ingest.corpus.database import Database, Session, open_database
from ingest.corpus.errors import NotFound
from ingest.corpus.permissions import parse_access
from ingest.corpus.seams import Embedder
from ingest.corpus.types import AccessList, Principal
from service.bootstrap import open_embedder, open_parts
from service.cli.show import say
from service.migrate import require_current_schema
from service.parts import Parts
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
    """Opened as far as a command needs it."""

    settings: ServiceSettings
    make_embedder: Callable[[ServiceSettings], Embedder] = open_embedder

    def database(self) -> Database:
        """:raises Conflict: if its tables are not this version's."""
        database = open_database(self.settings.corpus.sqlalchemy_url)
        require_current_schema(database)
        return database

    def embedder(self) -> Embedder:
        say(f"Loading {self.settings.corpus.embedder} …")
        return self.make_embedder(self.settings)

    def parts(self) -> Parts:
        self.database().close()  # first, because it is quick to say that `init` is missing
        return open_parts(self.settings, self.embedder())


def installation(context: typer.Context) -> Installation:
    """The one that the caller of the command line put in, else the one that the environment names."""
    given: Installation | None = context.find_object(Installation)
    return given or Installation(load_settings())


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
