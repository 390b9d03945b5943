"""A passage made ready to be held against statements: sentences with their words, and tokens with vectors.

Of a passage longer than what is embedded at once, the sentences are taken that share most with the statement.
Offsets are code points of the passage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ingest.corpus.arrays import FloatMatrix
from ingest.corpus.keywords import words
from ingest.corpus.seams import Embedder, Tokenizer, TokenVectors
from ingest.sentences import sentence_spans
from service.checking.numbers import Fact, find_facts
from service.checking.overlap import content_words

Span = tuple[int, int]
TOKENS_AROUND = 16  # prefix and special tokens that the embedder adds
TOKENS_EMBEDDED = 256  # of one text: a chunk has about as many, and time grows faster than length
HAN_GRAM, LATIN_GRAM = 2, 3  # signs of a character n-gram: a Chinese word has two


@dataclass(frozen=True, slots=True)
class Units:
    """What of a text can be found again in another."""

    words: frozenset[str]  # that name something
    grams: frozenset[str]  # character n-grams, of letters and digits
    pairs: frozenset[tuple[str, str]]  # of words that stand side by side
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Passage:
    text: str
    spans: tuple[Span, ...]  # of its sentences
    sentences: tuple[Units, ...]


def read_passage(text: str) -> Passage:
    spans = tuple(sentence_spans(text))
    return Passage(text, spans, tuple(units_of(text[start:end]) for start, end in spans))


def units_of(text: str) -> Units:
    facts = find_facts(text)
    form = _without(facts, text)
    return Units(content_words(form), _grams(form), frozenset(pairwise(words(form))), facts)


def _without(facts: Sequence[Fact], text: str) -> str:
    """Numbers and dates are compared as what they say: as words they are written in too many ways."""
    parts, position = [], 0
    for fact in facts:
        parts.append(text[position : fact.start])
        position = max(position, fact.end)
    rest = " ".join([*parts, text[position:]])
    return rest if any(sign.isalpha() for sign in rest) else text


def _grams(text: str) -> frozenset[str]:
    letters = "".join(sign for sign in text.casefold() if sign.isalnum())
    length = LATIN_GRAM if letters.isascii() else HAN_GRAM
    return frozenset(letters[place : place + length] for place in range(max(len(letters) - length + 1, 1)))


# --- vectors -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of a text at their places in it."""

    middles: np.ndarray  # shape (tokens,), code points
    texts: tuple[str, ...]
    vectors: FloatMatrix  # shape (tokens, D), rows of length 1


def fitting_head(text: str, embedder: Embedder) -> str:
    """As much of the beginning as is embedded: a model may write longer than any passage is."""
    spans = embedder.tokenizer.spans(text)
    room = room_of(embedder)
    return text if len(spans) <= room else text[: spans[room - 1][1]]


def room_of(embedder: Embedder) -> int:
    return max(min(embedder.max_tokens - TOKENS_AROUND, TOKENS_EMBEDDED), 1)


def excerpt(passage: Passage, shared: Sequence[float], tokenizer: Tokenizer, room: int) -> tuple[Span, ...]:
    """The stretches that fit in `room` tokens together, in order: of the sentences those that share most.

    :param shared: for each sentence, higher is more.
    """
    if not passage.spans:
        return ()
    ends = np.array([end for _, end in tokenizer.spans(passage.text)])
    if len(ends) <= room:
        return ((0, len(passage.text)),)
    edges = np.searchsorted(ends, [end for _, end in passage.spans], side="right")
    lengths = np.diff(edges, prepend=0) + 1  # and the line's end between two
    order = np.argsort(-np.asarray(shared), kind="stable")
    chosen = order[np.cumsum(lengths[order]) <= room]
    kept = sorted(chosen) or [int(order[0])]
    return tuple(passage.spans[place] for place in kept)


def tokens_at(stretches: Sequence[Span], text: str, found: TokenVectors) -> Tokens:
    """The tokens of the stretches joined by line ends, brought back to their places in `text`."""
    starts, shifts, position = [], [], 0
    for start, end in stretches:
        starts.append(position)
        shifts.append(start - position)
        position += end - start + 1
    spans = np.array(found.spans, dtype=np.int64).reshape(-1, 2)
    middles = spans.mean(axis=1)
    piece = np.clip(np.searchsorted(starts, middles, side="right") - 1, 0, None)
    at = spans + np.array(shifts or [0])[piece][:, None]
    return Tokens(at.mean(axis=1), tuple(text[start:end] for start, end in at), found.vectors)
