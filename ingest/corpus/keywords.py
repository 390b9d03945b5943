"""Words of a text, and which passages hold the words of a question: BM25Okapi in postings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from inspect import signature
from itertools import pairwise
from math import log1p
from unicodedata import normalize

import numpy as np
import rjieba
from numpy.typing import NDArray
from opencc import OpenCC
from rank_bm25 import BM25Okapi

from ingest.corpus.arrays import RowMask, Scores
from ingest.corpus.best import best

Numbers = NDArray[np.integer]
Vocabulary = dict[str, int]  # word to its number, in the order of coming; words are added and never removed

# The reference's own parameters: postings are only a faster way to its scores.
K1, B, EPSILON = (float(signature(BM25Okapi).parameters[name].default) for name in ("k1", "b", "epsilon"))

_NONE: Numbers = np.empty(0, dtype=np.int64)


# --- words -------------------------------------------------------------------------------------

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u3005\u3007"  # with 々 and 〇
RUN = re.compile(rf"(?P<han>[{HAN}]+)|(?:[^\W_{HAN}]+(?:[-_.@/+']+[^\W_{HAN}]+)*)")
PART = re.compile(r"[^\W_]+")
# "prd-2041", "v2.1", "emp_0001", "ana@acme.example": people search for them whole; "well-known" they do not.
IDENTIFIER = re.compile(r"[\d_@]")


def words(text: str) -> list[str]:
    """The words of `text` as an index and a question both see them, repeated as often as they occur.

    Compatibility forms, case and traditional signs are folded. A compound gives its parts, an identifier
    itself as well. Chinese is cut by dictionary, and neighbouring signs that are in no word are also taken as
    a pair, so that names and new words are found.
    """
    folded = normalize("NFKC", text).casefold().translate(SIMPLIFIED)
    return [word for run in RUN.finditer(folded) for word in _words_of(run)]


def _words_of(run: re.Match[str]) -> list[str]:
    return _chinese(run["han"]) if run["han"] else _compound(run[0])


def _compound(run: str) -> list[str]:
    parts = PART.findall(run)
    return [run, *parts] if len(parts) > 1 and IDENTIFIER.search(run) else parts


def _chinese(run: str) -> list[str]:
    # Without the hidden Markov model: it makes words of what happens to stand together (年|假为), where a
    # question is cut otherwise.
    cut = rjieba.cut(run, hmm=False)
    pairs = [left + right for left, right in pairwise(cut) if len(left) == len(right) == 1]
    return [*rjieba.cut_for_search(run, hmm=False), *pairs]


def _simplified_signs() -> dict[int, str]:
    """Sign by sign, not by phrase: a sign must fold alike in a question and in a document."""
    traditional = [chr(code) for block in (range(0x3400, 0x4DC0), range(0x4E00, 0xA000)) for code in block]
    simplified = OpenCC("t2s").convert("\n".join(traditional)).split("\n")
    return {ord(old): new for old, new in zip(traditional, simplified, strict=True) if old != new}


SIMPLIFIED = _simplified_signs()


# --- postings ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Postings:
    """Which rows hold which words, and how often; never changed once made."""

    terms: Numbers  # (T,) ascending, as the vocabulary numbers them
    starts: Numbers  # (T + 1,) where a term's postings begin; the last one is P
    rows: Numbers  # (P,) ascending within a term
    counts: Numbers  # (P,) how often the row holds the term
    lengths: Numbers  # (R,) words in each row

    def of(self, term: int) -> tuple[Numbers, Numbers]:
        """The rows that hold `term` and its counts there."""
        place = int(
            np.searchsorted(self.terms, self.terms.dtype.type(term))
        )  # of another type: all are copied
        if place == len(self.terms) or self.terms[place] != term:
            return self.rows[:0], self.counts[:0]
        inside = slice(self.starts[place], self.starts[place + 1])
        return self.rows[inside], self.counts[inside]


def post_words(vocabulary: Vocabulary, texts: Iterable[Sequence[str]]) -> Postings:
    """Postings of texts given as words, one row a text; new words are added to `vocabulary`."""
    number = vocabulary.setdefault
    terms = [np.array([number(word, len(vocabulary)) for word in text], dtype=np.int64) for text in texts]
    lengths = np.array([len(one) for one in terms], dtype=np.int64)
    rows = np.repeat(np.arange(len(terms)), lengths)
    keys, counts = np.unique(np.concatenate([_NONE, *terms]) * len(terms) + rows, return_counts=True)
    posted, rows = np.divmod(keys, max(len(terms), 1))
    return _postings(posted, rows, counts, lengths)


def merge_postings(parts: Sequence[tuple[Postings, RowMask]]) -> Postings:
    """One for many, with only the rows that are alive, numbered anew in the same order."""
    terms, rows, counts = [_NONE], [_NONE], [_NONE]
    before = 0
    for postings, alive in parts:
        kept = alive[postings.rows]
        renumbered = before + np.cumsum(alive) - 1
        terms.append(np.repeat(postings.terms, np.diff(postings.starts))[kept])
        rows.append(renumbered[postings.rows[kept]])
        counts.append(postings.counts[kept])
        before += int(np.count_nonzero(alive))
    by_term = np.argsort(np.concatenate(terms), kind="stable")
    lengths = np.concatenate([_NONE, *(postings.lengths[alive] for postings, alive in parts)])
    in_order = [np.concatenate(one)[by_term] for one in (terms, rows, counts)]
    return _postings(in_order[0], in_order[1], in_order[2], lengths)


def row_frequencies(postings: Postings, alive: RowMask) -> Numbers:
    """In how many rows that are alive each term occurs, shape (T,)."""
    if alive.all() or not len(postings.terms):
        return np.diff(postings.starts)
    return np.add.reduceat(alive[postings.rows].astype(np.int32), postings.starts[:-1])


def _postings(terms: Numbers, rows: Numbers, counts: Numbers, lengths: Numbers) -> Postings:
    """From one entry a posting, ordered by term and row."""
    distinct, firsts = np.unique(terms, return_index=True)
    starts = np.append(firsts, len(terms))
    return Postings(*(one.astype(np.int32) for one in (distinct, starts, rows, counts, lengths)))


# --- BM25Okapi ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LivePostings:
    """Postings and which of their rows are alive."""

    postings: Postings
    alive: RowMask
    frequencies: Numbers  # (T,) rows alive that hold the term


@dataclass(frozen=True, slots=True)
class OkapiIndex:
    """A collection's words at one moment; rows are numbered through all parts in order.

    The vocabulary is shared with later moments and only grows: its newer words are unknown here.
    """

    vocabulary: Vocabulary
    parts: tuple[LivePostings, ...]
    frequencies: Numbers  # (V,) rows alive that hold the word
    idf: Scores  # (V,)
    penalties: tuple[Scores, ...]  # a part (R,): k1 · (1 - b + b · length / average length)
    rows_alive: int

    def search(self, query: str, k: int, permitted: RowMask) -> tuple[Sequence[int], Scores]:
        """As `KeywordIndex.search`."""
        weights = self._weights(query)
        rows: list[Numbers] = [_NONE]
        scores: list[Scores] = [np.empty(0)]
        for number, start, end in self._bounds():
            sums, holding = self._sum(number, weights)
            found = np.flatnonzero(holding & permitted[start:end] & self.parts[number].alive)
            rows.append(start + found)
            scores.append(sums[found])
        all_scores = np.concatenate(scores)
        chosen = best(all_scores, k)
        return np.concatenate(rows)[chosen].tolist(), all_scores[chosen]

    def scores(self, query: str, rows: Sequence[int]) -> Scores:
        """As `KeywordIndex.scores`."""
        weights = self._weights(query)
        wanted = np.asarray(rows, dtype=np.int64)
        result = np.full(len(wanted), np.nan)
        for number, start, end in self._bounds():
            mine = np.flatnonzero((start <= wanted) & (wanted < end))
            counts = self._counts(number, list(weights), wanted[mine] - start)
            penalty = self.penalties[number][wanted[mine] - start]
            each = np.array(list(weights.values()))[:, None] * _saturate(counts, penalty)
            result[mine] = np.where(counts.any(axis=0), each.sum(axis=0), np.nan)
        return result

    def rarities(self, query: str) -> dict[str, float]:
        """How much each distinct word of the question tells, above 0: ln(1 + (N - n + .5) / (n + .5)).

        BM25Okapi's own idf can be negative in tiny collections, and has nothing for a word that no row holds;
        such a word tells most.
        """
        counts = {word: self._rows_with(word) for word in dict.fromkeys(words(query))}
        return {word: log1p((self.rows_alive - n + 0.5) / (n + 0.5)) for word, n in counts.items()}

    def coverage(self, query: str, rows: Sequence[int]) -> Scores:
        """The share, 0 to 1, of all the rarity in the question that the words in each row make up."""
        rarities = self.rarities(query)
        known = {self.vocabulary[word]: rarity for word, rarity in rarities.items() if self._rows_with(word)}
        wanted = np.asarray(rows, dtype=np.int64)
        held = np.zeros(len(wanted))
        for number, start, end in self._bounds():
            mine = np.flatnonzero((start <= wanted) & (wanted < end))
            counts = self._counts(number, list(known), wanted[mine] - start)
            held[mine] = np.array(list(known.values())) @ (counts > 0)
        return held / max(sum(rarities.values()), np.finfo(float).tiny)

    def _rows_with(self, word: str) -> int:
        term = self.vocabulary.get(word, len(self.frequencies))
        return int(self.frequencies[term]) if term < len(self.frequencies) else 0

    def _weights(self, query: str) -> dict[int, float]:
        """Terms that a row holds, and what a full occurrence is worth; a word asked twice counts twice."""
        asked = Counter(word for word in words(query) if self._rows_with(word))
        terms = {self.vocabulary[word]: count for word, count in asked.items()}
        return {term: count * float(self.idf[term]) for term, count in terms.items()}

    def _bounds(self) -> Iterator[tuple[int, int, int]]:
        """Each part's number, its first row and the row after its last."""
        start = 0
        for number, part in enumerate(self.parts):
            yield number, start, start + len(part.alive)
            start += len(part.alive)

    def _sum(self, number: int, weights: dict[int, float]) -> tuple[Scores, RowMask]:
        """Every row's score in one part, and whether it holds a word of the question."""
        part, penalty = self.parts[number], self.penalties[number]
        sums = np.zeros(len(part.alive))
        holding = np.zeros(len(part.alive), dtype=bool)
        for term, weight in weights.items():
            rows, counts = part.postings.of(term)
            sums[rows] += weight * _saturate(counts, penalty[rows])
            holding[rows] = True
        return sums, holding

    def _counts(self, number: int, terms: Sequence[int], rows: Numbers) -> Numbers:
        """How often rows of one part hold each term, shape (terms, rows)."""
        rows = rows.astype(self.parts[number].postings.rows.dtype)
        result = np.zeros((len(terms), len(rows)), dtype=np.int32)
        for place, term in enumerate(terms):
            holders, counts = self.parts[number].postings.of(term)
            if len(holders):
                at = np.minimum(np.searchsorted(holders, rows), len(holders) - 1)
                result[place] = np.where(holders[at] == rows, counts[at], 0)
        return result


