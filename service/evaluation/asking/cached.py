"""An embedder that remembers on disk: evaluating again costs no second embedding."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from ingest.corpus.arrays import FloatMatrix, FloatVector
from ingest.corpus.seams import Embedder, TokenVectors

Advance = Callable[[int], None]  # told how many more texts have their vectors
CACHE = Path("cache", "eval")  # below the data folder: vectors, and answers by what made them
TEXTS_AT_ONCE = 64  # embedded between two saves: what an interrupted run loses
STORED_VECTOR, STORED_TOKEN, STORED_PLACE = np.dtype("<f4"), np.dtype("<f2"), np.dtype("<u4")
TABLES = (
    "CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS tokens (text BLOB PRIMARY KEY, spans BLOB NOT NULL) WITHOUT ROWID",
)


def unheard(_: int) -> None:
    """Nobody watches."""


class CachedEmbedder:
    """Gives what `inner` gives, from one file for each embedder where the hash of a text finds its vector."""

    def __init__(self, inner: Embedder, folder: Path) -> None:
        """:param folder: where the file is made."""
        folder.mkdir(parents=True, exist_ok=True)
        self._inner = inner
        self._file = folder / f"{inner.fingerprint.digest[:16]}.sqlite3"
        self.fingerprint = inner.fingerprint
        self.max_tokens = inner.max_tokens
        self.tokenizer = inner.tokenizer

    def count_query(self, text: str) -> int:
        return self._inner.count_query(text)

    def embed_passages(self, texts: Sequence[str]) -> FloatMatrix:
        self.remember_passages(texts)
        return self._remembered(texts, "passage")

    def embed_query(self, text: str) -> FloatVector:
        self.remember_queries([text])
        return np.asarray(self._remembered([text], "query")[0])

    def embed_tokens(self, texts: Sequence[str]) -> Sequence[TokenVectors]:
        """As the inner one's to a tolerance of 1e-3: remembered in half precision, 200 kB a passage."""
        self.remember_tokens(texts)
        return self._remembered_tokens(texts)

    def remember_passages(self, texts: Sequence[str], advance: Advance = unheard) -> None:
        """Embed those passages that are not known yet, like lengths together, saving as it goes."""
        missing = self._missing(texts, "passage")
        advance(len(texts) - len(missing))
        for some in _batches(sorted(missing, key=len)):
            self._save(some, self._inner.embed_passages(some), "passage")
            advance(len(some))

    def remember_queries(self, texts: Sequence[str], advance: Advance = unheard) -> None:
        missing = self._missing(texts, "query")
        advance(len(texts) - len(missing))
        for some in _batches(missing):
            self._save(some, np.stack([self._inner.embed_query(text) for text in some]), "query")
            advance(len(some))

    def remember_tokens(self, texts: Sequence[str], advance: Advance = unheard) -> None:
        missing = self._missing(texts, "tokens")
        advance(len(texts) - len(missing))
        for some in _batches(sorted(missing, key=len)):
            self._save_tokens(some, self._inner.embed_tokens(some))
            advance(len(some))

    def _missing(self, texts: Sequence[str], kind: str) -> list[str]:
        with closing(self._open()) as cache:
            find = "SELECT 1 FROM vectors WHERE text = ?"
            return [
                one for one in dict.fromkeys(texts) if not cache.execute(find, (_key(one, kind),)).fetchone()
            ]

    def _remembered(self, texts: Sequence[str], kind: str) -> FloatMatrix:
        """Shape (len(texts), D)."""
        matrix = np.empty((len(texts), self.fingerprint.dimension), dtype=np.float32)
        with closing(self._open()) as cache:
            for row, text in enumerate(texts):
                found = cache.execute(
                    "SELECT vector FROM vectors WHERE text = ?", (_key(text, kind),)
                ).fetchone()
                matrix[row] = np.frombuffer(found[0], dtype=STORED_VECTOR)
        return matrix

    def _remembered_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        find = "SELECT spans, vector FROM tokens JOIN vectors USING (text) WHERE text = ?"
        with closing(self._open()) as cache:
            found = [cache.execute(find, (_key(text, "tokens"),)).fetchone() for text in texts]
        return [self._token_vectors(spans, vectors) for spans, vectors in found]

    def _token_vectors(self, spans: bytes, vectors: bytes) -> TokenVectors:
        pairs = np.frombuffer(spans, dtype=STORED_PLACE).reshape(-1, 2).tolist()
        rows = np.frombuffer(vectors, dtype=STORED_TOKEN).reshape(-1, self.fingerprint.dimension)
        return TokenVectors([(start, end) for start, end in pairs], rows.astype(np.float32))

    def _save_tokens(self, texts: Sequence[str], found: Sequence[TokenVectors]) -> None:
        keys = [_key(text, "tokens") for text in texts]
        spans = [np.array(one.spans, dtype=STORED_PLACE).tobytes() for one in found]
        vectors = [one.vectors.astype(STORED_TOKEN).tobytes() for one in found]
        with closing(self._open()) as cache, cache:
            cache.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", zip(keys, vectors, strict=True))
            cache.executemany("INSERT OR REPLACE INTO tokens VALUES (?, ?)", zip(keys, spans, strict=True))

    def _save(self, texts: Sequence[str], vectors: FloatMatrix, kind: str) -> None:
        rows = [
            (_key(text, kind), vector.astype(STORED_VECTOR).tobytes())
            for text, vector in zip(texts, vectors, strict=True)
        ]
        with closing(self._open()) as cache, cache:
            cache.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def _open(self) -> sqlite3.Connection:
        cache = sqlite3.connect(self._file)
        for table in TABLES:
            cache.execute(table)
        return cache


def _key(text: str, kind: str) -> bytes:
    return hashlib.blake2b(f"{kind}:{text}".encode(), digest_size=16).digest()


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), TEXTS_AT_ONCE):
        yield texts[start : start + TEXTS_AT_ONCE]
