"""Transactions, snapshots and migrations, on both databases."""

from __future__ import annotations

import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

import service.capacity.reservations
import service.history  # its table is part of the metadata  # noqa: F401
from ingest.corpus.database import Database, in_batches, open_database
from ingest.corpus.errors import Conflict, InvalidInput, Unavailable
from ingest.corpus.people import (
    add_member,
    create_group,
    create_key,
    create_tenant,
    create_user,
    list_keys,
    list_tenants,
    list_users,
)
from ingest.corpus.tables import Base
from service.migrate import MIGRATIONS, migrate, require_current_schema, schema_is_current
from service.releases.activations import activate, newest_activation
from service.releases.standing import Grounds


def test_migrations_make_exactly_the_tables_of_the_code(database: Database) -> None:
    with database.reading() as session:
        assert compare_metadata(MigrationContext.configure(session.connection()), Base.metadata) == []


def test_migrating_twice_changes_nothing(database: Database) -> None:
    with database.writing() as session:
        create_tenant(session, "acme")
    migrate(database)
    require_current_schema(database)
    with database.reading() as session:
        assert list_tenants(session) == ("acme",)


def test_an_empty_database_is_not_current_until_it_is_migrated(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/100%/new.sqlite3")
    assert not schema_is_current(database)
    with pytest.raises(Conflict, match="citeward init"):
        require_current_schema(database)
    migrate(database)
    assert schema_is_current(database)
    database.close()


def test_tables_of_a_newer_version_are_refused(database: Database) -> None:
    with database.writing() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for step in (schema_is_current, migrate):
        with pytest.raises(Conflict, match="9999"):
            step(database)


def test_a_table_made_anew_loses_neither_keys_nor_memberships(tmp_path: Path) -> None:
    """SQLite cannot change a constraint: `users`, which both point at, is made anew for a third role."""
    database = open_database(f"sqlite:///{tmp_path}/citeward.sqlite3")
    with database.migrating() as connection:
        upgrade_to(connection, "0003")
    with database.writing() as session:
        create_tenant(session, "acme")
        create_user(session, "acme", "ana")
        create_group(session, "acme", "hr")
        add_member(session, "acme", "hr", "ana")
        create_key(session, b"k" * 32, "acme", "ana")
    with pytest.raises(Conflict), database.writing() as session:
        create_user(session, "acme", "eva", "evaluator")
    migrate(database)
    with database.writing() as session:
        create_user(session, "acme", "eva", "evaluator")
        assert [one.user_id for one in list_keys(session, "acme")] == ["ana"]
        assert [(one.id, one.role, one.group_ids) for one in list_users(session, "acme")] == [
            ("ana", "reader", {"hr"}),
            ("eva", "evaluator", frozenset()),
        ]
    with pytest.raises(Conflict), database.writing() as session:
        session.execute(text("UPDATE users SET role = 'king'"))
    database.close()


def test_releases_and_the_log_of_changes_can_be_taken_back(database: Database) -> None:
    with database.writing() as session:
        create_tenant(session, "acme")
        activate(session, "acme", "second", 100, "user:root", "first", Grounds(override="a reason"))
    with database.migrating() as connection:
        command.downgrade(configured(connection), "0005")
    with pytest.raises(Conflict, match="older version"):
        require_current_schema(database)
    migrate(database)
    with database.reading() as session:
        assert list_tenants(session) == ("acme",)
        assert newest_activation(session, "acme") is None


def test_no_share_and_no_action_is_stored_that_there_is_not(database: Database) -> None:
    with database.writing() as session:
        create_tenant(session, "acme")
        activate(session, "acme", "second", 100, "user:root", "first", Grounds(override="a reason"))
    for change in ("share = 0", "share = 101", "action = 'hope'"):
        with pytest.raises(Conflict), database.writing() as session:
            session.execute(text(f"UPDATE activations SET {change}"))


def upgrade_to(connection: Connection, revision: str) -> None:
    command.upgrade(configured(connection), revision)


def configured(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def test_only_one_of_two_services_that_start_together_migrates(tmp_path: Path) -> None:
    databases = [open_database(f"sqlite:///{tmp_path}/citeward.sqlite3") for _ in range(2)]
    threads = [threading.Thread(target=migrate, args=(database,)) for database in databases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(map(schema_is_current, databases))
    for database in databases:
        database.close()


def test_whoever_is_first_to_use_a_new_file_none_is_turned_away(tmp_path: Path) -> None:
    def use(url: str, start: threading.Barrier) -> None:
        database = open_database(url)
        start.wait()
        with database.writing():
            pass
        database.close()

    with ThreadPoolExecutor(4) as pool:
        for number in range(40):  # without waiting, one in seventeen first uses failed
            start = threading.Barrier(4)
            url = f"sqlite:///{tmp_path}/{number}.sqlite3"
            for used in [pool.submit(use, url, start) for _ in range(4)]:
                used.result()


def test_a_writing_block_that_raises_leaves_nothing(database: Database) -> None:
    def create_and_fail() -> None:
        with database.writing() as session:
            create_tenant(session, "acme")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        create_and_fail()
    with database.reading() as session:
        assert list_tenants(session) == ()


def test_a_reading_block_sees_one_moment(database: Database) -> None:
    with database.reading() as before:
        assert list_tenants(before) == ()
        with database.writing() as session:
            create_tenant(session, "acme")
        assert list_tenants(before) == ()
    with database.reading() as after:
        assert list_tenants(after) == ("acme",)


def test_a_reading_block_cannot_write(database: Database) -> None:
    with pytest.raises((DBAPIError, Unavailable)), database.reading() as session:
        create_tenant(session, "acme")
    with database.writing() as session:
        create_tenant(session, "acme")  # the same connection writes again


def test_readers_go_on_while_a_writer_holds_the_database(database: Database) -> None:
    with database.writing() as writer:
        create_tenant(writer, "acme")
        with database.reading() as reader:
            assert list_tenants(reader) == ()


def test_a_second_writer_gives_up_after_its_wait(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/a.sqlite3", wait_seconds=0.05)
    migrate(database)
    with database.writing(), pytest.raises(Unavailable), database.writing():
        pass
    with database.writing() as session:
        create_tenant(session, "acme")
    database.close()


def test_breaking_a_reference_is_a_conflict(database: Database) -> None:
    with pytest.raises(Conflict), database.writing() as session:
        session.execute(text("INSERT INTO groups VALUES ('nowhere', 'hr', 'now')"))


def test_a_database_that_cannot_be_reached_is_unavailable(tmp_path: Path) -> None:
    database = open_database(f"postgresql://citeward:secret@/none?host={tmp_path}")
    with pytest.raises(Unavailable) as caught, database.reading():
        pass
    assert "secret" not in str(caught.value)
    database.close()


@pytest.mark.parametrize("damage", ["is no database", "damaged inside"])
def test_a_damaged_file_is_said_to_be_one(sqlite_template: Path, tmp_path: Path, damage: str) -> None:
    good = sqlite_template.read_bytes()
    path = tmp_path / "damaged.sqlite3"
    path.write_bytes(
        b"words " * 1000 if damage == "is no database" else good[:4096] + b"\xff" * (len(good) - 4096)
    )
    database = open_database(f"sqlite:///{path}")
    with pytest.raises(Unavailable, match="backup"), database.reading() as session:
        list_tenants(session)
    database.close()


def test_the_file_is_for_its_owner_alone(sqlite_template: Path) -> None:
    assert stat.S_IMODE(sqlite_template.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///:memory:", "mysql://u:pa55word@host/x", "pa55word", ""]
)
def test_a_url_of_another_kind_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        open_database(url)
    assert "pa55word" not in str(caught.value)


def test_ids_come_in_batches_without_repeats() -> None:
    batches = list(in_batches([*range(1200), 5, 7]))
    assert [len(batch) for batch in batches] == [500, 500, 200]
    assert sorted(chain(*batches)) == list(range(1200))
