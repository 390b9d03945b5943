"""What an operator may set about the corpus, read once from the environment and checked there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from ingest.corpus.errors import InvalidInput, UnknownSetting

PREFIX = "CITEWARD_"
KINDS = {"int": "a whole number", "float": "a number", "bool": "true or false"}  # of values that can be wrong
S = TypeVar("S")
SHORTEST_KEY_SECRET = 16  # bytes of what keys are hashed with


def setting(default: Any, describes: str, *, secret: bool = False) -> Any:
    """A dataclass field whose environment variable is `CITEWARD_` and its name in capitals."""
    return field(default=default, metadata={"describes": describes, "secret": secret})


@dataclass(frozen=True, slots=True)
class CorpusSettings:
    home: Path = setting(Path("var"), "data folder: database, snapshots, model packs")
    database_url: str = setting("", "SQLAlchemy URL; empty means SQLite in the data folder", secret=True)
    embedder: str = setting("multilingual-e5-small", "a model pack, a local folder or a hub id")
    chunk_tokens: int = setting(320, "longest chunk, in the embedder's tokens")
    read_timeout_seconds: float = setting(60.0, "longest time that one file may take to parse")
    read_memory_mib: int = setting(1024, "most memory that parsing one file may take")
    max_pages: int = setting(2000, "most pages of one document")
    max_upload_bytes: int = setting(50 * 1024 * 1024, "largest file that is accepted")
    ocr_languages: str = setting("", "what OCR reads pictures in, such as chi_sim+eng; empty: no OCR")
    pdf_passwords: str = setting("", "passwords tried on encrypted PDFs, parted by commas", secret=True)

    def __post_init__(self) -> None:
        for name in (
            "chunk_tokens",
            "read_timeout_seconds",
            "read_memory_mib",
            "max_pages",
            "max_upload_bytes",
        ):
            require_positive(self, name)

    @property
    def sqlalchemy_url(self) -> str:
        return self.database_url or f"sqlite:///{self.home.resolve() / 'citeward.sqlite3'}"

    @property
    def snapshots(self) -> Path:
        return self.home / "snapshots"

    @property
    def models(self) -> Path:
        return self.home / "models"


def require_positive(settings: object, name: str) -> None:
    """:raises InvalidInput: naming the variable and the value met."""
    value = getattr(settings, name)
    if not 0 < value < float("inf"):
        raise InvalidInput(
            f"{variable(name)} is {value}.",
            why="It must be above 0 and finite.",
            next_step="Correct or unset it.",
            field=name,
        )


def require_within(settings: object, name: str, least: int, most: int) -> None:
    """:raises InvalidInput: naming the variable, the value met and both ends."""
    value = getattr(settings, name)
    if not least <= value <= most:
        raise InvalidInput(
            f"{variable(name)} is {value}.",
            why=f"It must be from {least} to {most}.",
            next_step="Correct or unset it.",
            field=name,
        )


def require_long_secret(key_secret: bytes) -> None:
    """:raises InvalidInput: if it is too short to keep a copy of the database useless."""
    if len(key_secret) < SHORTEST_KEY_SECRET:
        raise InvalidInput(
            f"The secret that keys are hashed with has {len(key_secret)} bytes.",
            why=f"It must have at least {SHORTEST_KEY_SECRET}.",
            next_step="Set CITEWARD_KEY_SECRET to a longer one.",
            field="key_secret",
        )


def variable(field_name: str) -> str:
    return PREFIX + field_name.upper()


def read_settings(kind: type[S], environ: Mapping[str, str]) -> S:
    """Make `kind`, a dataclass of `setting` fields, from the environment; an absent one keeps its default.

    :raises InvalidInput: for a value of the wrong type, naming the variable.
    """
    given = {
        one.name: _convert(one, environ[variable(one.name)])
        for one in fields(kind)  # type: ignore[arg-type]
        if variable(one.name) in environ
    }
    return kind(**given)


def refuse_unknown(environ: Mapping[str, str], known: frozenset[str]) -> None:
    """A misspelt variable must not be ignored: the operator believes that it is in force.

    :raises UnknownSetting: naming the variable and all known ones.
    """
    from_outside = sorted(name for name in environ if name.startswith(PREFIX) and name not in known)
    if from_outside:
        raise UnknownSetting(
            f"Unknown setting {', '.join(from_outside)}.",
            why=f"Citeward reads only: {', '.join(sorted(known))}.",
            next_step="Correct the name or unset it.",
        )


def _convert(one: Field[Any], raw: str) -> object:
    converters: dict[str, Callable[[str], object]] = {
        "Path": Path,
        "str": str,
        "int": int,
        "float": float,
        "bool": _boolean,
    }
    try:
        return converters[str(one.type)](raw)
    except ValueError as error:
        raise InvalidInput(
            f"{variable(one.name)} is {raw!r}.",
            why=f"It must be {KINDS[str(one.type)]}.",
            next_step="Correct or unset it.",
            field=one.name,
        ) from error


def _boolean(raw: str) -> bool:
    values = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    if raw.lower() not in values:
        raise ValueError(raw)
    return values[raw.lower()]
