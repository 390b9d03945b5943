"""Puts the real parts together, once a process: for the server, for the command line, for a benchmark."""

from __future__ import annotations

import hashlib
import secrets
import tempfile
from contextlib import suppress
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path

from ingest.corpus.database import open_database
from ingest.corpus.embedder import SentenceTransformerEmbedder, locate_model
from ingest.corpus.errors import Unavailable
from ingest.corpus.seams import Embedder
from ingest.corpus.snapshot import Corpus
from ingest.pipeline import Workbench
from service.judge import LexicalSemanticJudge
from service.migrate import schema_is_current
from service.parts import Parts
from service.quoting import QuotingGenerator
from service.rerank import FusedOrder
from service.settings import ServiceSettings

NOT_IN_ANSWERS = frozenset({"corpus", "host", "port", "key_secret", "max_body_bytes", "max_question_chars"})


def open_parts(settings: ServiceSettings, embedder: Embedder | None = None) -> Parts:
    """The parts of a running service; `embedder` replaces the one that the settings name.

    :raises Unavailable: if the model is not here or the database cannot be reached.
    :raises Conflict: if the database was made by a newer version.
    """
    database = open_database(settings.corpus.sqlalchemy_url)
    if not schema_is_current(database):
        raise Unavailable(
            "The database's tables are not those of this version.",
            why="They were made by an older version, or not yet.",
            next_step="Run `citeward init`.",
        )
    embedder = embedder or open_embedder(settings)
    return Parts(
        settings=settings,
        database=database,
        corpus=Corpus(database, embedder.fingerprint, settings.corpus.snapshots),
        embedder=embedder,
        reranker=FusedOrder(),
        generator=QuotingGenerator(embedder),
        judge=LexicalSemanticJudge(embedder),
        config_hash=config_hash(settings),
        code_version=version("citeward"),
    )


def open_embedder(settings: ServiceSettings) -> Embedder:
    return SentenceTransformerEmbedder(locate_model(settings.corpus.embedder, settings.corpus.models))


def open_workbench(parts: Parts) -> Workbench:
    return Workbench(parts.database, parts.embedder, parts.settings.corpus)


def config_hash(settings: ServiceSettings) -> str:
    """12 hex digits over every setting that can change an answer; where it listens and its secrets cannot."""
    names = {one.name for one in fields(settings)} - NOT_IN_ANSWERS
    values = {name: str(getattr(settings, name)) for name in names}
    values["chunk_tokens"] = str(settings.corpus.chunk_tokens)
    text = "\n".join(f"{name}={value}" for name, value in sorted(values.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def key_secret(settings: ServiceSettings) -> bytes:
    """What API keys are hashed with: the setting, else a file in the data folder, made at first use."""
    if settings.key_secret:
        return settings.key_secret.encode()
    return _secret_file(settings.corpus.home / "key_secret")


def _secret_file(path: Path) -> bytes:
    """Two processes that start together get the same one: the name is taken in one step, with its content."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent) as file:  # readable by its owner alone
            file.write(secrets.token_bytes(32))
            file.flush()
            with suppress(FileExistsError):
                path.hardlink_to(file.name)
    return path.read_bytes()