def make_live(postings: Postings, alive: RowMask) -> LivePostings:
    return LivePostings(postings, alive, row_frequencies(postings, alive))


def okapi_index(vocabulary: Vocabulary, parts: Sequence[LivePostings]) -> OkapiIndex:
    """The statistics of rank_bm25.BM25Okapi over all rows that are alive."""
    frequencies = np.zeros(len(vocabulary), dtype=np.int64)
    for part in parts:
        frequencies[part.postings.terms] += part.frequencies
    rows_alive = sum(int(np.count_nonzero(part.alive)) for part in parts)
    words_alive = sum(int(part.postings.lengths[part.alive].sum()) for part in parts)
    average = max(words_alive, 1) / max(rows_alive, 1)
    penalties = tuple(_penalty(part.postings.lengths, average) for part in parts)
    return OkapiIndex(
        vocabulary, tuple(parts), frequencies, _idf(frequencies, rows_alive), penalties, rows_alive
    )


def _idf(frequencies: Numbers, rows: int) -> Scores:
    """ln(N - n + .5) - ln(n + .5); where that is negative, epsilon times the mean over all words in use."""
    idf: Scores = np.log(rows - frequencies + 0.5) - np.log(frequencies + 0.5)
    in_use = frequencies > 0
    if in_use.any():
        idf[in_use & (idf < 0)] = EPSILON * idf[in_use].mean()
    return idf


def _penalty(lengths: Numbers, average: float) -> Scores:
    penalty: Scores = K1 * (1 - B + B * lengths.astype(np.float64) / average)
    return penalty


def _saturate(counts: Numbers, penalty: Scores) -> Scores:
    return counts * (K1 + 1) / (counts + penalty)
