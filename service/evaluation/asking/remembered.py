"""A language model's choices kept on disk as they are made: a run that was stopped goes on."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from service.seams import Chooser
from service.types import Message

FILE = "choices.sqlite3"
TABLE = "CREATE TABLE IF NOT EXISTS choices (asked BLOB PRIMARY KEY, told TEXT NOT NULL) WITHOUT ROWID"


class RememberedChooser:
    """Meets `Chooser`: what `inner` says, asked once for the same version, messages and answers.

    A failure is not kept. A prompt is within the messages, and so are passage and statement.
    """

    def __init__(self, inner: Chooser, folder: Path) -> None:
        """:param folder: where the file is made."""
        folder.mkdir(parents=True, exist_ok=True)
        self._inner = inner
        self._file = folder / FILE
        self.version = inner.version

    def choose(
        self, messages: Sequence[Message], answers: Sequence[str], salt: str = ""
    ) -> Mapping[str, float]:
        key = self._key(messages, answers)
        with closing(self._open()) as kept:
            found = kept.execute("SELECT told FROM choices WHERE asked = ?", (key,)).fetchone()
        if found is not None:
            return {answer: float(one) for answer, one in json.loads(found[0]).items()}
        told = dict(self._inner.choose(messages, answers, salt))
        with closing(self._open()) as kept, kept:
            kept.execute("INSERT OR REPLACE INTO choices VALUES (?, ?)", (key, json.dumps(told)))
        return told

    def _key(self, messages: Sequence[Message], answers: Sequence[str]) -> bytes:
        asked = json.dumps([self.version, [asdict(one) for one in messages], list(answers)])
        return hashlib.blake2b(asked.encode(), digest_size=16).digest()

    def _open(self) -> sqlite3.Connection:
        kept = sqlite3.connect(self._file)
        kept.execute(TABLE)
        return kept
