"""How far a passage says what a statement says, word by word and as a whole, by an embedder's vectors.

Vectors of unrelated texts are alike too, Chinese ones more than English ones, and a translation is never as
near as the same words. So each pair of languages has a scale of its own: 0 is what unrelated sentences come
to, 1 what sentences that say the same do. Both are measured, with whatever embedder there is, on the
sentences of `service/unrelated`, which are translations of each other line by line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from ingest.corpus.script import HAN, OTHER
from ingest.corpus.seams import Embedder
from service.checking.overlap import STOP_WORDS
from service.checking.passage import Span, Tokens, tokens_at

Matrix = NDArray[np.float64]
MEASURED = 16  # sentences of each language; more move the ends of a scale by less than .01
LEAST_WIDTH = 0.05  # of a scale; an embedder that knows nothing of translations makes a narrower one
LANGUAGES = {OTHER: "en", HAN: "zh"}


@dataclass(frozen=True, slots=True)
class Scale:
    """From inner products to 0..1."""

    unrelated: float
    same: float

    def of(self, products: Matrix) -> Matrix:
        scaled: Matrix = np.clip((products - self.unrelated) / (self.same - self.unrelated), 0, 1)
        return scaled


@dataclass(frozen=True, slots=True)
class Scales:
    aligned: Scale  # a word's best inner product
    whole: Scale  # the inner product of mean vectors


def open_scales(embedder: Embedder) -> Mapping[tuple[int, int], Scales]:
    """(script of a statement, script of a passage) -> their scales."""
    read = {script: _tokens_of(embedder, language) for script, language in LANGUAGES.items()}
    return {(one, other): _scales(read[one], read[other]) for one in read for other in read}


def _scales(said: Sequence[Tokens], read: Sequence[Tokens]) -> Scales:
    """Line by line the sentences say the same; each and the next one's translation have nothing in common."""
    others = [*read[1:], *read[:1]]
    return Scales(*(_scale(said, others, read, product) for product in (_aligned, _whole)))


def _aligned(said: Tokens, read: Tokens) -> float:
    return float(products(said, read).max(axis=1).mean())


def _whole(said: Tokens, read: Tokens) -> float:
    return float(mean_vector(said.vectors) @ mean_vector(read.vectors))


def _scale(
    said: Sequence[Tokens],
    unrelated: Sequence[Tokens],
    same: Sequence[Tokens],
    product: Callable[[Tokens, Tokens], float],
) -> Scale:
    low, high = (float(np.mean(list(map(product, said, others)))) for others in (unrelated, same))
    return Scale(low, high if high - low > LEAST_WIDTH else max(1.0, low + LEAST_WIDTH))


def _tokens_of(embedder: Embedder, language: str) -> list[Tokens]:
    lines = files("service").joinpath("unrelated", f"{language}.txt").read_text("utf-8").splitlines()
    texts = lines[:MEASURED]
    found = embedder.embed_tokens(texts)
    return [tokens_at([(0, len(text))], text, one) for text, one in zip(texts, found, strict=True)]


def products(said: Tokens, read: Tokens) -> Matrix:
    """Shape (naming tokens of `said`, tokens of `read`)."""
    return (said.vectors[naming(said)] @ read.vectors.T).astype(np.float64)


def naming(tokens: Tokens) -> list[int]:
    """Rows of the tokens that are more than stop words and signs; all rows if none is."""
    texts = [text.strip().casefold() for text in tokens.texts]
    rows = [row for row, text in enumerate(texts) if text not in STOP_WORDS and any(map(str.isalnum, text))]
    return rows or list(range(len(texts)))


def mean_vector(vectors: NDArray[np.float32]) -> Matrix:
    """Shape (D,), of length 1; all 0 for no vectors."""
    total: Matrix = vectors.sum(axis=0, dtype=np.float64)
    length = float(np.linalg.norm(total))
    return total / length if length else total


def by_sentence(spans: Sequence[Span], tokens: Tokens) -> NDArray[np.int64]:
    """For each token the number of the sentence that it is in, or that ended before it."""
    starts = np.array([start for start, _ in spans])
    return np.clip(np.searchsorted(starts, tokens.middles, side="right") - 1, 0, None)
