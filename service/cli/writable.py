"""Where a command will write what it finds, looked at before it looks for anything."""

from __future__ import annotations

from pathlib import Path

from ingest.corpus.errors import InvalidInput


def writable(path: Path) -> Path:
    """The same, once it is known that a file can be written there; its folder is made, it is not touched.

    :raises InvalidInput: if none can.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        was_there = path.exists()
        if path.is_dir() or path.is_file() or not was_there:  # a pipe that is opened and closed would end
            path.open("ab").close()  # asking for permissions tells nothing of a full or read-only disk
        if not was_there:
            path.unlink()
    except FileExistsError as error:  # where the folder would be
        raise _unwritable(path, f"{path.parent} is no folder") from error
    except OSError as error:
        raise _unwritable(path, f"{error.strerror or error}: {error.filename or path}") from error
    return path


def _unwritable(path: Path, why: str) -> InvalidInput:
    return InvalidInput(
        f"{path} cannot be written.",
        why=f"{why}.",
        next_step="Give a place where a file can be made. Nothing was asked yet.",
    )
