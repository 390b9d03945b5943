"""A running service with two companies in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.corpus.database import Database
from tests.world import World, running_world


@pytest.fixture
def world(database: Database, tmp_path: Path) -> Iterator[World]:
    with running_world(database, tmp_path) as world:
        yield world
