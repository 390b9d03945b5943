"""A statement held against a passage: what can be told of the two, each a number that can be explained.

Everything is asked of the *nearest* sentences, the stretch of up to three adjacent ones that holds most of
the statement, and of the passage as a whole. Shares are 0..1; counts are log(1 + n), so that a long
statement's many words do not drown the rest.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import log1p

import numpy as np
from numpy.typing import NDArray

from service.checking.likeness import Matrix, Scales, by_sentence, mean_vector, naming, products
from service.checking.negation import is_negated, opposite_in
from service.checking.numbers import is_stated
from service.checking.overlap import rarity
from service.checking.passage import Passage, Span, Tokens, Units, units_of

LONGEST_STRETCH = 3  # adjacent sentences
LENGTH_COSTS = 0.03  # a further sentence must hold more than this to belong to the nearest stretch
LOWEST = 4  # a quarter of the statement's tokens: those that are found least

NAME = re.compile(r"(?<=[\w,;] )[A-Z][\w'’-]+|\b[A-Z]{2,}\w*|《[^《》\n]{1,40}》|“[^“”\n]{1,40}”")


# What the judgement weighs, and which way reason says that each points: 1 for support, -1 against it.
FEATURES = {
    "words_near": 1,
    "rare_near": 1,
    "grams_near": 1,
    "pairs_near": 1,
    "likeness_near": 1,
    "aligned_near": 1,
    "aligned_near_low": 1,
    "aligned_any": 1,
    "aligned_any_low": 1,
    "denies_alone": -1,
    "denied_there": -1,
    "opposite": -1,
    "names_missing": -1,
    "facts_missing": -1,
    "facts_elsewhere": -1,
}


@dataclass(frozen=True, slots=True)
class Comparison:
    features: dict[str, float]
    nearest: Span  # code points of the passage


@dataclass(frozen=True, slots=True)
class Held:
    """How well each sentence of a passage holds each unit of a statement, 0..1; shape (sentences, units)."""

    words: Matrix
    grams: Matrix
    pairs: Matrix
    tokens: Matrix


def compare(claim: str, said: Tokens, passage: Passage, read: Tokens, scales: Scales) -> Comparison:
    """:param passage: it has a sentence.
    :param read: tokens of the passage, or of the part of it that was embedded.
    """
    units = units_of(claim)
    of_sentence = by_sentence(passage.spans, read)
    aligned = scales.aligned.of(products(said, read))
    in_sentences = _best_in_sentence(aligned, of_sentence, len(passage.spans))
    held = Held(
        _held(units.words, [one.words for one in passage.sentences]),
        _held(units.grams, [one.grams for one in passage.sentences]),
        _held(units.pairs, [one.pairs for one in passage.sentences]),
        _with_facts(in_sentences, said.middles[naming(said)], units, passage),
    )
    first, last = _nearest(held)
    stretch = slice(first, last + 1)
    span = passage.spans[first][0], passage.spans[last][1]
    near = mean_vector(read.vectors[(of_sentence >= first) & (of_sentence <= last)])
    likeness = scales.whole.of(np.array([near @ mean_vector(said.vectors)]))
    features = {
        **_overlap(units, passage, held, stretch),
        "likeness_near": float(likeness[0]),
        **_alignment(held.tokens, stretch),
        **_cues(claim, passage, held),
        **_facts(units, passage, stretch),
    }
    return Comparison(features, span)


def shared_form(claim: str, passage: Passage) -> list[float]:
    """For each sentence the share of the statement's words and n-grams that it holds: a cheap first look."""
    units = units_of(claim)
    words = _held(units.words, [one.words for one in passage.sentences])
    grams = _held(units.grams, [one.grams for one in passage.sentences])
    shares: list[float] = (words.mean(axis=1) + grams.mean(axis=1)).tolist()
    return shares


def _held(units: Collection[object], of_sentences: Sequence[Collection[object]]) -> Matrix:
    """Of no units, one that is nowhere."""
    ordered = sorted(units, key=str) or [None]
    return np.array([[unit in there for unit in ordered] for there in of_sentences], dtype=np.float64)


