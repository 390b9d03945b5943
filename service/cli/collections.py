"""`citeward collections`: made, listed, opened to readers, deleted."""

from __future__ import annotations

from typing import Annotated

import typer

from ingest.corpus import collections as stored
from ingest.corpus.types import AccessList
from service.cli.local import DEFAULT_TENANT, Allow, Deny, Tenant, access_list, local_database, principal
from service.cli.show import Json, show_done, show_rows

app = typer.Typer()
collections = typer.Typer(help="Collections of documents and who may read them.", no_args_is_help=True)
app.add_typer(collections, name="collections")

CollectionId = Annotated[str, typer.Argument(metavar="COLLECTION", help="Id of the collection.")]


@collections.command("create")
def create(
    context: typer.Context,
    collection: CollectionId,
    title: Annotated[str | None, typer.Option(help="Shown to readers; the id if not given.")] = None,
    allow: Allow = None,
    deny: Deny = None,
    tenant: Tenant = DEFAULT_TENANT,
    as_json: Json = False,
) -> None:
    """Make a collection; without --allow only admins may read it."""
    access = access_list(allow, deny)
    with local_database(context).writing() as session:
        made = stored.create_collection(session, tenant, collection, title or collection)
        if access is not None:
            stored.set_collection_access(session, tenant, collection, access)
    show_done(made, f"Collection {collection!r} was made. {_who(access or AccessList())}", as_json)


@collections.command("list")
def list_(context: typer.Context, tenant: Tenant = DEFAULT_TENANT, as_json: Json = False) -> None:
    """All collections of the tenant."""
    with local_database(context).reading() as session:
        rows = stored.list_collections(session, principal(session, tenant, None))
    columns = {
        "collection": lambda row: row.id,
        "title": lambda row: row.title,
        "embedder": lambda row: row.fingerprint.name if row.fingerprint else None,
        "since": lambda row: row.created_at,
    }
    show_rows(rows, columns, as_json)


@collections.command("access")
def access(
    context: typer.Context,
    collection: CollectionId,
    allow: Allow = None,
    deny: Deny = None,
    nobody: Annotated[bool, typer.Option("--nobody", help="Take everybody's access but admins'.")] = False,
    tenant: Tenant = DEFAULT_TENANT,
    as_json: Json = False,
) -> None:
    """Show who may read a collection or, with --allow, --deny or --nobody, say it anew."""
    if nobody and (allow or deny):
        raise typer.BadParameter("--nobody goes with neither --allow nor --deny.")
    wanted = AccessList() if nobody else access_list(allow, deny)
    database = local_database(context)
    if wanted is not None:
        with database.writing() as session:
            stored.set_collection_access(session, tenant, collection, wanted)
    with database.reading() as session:
        found = stored.get_collection_access(session, tenant, collection)
    result = {"collection": collection, "allow": found.allow, "deny": found.deny}
    show_done(result, _who(found), as_json)


@collections.command("delete")
def delete(
    context: typer.Context,
    collection: CollectionId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask whether you mean it.")] = False,
    tenant: Tenant = DEFAULT_TENANT,
    as_json: Json = False,
) -> None:
    """Remove a collection with all its documents."""
    database = local_database(context)
    with database.reading() as session:
        stored.get_collection_access(session, tenant, collection)  # asks nobody about what is not there
    if not yes:
        typer.confirm(f"Delete {collection!r} with all its documents?", abort=True, err=True)
    with database.writing() as session:
        stored.delete_collection(session, tenant, collection)
    show_done({"collection": collection, "deleted": True}, f"Collection {collection!r} was deleted.", as_json)


def _who(access: AccessList) -> str:
    if not access.allow:
        return "Only admins may read it."
    denied = f", but not {', '.join(sorted(access.deny))}" if access.deny else ""
    return f"It may be read by {', '.join(sorted(access.allow))}{denied}."
