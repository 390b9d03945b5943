"""Which files a path names, in a stable order; knows nothing of their formats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ingest.corpus.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class FoundFile:
    path: Path
    source_name: str  # below the folder given, with forward slashes: its name in the collection


def find_files(path: Path) -> Iterator[FoundFile]:
    """A file itself, or every visible file below a folder; symbolic links are not followed out of it.

    :raises InvalidInput: if there is nothing at `path`.
    """
    if path.is_file():
        yield FoundFile(path, path.name)
        return
    if not path.is_dir():
        raise InvalidInput(
            f"There is nothing at {path}.", next_step="Give a file or a folder that exists.", field="path"
        )
    root = path.resolve()
    for found in sorted(path.rglob("*")):
        name = found.relative_to(path)
        if any(part.startswith(".") for part in name.parts):
            continue
        if found.is_file() and found.resolve().is_relative_to(root):
            yield FoundFile(found, name.as_posix())