def _best_in_sentence(aligned: Matrix, of_sentence: NDArray[np.int64], sentences: int) -> Matrix:
    best = np.zeros((sentences, max(len(aligned), 1)))
    if len(aligned):
        np.maximum.at(best, of_sentence, aligned.T)
    return best


def _with_facts(tokens: Matrix, middles: Matrix, units: Units, passage: Passage) -> Matrix:
    """A token of a number or date is held whole by a sentence that states it, however it is written there."""
    for fact in units.facts:
        stating = np.array([is_stated(fact, sentence.facts) for sentence in passage.sentences])
        within = (middles >= fact.start) & (middles < fact.end)
        tokens[np.ix_(stating, within)] = 1.0
    return tokens


def _nearest(held: Held) -> tuple[int, int]:
    """The first and last sentence of the stretch that holds most; of equals the shorter, then the earlier."""
    count = len(held.words)
    best, found = -np.inf, (0, 0)
    for length in range(1, min(LONGEST_STRETCH, count) + 1):
        scores = sum(_pooled(each, length).mean(axis=1) for each in (held.words, held.grams, held.tokens)) / 3
        place = int(np.argmax(scores))
        score = float(scores[place]) - LENGTH_COSTS * length
        if score > best + 1e-9:
            best, found = score, (place, place + length - 1)
    return found


def _pooled(matrix: Matrix, length: int) -> Matrix:
    """What `length` adjacent sentences hold together, shape (sentences - length + 1, units)."""
    count = len(matrix) - length + 1
    best: Matrix = np.max([matrix[start : start + count] for start in range(length)], axis=0)
    return best


def _overlap(units: Units, passage: Passage, held: Held, stretch: slice) -> dict[str, float]:
    weights = rarity([one.words for one in passage.sentences], units.words)
    rare = np.array([weights[word] for word in sorted(units.words)] or [1.0])
    near = held.words[stretch].max(axis=0)
    return {
        "words_near": float(near.mean()),
        "rare_near": float(near @ rare / rare.sum()),
        "grams_near": float(held.grams[stretch].max(axis=0).mean()),
        "pairs_near": float(held.pairs[stretch].max(axis=0).mean()),
    }


def _alignment(tokens: Matrix, stretch: slice) -> dict[str, float]:
    """Of the statement's tokens: how well they are found, and how well the least found quarter is."""
    near, anywhere = np.sort(tokens[stretch].max(axis=0)), np.sort(tokens.max(axis=0))
    fewest = max(tokens.shape[1] // LOWEST, 1)
    return {
        "aligned_near": float(near.mean()),
        "aligned_any": float(anywhere.mean()),
        "aligned_near_low": float(near[:fewest].mean()),
        "aligned_any_low": float(anywhere[:fewest].mean()),
    }


def _cues(claim: str, passage: Passage, held: Held) -> dict[str, float]:
    nearest = passage.spans[int(np.argmax(held.words.mean(axis=1) + held.tokens.mean(axis=1)))]
    sentence, text = passage.text[slice(*nearest)], passage.text.casefold()
    said, read = is_negated(claim), is_negated(sentence)
    return {
        "denies_alone": float(said and not read),
        "denied_there": float(read and not said),
        "opposite": float(opposite_in(claim, sentence) is not None),
        "names_missing": log1p(sum(name not in text for name in _found(NAME, claim))),
    }


def _found(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    return iter(dict.fromkeys(found.group().casefold() for found in pattern.finditer(text)))


def _facts(units: Units, passage: Passage, stretch: slice) -> dict[str, float]:
    said = [fact for fact in units.facts if not fact.incidental]
    anywhere = [fact for one in passage.sentences for fact in one.facts]
    near = [fact for one in passage.sentences[stretch] for fact in one.facts]
    return {
        "facts_missing": log1p(sum(not is_stated(fact, anywhere) for fact in said)),
        "facts_elsewhere": log1p(sum(not is_stated(fact, near) for fact in said)),
    }
