"""One SQLite file or one PostgreSQL database, and the two ways to use it: reading and writing.

Each way is one transaction. A read sees one moment of the whole database, however many statements it makes.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Engine, create_engine, event, func
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as NoFreeConnection
from sqlalchemy.orm import InstrumentedAttribute, Session

from ingest.corpus.errors import Conflict, InvalidInput, Unavailable

TRY_AGAIN_SECONDS = 0.01
WAIT_SECONDS = 5.0  # for another writer, and for a connection
IDS_AT_ONCE = 500  # in one statement
BEGIN = "begin"  # execution option: the statements that open a transaction on SQLite

READING = ("PRAGMA query_only = ON", "PRAGMA foreign_keys = ON", "BEGIN")
# IMMEDIATE takes the one writer's place at once: a transaction that has read already could not wait for it.
WRITING = ("PRAGMA query_only = OFF", "PRAGMA foreign_keys = ON", "BEGIN IMMEDIATE")
# A migration may make a table anew; with foreign keys on, dropping the old one would empty its dependants.
MIGRATING = ("PRAGMA query_only = OFF", "PRAGMA foreign_keys = OFF", "BEGIN IMMEDIATE")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Database:
    engine: Engine

    @property
    def is_sqlite(self) -> bool:
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """One consistent snapshot. Writing through it is an error on both databases.

        :raises Unavailable: if the database cannot be reached or is locked.
        """
        options = (
            {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        )
        with _transaction(self.engine.execution_options(**{BEGIN: READING}, **options)) as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Everything in the block is kept when it ends, or nothing.

        :raises Unavailable: if the database cannot be reached or another writer does not end in time.
        :raises Conflict: if another change came first.
        """
        with _transaction(self.engine.execution_options(**{BEGIN: WRITING})) as session:
            yield session

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """As `writing`, for changes of the tables; SQLite checks foreign keys at the end instead."""
        with _transaction(self.engine.execution_options(**{BEGIN: MIGRATING})) as session:
            yield session.connection()
            if self.is_sqlite and (
                broken := session.connection().exec_driver_sql("PRAGMA foreign_key_check").all()
            ):
                raise Conflict(f"The migration would break {len(broken)} references between tables.")

    def close(self) -> None:
        self.engine.dispose()


def in_batches(ids: Iterable[T]) -> Iterator[list[T]]:
    """Distinct ids, no more at once than a statement can carry on every database."""
    rest = list(dict.fromkeys(ids))
    for start in range(0, len(rest), IDS_AT_ONCE):
        yield rest[start : start + IDS_AT_ONCE]


def by_key_first(column: InstrumentedAttribute[str]) -> ColumnElement[str]:
    """The column, to be compared without its index: for statements that also name rows by their keys.

    Without statistics SQLite believes that a tenant has few rows, and would look through all of them.
    """
    return func.coalesce(column, "")


def open_database(url: str, *, wait_seconds: float = WAIT_SECONDS) -> Database:
    """Open, and for SQLite make, the database at a SQLAlchemy URL; its tables are the migrations' affair.

    :raises InvalidInput: for a URL that names no SQLite file and no PostgreSQL database.
    """
    parsed = _parse(url)
    if parsed.drivername == "sqlite":
        return Database(_open_sqlite(parsed, wait_seconds))
    return Database(_open_postgresql(parsed, wait_seconds))


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise _unusable("The database URL cannot be read.") from None  # the cause would show the password
    kind = parsed.get_backend_name()
    if kind == "sqlite":
        if parsed.database in (None, "", ":memory:"):
            raise _unusable("The database URL names no file.")
        return parsed.set(drivername="sqlite")
    if kind in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    raise _unusable(f"The database URL is for {kind}.")


def _unusable(what: str) -> InvalidInput:
    return InvalidInput(
        what,
        why="Citeward keeps its data in a SQLite file or in PostgreSQL.",
        next_step="Set CITEWARD_DATABASE_URL to sqlite:///path/to/file or postgresql://user:password@host/name.",
        field="database_url",
    )


def _open_sqlite(url: URL, wait_seconds: float) -> Engine:
    path = Path(str(url.database))
    path.parent.mkdir(parents=True, exist_ok=True)
    if (
        not path.exists()
    ):  # SQLite would make it readable for everybody; its -wal and -shm files take over this mode
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    engine = create_engine(url)

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, _record: object) -> None:
        connection.isolation_level = (
            None  # the driver would begin on its own, and only before the first write
        )
        connection.execute(f"PRAGMA busy_timeout = {int(wait_seconds * 1000)}")
        _use_write_ahead_log(connection, wait_seconds)  # readers and the writer do not wait for each other
        # NORMAL loses nothing when the process is killed, but a power cut could undo the last commits, and
        # what a revoke or delete took away must not come back. Commits are few and can afford the sync.
        connection.execute("PRAGMA synchronous = FULL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        for statement in connection.get_execution_options()[BEGIN]:
            connection.exec_driver_sql(statement)

    return engine


def _use_write_ahead_log(connection: Any, wait_seconds: float) -> None:
    """Waits for others itself: of two that are the first to use a file SQLite fails one at once, whatever its
    busy timeout, because neither could go on if both waited.
    """
    last_try = time.monotonic() + wait_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > last_try:
                raise
        time.sleep(TRY_AGAIN_SECONDS)


def _open_postgresql(url: URL, wait_seconds: float) -> Engine:
    return create_engine(
        url,
        pool_pre_ping=True,  # a connection that died while it lay in the pool is replaced, not handed out
        connect_args={
            "connect_timeout": int(max(wait_seconds, 1)),
            "options": f"-c lock_timeout={int(wait_seconds * 1000)}",
        },
    )


@contextmanager
def _transaction(engine: Engine) -> Iterator[Session]:
    try:
        with Session(engine) as session, session.begin():
            session.connection()  # begins now, so that a writer waits here and not halfway through its work
            yield session
    except (OperationalError, InterfaceError, NoFreeConnection) as error:
        raise Unavailable(
            "The database did not answer.",
            why="It cannot be reached, is full or is held by another writer.",
            next_step="Try again; if it stays so, look at the service's log and at the database.",
        ) from error
    except IntegrityError as error:
        raise Conflict(
            "Another change came first.", why="It touches the same thing.", next_step="Look again and repeat."
        ) from error
    except DatabaseError as error:
        if type(error) is not DatabaseError:  # its other kinds are faults of the program
            raise
        raise Unavailable(
            "The database cannot be read.",
            why="Its file is damaged, or is no database.",
            next_step="Restore it from a backup; the indexes are then made anew from it.",
        ) from error


__all__ = ["Database", "Session", "in_batches", "open_database"]
