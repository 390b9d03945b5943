"""`citeward users`, `citeward groups` and `citeward keys`."""

from __future__ import annotations

from typing import Annotated

import typer

from ingest.corpus import people
from ingest.corpus.types import Role
from service.cli.local import DEFAULT_TENANT, Tenant, installation, local_database
from service.cli.show import Json, say, show, show_done, show_json, show_rows
from service.secret import key_secret

app = typer.Typer()
users = typer.Typer(help="Who may ask.", no_args_is_help=True)
groups = typer.Typer(help="Users that access lists can name together.", no_args_is_help=True)
keys = typer.Typer(help="API keys of users.", no_args_is_help=True)
app.add_typer(users, name="users")
app.add_typer(groups, name="groups")
app.add_typer(keys, name="keys")

UserId = Annotated[str, typer.Argument(metavar="USER", help="Id of the user.")]
GroupId = Annotated[str, typer.Argument(metavar="GROUP", help="Id of the group.")]


# --- users -------------------------------------------------------------------------------------


@users.command("add")
def add_user(
    context: typer.Context,
    user: UserId,
    role: Annotated[
        Role, typer.Option(help="An admin reads and changes all; an evaluator sees how answers were made.")
    ] = "reader",
    tenant: Tenant = DEFAULT_TENANT,
    as_json: Json = False,
) -> None:
    """Add a user; `citeward keys create` gives him a key."""
    with local_database(context).writing() as session:
        made = people.create_user(session, tenant, user, role)
    show_done(made, f"{role} {user!r} was added.", as_json)


@users.command("list")
def list_users(context: typer.Context, tenant: Tenant = DEFAULT_TENANT, as_json: Json = False) -> None:
    """Users with their roles and groups."""
    with local_database(context).reading() as session:
        rows = people.list_users(session, tenant)
    columns = {
        "user": lambda row: row.id,
        "role": lambda row: row.role,
        "groups": lambda row: row.group_ids,
        "since": lambda row: row.created_at,
    }
    show_rows(rows, columns, as_json)


@users.command("remove")
def remove_user(
    context: typer.Context, user: UserId, tenant: Tenant = DEFAULT_TENANT, as_json: Json = False
) -> None:
    """Remove a user with his keys, memberships and entries in access lists."""
    with local_database(context).writing() as session:
        people.delete_user(session, tenant, user)
    show_done({"user": user, "removed": True}, f"User {user!r} was removed.", as_json)


# --- groups ------------------------------------------------------------------------------------


@groups.command("add")
def add_group(
    context: typer.Context, group: GroupId, tenant: Tenant = DEFAULT_TENANT, as_json: Json = False
) -> None:
    """Add a group without members."""
    with local_database(context).writing() as session:
        made = people.create_group(session, tenant, group)
    show_done(made, f"Group {group!r} was added.", as_json)


@groups.command("list")
def list_groups(context: typer.Context, tenant: Tenant = DEFAULT_TENANT, as_json: Json = False) -> None:
    """Groups with their members."""
    with local_database(context).reading() as session:
        rows = people.list_groups(session, tenant)
    columns = {
        "group": lambda row: row.id,
        "members": lambda row: row.user_ids,
        "since": lambda row: row.created_at,
    }
    show_rows(rows, columns, as_json)


@groups.command("remove")
def remove_group(
    context: typer.Context, group: GroupId, tenant: Tenant = DEFAULT_TENANT, as_json: Json = False
) -> None:
    """Remove a group with its memberships and entries in access lists."""
    with local_database(context).writing() as session:
        people.delete_group(session, tenant, group)
    show_done({"group": group, "removed": True}, f"Group {group!r} was removed.", as_json)


@groups.command("join")
def join_group(
    context: typer.Context,
    group: GroupId,
    user: UserId,
    tenant: Tenant = DEFAULT_TENANT,
    as_json: Json = False,
) -> None:
    """Put a user into a group; from the next question on he may read what it may."""
    with local_database(context).writing() as session:
        people.add_member(session, tenant, group, user)
    show_done({"group": group, "user": user, "member": True}, f"{user!r} is in {group!r}.", as_json)


@groups.command("leave")
def leave_group(
    context: typer.Context,
    group: GroupId,
    user: UserId,
    tenant: Tenant = DEFAULT_TENANT,
    as_json: Json = False,
) -> None:
    """Take a user out of a group, in force from the next question on."""
    with local_database(context).writing() as session:
        people.remove_member(session, tenant, group, user)
    show_done(
        {"group": group, "user": user, "member": False}, f"{user!r} is no longer in {group!r}.", as_json
    )


# --- keys --------------------------------------------------------------------------------------


@keys.command("create")
def create_key(
    context: typer.Context,
    user: UserId,
    name: Annotated[str, typer.Option(help="What it is for.")] = "",
    tenant: Tenant = DEFAULT_TENANT,
    as_json: Json = False,
) -> None:
    """Make a key and print it this once; only a hash of it is stored."""
    secret = key_secret(installation(context).settings)
    with local_database(context).writing() as session:
        made = people.create_key(session, secret, tenant, user, name)
    if as_json:
        show_json({"api_key": made.credential, "prefix": made.key.prefix, "user": user, "name": name})
        return
    say(f"An API key of {user!r}, shown this once:")
    show(made.credential)


@keys.command("list")
def list_keys(context: typer.Context, tenant: Tenant = DEFAULT_TENANT, as_json: Json = False) -> None:
    """Keys without their secrets, revoked ones too."""
    with local_database(context).reading() as session:
        rows = people.list_keys(session, tenant)
    columns = {
        "prefix": lambda row: row.prefix,
        "user": lambda row: row.user_id,
        "name": lambda row: row.name,
        "made": lambda row: row.created_at,
        "revoked": lambda row: row.revoked_at,
    }
    show_rows(rows, columns, as_json)


@keys.command("revoke")
def revoke_key(
    context: typer.Context,
    prefix: Annotated[str, typer.Argument(help="As `citeward keys list` shows it.")],
    tenant: Tenant = DEFAULT_TENANT,
    as_json: Json = False,
) -> None:
    """Make a key useless from the next request on."""
    with local_database(context).writing() as session:
        people.revoke_key(session, tenant, prefix)
    show_done({"prefix": prefix, "revoked": True}, f"Key {prefix} was revoked.", as_json)
