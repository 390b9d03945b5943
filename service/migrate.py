"""Bring a database's tables up to this version of the code."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from ingest.corpus.database import Database
from ingest.corpus.errors import Conflict

MIGRATIONS = Path(__file__).parent / "migrations"
ONE_AT_A_TIME = 7_305_091_833  # any number: two services that start together must not both migrate


def migrate(database: Database) -> None:
    """Apply every migration that the database lacks, in one transaction.

    :raises Conflict: if the database was made by a newer version.
    """
    config = _config()
    with database.migrating() as connection:
        if not database.is_sqlite:  # SQLite has one writer anyway
            connection.execute(text(f"SELECT pg_advisory_xact_lock({ONE_AT_A_TIME})"))
        _refuse_newer(
            MigrationContext.configure(connection).get_current_revision(), ScriptDirectory.from_config(config)
        )
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def schema_is_current(database: Database) -> bool:
    """:raises Conflict: if the database was made by a newer version."""
    scripts = ScriptDirectory.from_config(_config())
    with database.reading() as session:
        revision = MigrationContext.configure(session.connection()).get_current_revision()
    _refuse_newer(revision, scripts)
    return revision == scripts.get_current_head()


def require_current_schema(database: Database) -> None:
    """:raises Conflict: if the tables are not those of this version, saying which way they differ."""
    if not schema_is_current(database):
        raise Conflict(
            "The database's tables are not there yet, or are of an older version.",
            why="Nothing may run on tables that it does not know.",
            next_step="Run `citeward init`, which applies the missing migrations and keeps the data.",
        )


def _config() -> Config:
    config = Config()
    config.set_main_option(
        "script_location", str(MIGRATIONS).replace("%", "%%")
    )  # % would be an interpolation
    config.set_main_option("path_separator", "os")
    return config


def _refuse_newer(revision: str | None, scripts: ScriptDirectory) -> None:
    known = {script.revision for script in scripts.walk_revisions()}
    if revision is not None and revision not in known:
        raise Conflict(
            f"The tables are at revision {revision}, which this version of Citeward does not know.",
            why="A newer version made them.",
            next_step="Run that version, or restore a backup made before the upgrade.",
        )
