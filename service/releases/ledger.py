"""The ledger of released files: the words and values of answers that were given, by hash; they never change.

Its lines are those of sha256sum: `sha256sum --check released.txt`, in that folder, tells the same.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from importlib.resources import files

from ingest.corpus.errors import Conflict, NotFound

ROOT = files("service")
LEDGER = "released.txt"
LINE = re.compile(r"([0-9a-f]{64})  (\S+)")


def ledger() -> dict[str, str]:
    """Path of a released file, within ROOT -> the SHA-256 that it was released with, in hex.

    :raises Conflict: if a line is none.
    """
    lines = ROOT.joinpath(LEDGER).read_text("utf-8").splitlines()
    read = [LINE.fullmatch(line) for line in lines]
    if None in read:
        raise Conflict(
            f"Line {read.index(None) + 1} of the ledger {LEDGER} cannot be read.",
            why="A line has 64 hex digits, two blanks and a path.",
            next_step="Restore it from the version of Citeward that is installed.",
        )
    return {found.group(2): found.group(1) for found in read if found}


def released_names(folder: str) -> tuple[str, ...]:
    """As "answer.v1", of the files in this folder: a name and a number, whatever follows them."""
    names = [path.removeprefix(f"{folder}/") for path in ledger() if path.startswith(f"{folder}/")]
    return tuple(sorted({".".join(name.split(".")[:2]) for name in names}))


def released_words(folder: str, name: str) -> tuple[str, dict[str, str]]:
    """Version and texts of a released file of texts. Errors as of `released_text`.

    The version is its name, with its language, and 12 hex digits over the file.
    """
    text = released_text(f"{folder}/{name}.toml")
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return f"{name}@{digest}", {part: str(words).strip() for part, words in tomllib.loads(text).items()}


def released_text(path: str) -> str:
    """What a released file holds.

    :raises NotFound: if the ledger has none of this path.
    :raises Conflict: if it is gone, or was changed since.
    """
    released = ledger().get(path)
    if released is None:
        raise NotFound(
            f"There is no released file {path}.",
            why=f"The ledger {LEDGER} does not name it.",
            next_step="`citeward prompts list` shows what there is.",
        )
    try:
        data = ROOT.joinpath(path).read_bytes()
    except FileNotFoundError:
        raise _not_as_released(path, "It is gone.") from None
    if hashlib.sha256(data).hexdigest() != released:
        raise _not_as_released(
            path, "Its hash is another, and answers that name it no longer tell what made them."
        )
    return data.decode()


def _not_as_released(path: str, why: str) -> Conflict:
    return Conflict(
        f"The released file {path} is not what was released.",
        why=why,
        next_step="Restore it, and put what is new into a file with the next number.",
    )
