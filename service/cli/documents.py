"""`citeward documents`: listed and deleted; `citeward ingest` takes them in."""

from __future__ import annotations

from typing import Annotated

import typer

from ingest.corpus import lookup, store
from service.cli.local import DEFAULT_TENANT, Tenant, User, local_database, principal
from service.cli.show import Json, show_done, show_rows

app = typer.Typer()
documents = typer.Typer(help="Documents of a collection.", no_args_is_help=True)
app.add_typer(documents, name="documents")


@documents.command("list")
def list_(
    context: typer.Context,
    collection: Annotated[str, typer.Argument(help="Id of the collection.")],
    user: User = None,
    tenant: Tenant = DEFAULT_TENANT,
    as_json: Json = False,
) -> None:
    """What is in a collection, with the state of each document and why it failed."""
    with local_database(context).reading() as session:
        asker = principal(session, tenant, user)
        rows = lookup.list_documents(session, asker, collection)
    columns = {
        "document": lambda row: row.id,
        "file": lambda row: row.source_name,
        "version": lambda row: row.version,
        "state": lambda row: row.failure_code or row.state,
        "language": lambda row: row.language,
        "chunks": lambda row: row.chunks,
        "title": lambda row: row.title,
    }
    show_rows(rows, columns, as_json)


@documents.command("delete")
def delete(
    context: typer.Context,
    document: Annotated[str, typer.Argument(help="Id of the document.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask whether you mean it.")] = False,
    tenant: Tenant = DEFAULT_TENANT,
    as_json: Json = False,
) -> None:
    """Remove a document with all its versions, in force from the next question on."""
    database = local_database(context)
    with database.reading() as session:
        found = lookup.get_document(session, principal(session, tenant, None), document)
    if not yes:
        typer.confirm(f"Delete {found.source_name!r} with all its versions?", abort=True, err=True)
    with database.writing() as session:
        store.delete_document(session, tenant, document)
    show_done({"document": document, "deleted": True}, f"{found.source_name} was deleted.", as_json)
