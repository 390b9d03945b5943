"""Tenants, users, groups, keys; and that a key says who somebody is at this moment."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import event, text

from ingest.corpus.database import Database, Session
from ingest.corpus.errors import Conflict, InvalidInput, NotFound, Unauthenticated
from ingest.corpus.people import (
    add_member,
    authenticate,
    create_group,
    create_key,
    create_tenant,
    create_user,
    delete_group,
    delete_user,
    find_principal,
    hash_secret,
    list_groups,
    list_keys,
    list_tenants,
    list_users,
    remove_member,
    revoke_key,
)
from ingest.corpus.types import Principal
from tests.ingest.storing import furnish

KEY_SECRET = b"a secret of at least 16 bytes"


@pytest.fixture(autouse=True)
def furnished(database: Database) -> None:
    furnish(database)


@pytest.fixture
def credential(database: Database) -> str:
    """Of ana in the tenant acme."""
    with database.writing() as session:
        return create_key(session, KEY_SECRET, "acme", "ana", "laptop").credential


def principal_of(database: Database, credential: str, key_secret: bytes = KEY_SECRET) -> Principal:
    with database.reading() as session:
        return authenticate(session, key_secret, credential)


def change(database: Database, write: Callable[[Session], object]) -> None:
    with database.writing() as session:
        write(session)


# --- people ------------------------------------------------------------------------------------


def test_people_are_listed_with_their_groups(database: Database) -> None:
    with database.reading() as session:
        assert list_tenants(session) == ("acme", "other")
        users = {user.id: (user.role, user.group_ids) for user in list_users(session, "acme")}
        groups = {group.id: group.user_ids for group in list_groups(session, "acme")}
        assert list_users(session, "nowhere") == ()
    nobody: frozenset[str] = frozenset()
    assert users == {"ana": ("reader", {"hr"}), "ben": ("reader", {"sales"}), "root": ("admin", nobody)}
    assert groups == {"hr": {"ana"}, "sales": {"ben"}}


@pytest.mark.parametrize(
    "again",
    [
        lambda session: create_tenant(session, "acme"),
        lambda session: create_user(session, "acme", "ana"),
        lambda session: create_group(session, "acme", "hr"),
    ],
)
def test_an_id_is_taken_once(database: Database, again: Callable[[Session], object]) -> None:
    with pytest.raises(Conflict, match="already"):
        change(database, again)


@pytest.mark.parametrize(
    "use",
    [
        lambda session: create_user(session, "nowhere", "ana"),
        lambda session: create_group(session, "nowhere", "hr"),
        lambda session: delete_user(session, "acme", "nobody"),
        lambda session: delete_group(session, "acme", "ana"),
        lambda session: add_member(session, "acme", "nothing", "ana"),
        lambda session: add_member(session, "acme", "hr", "nobody"),
        lambda session: remove_member(session, "acme", "hr", "ben"),
        lambda session: create_key(session, KEY_SECRET, "acme", "nobody"),
        lambda session: revoke_key(session, "acme", "a" * 12),
        lambda session: find_principal(session, "acme", "nobody"),
    ],
)
def test_what_is_missing_is_not_found(database: Database, use: Callable[[Session], object]) -> None:
    with pytest.raises(NotFound, match="There is no"):
        change(database, use)


@pytest.mark.parametrize(
    "create",
    [
        lambda session: create_tenant(session, "Acme"),
        lambda session: create_user(session, "acme", "ana "),
        lambda session: create_user(session, "acme", "eve", "owner"),
        lambda session: create_group(session, "acme", "ｈr"),
        lambda session: create_key(session, KEY_SECRET, "acme", "ana", "n" * 101),
        lambda session: create_key(session, b"short", "acme", "ana"),
    ],
)
def test_what_cannot_be_right_is_refused(database: Database, create: Callable[[Session], object]) -> None:
    with pytest.raises(InvalidInput):
        change(database, create)


def test_joining_twice_is_joining_once(database: Database) -> None:
    change(database, lambda session: add_member(session, "acme", "sales", "ana"))
    change(database, lambda session: add_member(session, "acme", "sales", "ana"))
    with database.reading() as session:
        assert find_principal(session, "acme", "ana") == Principal("acme", "ana", frozenset({"hr", "sales"}))


def test_a_namesake_of_a_deleted_group_has_no_members(database: Database) -> None:
    change(database, lambda session: delete_group(session, "acme", "hr"))
    change(database, lambda session: create_group(session, "acme", "hr"))
    with database.reading() as session:
        assert find_principal(session, "acme", "ana").group_ids == frozenset()
        assert find_principal(session, "other", "ana").group_ids == {"hr"}


# --- keys --------------------------------------------------------------------------------------


def test_a_key_says_who_shows_it(database: Database, credential: str) -> None:
    assert principal_of(database, credential) == Principal("acme", "ana", frozenset({"hr"}), "reader")


def test_groups_and_role_are_those_of_this_moment(database: Database, credential: str) -> None:
    change(database, lambda session: remove_member(session, "acme", "hr", "ana"))
    assert principal_of(database, credential).group_ids == frozenset()
    change(
        database, lambda session: session.execute(text("UPDATE users SET role = 'admin' WHERE id = 'ana'"))
    )
    assert principal_of(database, credential).role == "admin"


def test_a_revoked_key_is_an_unknown_key(database: Database, credential: str) -> None:
    with database.writing() as session:
        (key,) = list_keys(session, "acme")
        assert (key.user_id, key.name, key.revoked_at) == ("ana", "laptop", None)
        with pytest.raises(NotFound):
            revoke_key(session, "other", key.prefix)
        revoke_key(session, "acme", key.prefix)
        assert list_keys(session, "acme")[0].revoked_at is not None
    with pytest.raises(Unauthenticated):
        principal_of(database, credential)


def test_keys_go_with_their_user(database: Database, credential: str) -> None:
    change(database, lambda session: delete_user(session, "acme", "ana"))
    change(database, lambda session: create_user(session, "acme", "ana"))
    with pytest.raises(Unauthenticated):
        principal_of(database, credential)


DAMAGE: dict[str, Callable[[str], str]] = {
    "empty": lambda _: "",
    "no key at all": lambda _: "Bearer",
    "other prefix": lambda one: "cw_" + "a" * 12 + one[15:],
    "other secret": lambda one: one[:16] + "A" * 43,
    "one letter": lambda one: one[:-1] + ("A" if one[-1] != "A" else "B"),
    "cut": lambda one: one[:-1],
    "longer": lambda one: one + "A",
    "line end": lambda one: one + "\n",
    "capitals": lambda one: one.upper(),
    "prefix alone": lambda one: one[:15],
    "letters of another script": lambda one: one[:-1] + "А",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_every_bad_key_is_refused_in_the_same_words(database: Database, credential: str, damage: str) -> None:
    with pytest.raises(Unauthenticated) as caught:
        principal_of(database, DAMAGE[damage](credential))
    assert str(caught.value) == "The key is not valid. Use a key that an admin has made for you."


def test_a_key_is_worthless_under_another_server_secret(database: Database, credential: str) -> None:
    with pytest.raises(Unauthenticated):
        principal_of(database, credential, b"another secret of enough bytes")


def test_the_database_holds_no_usable_key(database: Database, credential: str) -> None:
    prefix, secret = credential.split("_", 2)[1:]
    assert (len(prefix), len(secret)) == (12, 43)
    with database.reading() as session:
        row = session.execute(text("SELECT * FROM api_keys")).one()
    assert secret not in str(row)
    assert hash_secret(KEY_SECRET, secret) in row


def test_an_unknown_prefix_costs_the_same_statements_as_a_wrong_secret(
    database: Database, credential: str
) -> None:
    statements: list[str] = []
    event.listen(database.engine, "before_cursor_execute", lambda *these: statements.append(these[2]))
    asked = []
    for one in ("malformed", DAMAGE["other prefix"](credential), DAMAGE["other secret"](credential)):
        statements.clear()
        with pytest.raises(Unauthenticated):
            principal_of(database, one)
        asked.append(tuple(statements))
    assert len(set(asked)) == 1
