"""An installation for one evaluation: an empty database that is gone afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ingest.corpus import people
from ingest.corpus.database import open_database
from ingest.corpus.seams import Embedder
from ingest.corpus.types import Principal
from ingest.models import packs_folder
from service.bootstrap import put_together
from service.evaluation.asking.ended import ended_in_order
from service.migrate import migrate
from service.parts import Parts
from service.settings import ServiceSettings

TENANT = "evaluation"
ASKER = Principal(TENANT, "evaluator", role="admin")  # may read everything


@contextmanager
def scratch_installation(settings: ServiceSettings, embedder: Embedder) -> Iterator[Parts]:
    """The service's parts as the settings have them, over a database with one tenant and nobody in it.

    Whatever ends the process, but for what cannot be caught: documents must not be left lying about.
    """
    with ended_in_order(), TemporaryDirectory(prefix="citeward-eval-") as folder:
        corpus = replace(settings.corpus, home=Path(folder), database_url="")
        packs = packs_folder(settings.corpus.home).absolute()
        if packs.is_dir():  # the settings may name one
            packs_folder(corpus.home).symlink_to(packs, target_is_directory=True)
        database = open_database(corpus.sqlalchemy_url)
        try:
            migrate(database)
            with database.writing() as session:
                people.create_tenant(session, TENANT)
            yield put_together(replace(settings, corpus=corpus), database, embedder)
        finally:
            database.close()
