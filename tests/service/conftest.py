"""A running service with two companies in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.corpus.database import Database, open_database
from tests.world import World, running_world


@pytest.fixture
def world(database: Database, tmp_path: Path) -> Iterator[World]:
    with running_world(database, tmp_path) as world:
        yield world


@pytest.fixture(scope="module")
def lasting_database(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """SQLite, for all tests of a file: those that leave alone what others look at."""
    path = shutil.copy(sqlite_template, tmp_path_factory.mktemp("lasting") / "citeward.sqlite3")
    database = open_database(f"sqlite:///{path}")
    yield database
    database.close()


@pytest.fixture(scope="module")
def lasting_world(lasting_database: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_world(lasting_database, tmp_path_factory.mktemp("home")) as world:
        yield world
