"""Where a part may be swapped for another. Each Protocol has one contract suite in `tests/contracts/`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ingest.corpus.arrays import FloatMatrix, FloatVector, RowMask, Scores
from ingest.corpus.types import EmbedderFingerprint, Hit


class Tokenizer(Protocol):
    """Text to the tokens that a model would see."""

    def count(self, text: str) -> int:
        """Tokens in `text`, special tokens not included."""

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        """Each token's (start, end) in code points of `text`, in order."""


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """A text token by token, as the model sees each among the others, prefix and special tokens left out."""

    spans: Sequence[tuple[int, int]]  # code points of the text, in order; tokens may share some
    vectors: FloatMatrix  # shape (len(spans), D), rows of length 1


class Embedder(Protocol):
    """Texts to unit vectors; `query` and `passage` prefixes are the embedder's own affair."""

    @property
    def fingerprint(self) -> EmbedderFingerprint: ...

    @property
    def max_tokens(self) -> int:
        """Longest input in tokens, prefix and special tokens included; longer is an error, never cut."""

    @property
    def tokenizer(self) -> Tokenizer: ...

    def count_query(self, text: str) -> int:
        """Tokens of `text` as `embed_query` reads it; it takes those of at most `max_tokens`."""

    def embed_passages(self, texts: Sequence[str]) -> FloatMatrix:
        """Shape (len(texts), D), float32, rows of length 1.

        :raises OverBudget: for a text above `max_tokens`.
        """

    def embed_query(self, text: str) -> FloatVector:
        """Shape (D,), float32, length 1.

        :raises OverBudget: as `embed_passages`.
        """

    def embed_tokens(self, texts: Sequence[str]) -> Sequence[TokenVectors]:
        """What `embed_passages` makes its vectors of, text by text; costs the same.

        :raises OverBudget: as `embed_passages`.
        """


class VectorIndex(Protocol):
    """Rows of unit vectors, found by inner product. Rows are numbered from 0 in the order of adding."""

    @property
    def rows(self) -> int: ...

    def search(self, query: FloatVector, k: int, permitted: RowMask) -> tuple[Sequence[int], Scores]:
        """The k best permitted rows, best first, ties by row; fewer than k only if fewer are permitted."""

    def scores(self, query: FloatVector, rows: Sequence[int]) -> Scores:
        """Inner products with the given rows, in their order."""


class KeywordIndex(Protocol):
    """Rows of words, found by BM25Okapi over all rows that are alive."""

    def search(self, query: str, k: int, permitted: RowMask) -> tuple[Sequence[int], Scores]:
        """The k best rows that hold a query word, among the permitted, best first, ties by row."""

    def scores(self, query: str, rows: Sequence[int]) -> Scores:
        """BM25Okapi of the given rows, in their order; NaN for a row that holds no query word."""


__all__ = ["Embedder", "Hit", "KeywordIndex", "TokenVectors", "Tokenizer", "VectorIndex"]
