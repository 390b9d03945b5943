"""The keys that a live service is asked with: a file with one of them, or one that has each asker's."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ingest.corpus.errors import InvalidInput
from ingest.corpus.people import CREDENTIAL

EVALUATOR = "citeward-evaluator"  # whose key it is that opens the records; no set has a person of this id
GIVE = "Give a file with the key of an evaluator or an admin, or the one that `citeward eval install` wrote."


@dataclass(frozen=True, slots=True)
class Keys:
    """`askers` is user id -> key; None: everything is asked with the evaluator's."""

    evaluator: str = field(repr=False)
    askers: Mapping[str, str] | None = field(repr=False, default=None)

    def of(self, user_id: str) -> str:
        """:raises InvalidInput: if there are keys of others, and none of his."""
        if self.askers is None:
            return self.evaluator
        if user_id not in self.askers:
            raise InvalidInput(
                f"There is no key of {user_id} among the keys.",
                why=f"They are of {', '.join(sorted(self.askers))}.",
                next_step="Give the file that `citeward eval install` has written for this set.",
            )
        return self.askers[user_id]


def read_keys(path: Path) -> Keys:
    """:raises InvalidInput: if it cannot be read, or holds neither one key nor those of an evaluator and of
    others.
    """
    try:
        text = path.read_text("utf-8").strip()
        if CREDENTIAL.fullmatch(text):
            return Keys(text)
        askers = dict(json.loads(text))
        if all(CREDENTIAL.fullmatch(one) for one in askers.values()):
            return Keys(askers.pop(EVALUATOR), askers)
    except OSError as error:
        raise InvalidInput(
            f"The keys in {path} cannot be read.",
            why=f"{error.strerror or error}.",
            next_step=GIVE,
            field="key-file",
        ) from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _unusable(path) from error
    raise _unusable(path)


def fresh_file(path: Path) -> Path:
    """What is written first, and then put in the place of an earlier file."""
    return path.with_name(f"{path.name}.new")


def write_keys(path: Path, keys: Mapping[str, str]) -> None:
    """For nobody but its owner to read, whoever could read a file of this name before."""
    fresh = fresh_file(path)
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(json.dumps(dict(keys), indent=2) + "\n")
    fresh.replace(path)


def _unusable(path: Path) -> InvalidInput:
    return InvalidInput(
        f"The keys in {path} cannot be used.",
        why=f"It must hold one key (cw_…), or a JSON object of user -> key with one of {EVALUATOR!r} in it.",
        next_step=GIVE,
        field="key-file",
    )
