"""How strongly each sentence of the evidence answers a question: what sufficiency and quoting both go by.

By the rare words of the question that it holds, by its nearness in meaning, and by holding a quantity where
one is asked for. Whatever a document tells a reader or a machine to do is text like any other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ingest.corpus.arrays import RowMask, Scores
from ingest.corpus.script import HAN, OTHER, script_of
from ingest.corpus.seams import Embedder
from service.checking.numbers import Fact, find_facts
from service.checking.overlap import content_words, coverage, rarity
from service.checking.values import Number
from service.nearness import Background
from service.quotable import Sentence, read_sentences
from service.types import Evidence

# Weights and thresholds are those of the default embedder, multilingual-e5-small. A sentence answers from
# a strength of `LEAST` on: the share of the question's words that it holds and its nearness together; in
# another script, where words cannot be met, from a nearness of `LEAST_ABROAD` on. Both by the question's
# script. Set on the half of xquad whose query id has an even first byte of sha256: there 2 % of the
# answerable questions have no sentence that is strong enough in their own script, 20 % of the Chinese
# ones none in English.
NEARNESS_WEIGHT = 4.0
LEAST = {OTHER: 1.05, HAN: 0.67}
NEARNESS_WEIGHT_ABROAD = 5.0
LEAST_ABROAD = {OTHER: 0.12, HAN: 0.085}
AROUND_WEIGHT = 0.5  # of a question word in title, section or lead, against one in the sentence
FOREIGN_WEIGHT = 0.5  # of a question's identifier in a sentence of another script
NO_QUANTITY_WEIGHT = 0.6  # lost by holding no quantity where one is asked for
ABBREVIATED_WEIGHT = 0.6  # of a Chinese word that stands in the text with a sign more, as 年假 in 年休假
REMEMBERED = 8  # questions with their evidence: it is weighed for sufficiency, and again to quote

ASKS_FOR_FACT = re.compile(
    r"\bhow (?:many|much|long|often|far|old|high|large|big|tall|fast)\b|\bwhen\b|\bwhich (?:year|month|day)\b"
    r"|\bwhat (?:year|date|time|percent\w*|price|number|temperature)\b"
    r"|多少|几(?!乎)|何时|什么时候|哪年|哪一年|多久|多长|多大|多高|日期|期限",
    re.IGNORECASE,
)
ASKS_FOR_QUANTITY = re.compile(
    r"\bhow (?:many|much|long|far|old|high|large|big|tall|fast)\b"
    r"|多少|几(?!乎)|多久|多长|多大|多高|多深|多远",
    re.IGNORECASE,
)
IDENTIFIER = re.compile(r"(?=.*[a-z])(?=.*\d)")  # letters and digits, as bw-200


@dataclass(frozen=True, slots=True)
class Weighed:
    """Quotable sentences, in the order of the evidence, with what each is worth; shapes (sentences,)."""

    sentences: tuple[Sentence, ...]
    told: tuple[
        tuple[Fact, ...], ...
    ]  # numbers and dates that the question, which asks for one, does not give
    nearness: Scores
    margins: Scores  # by how much each is stronger than the least that answers
    own: RowMask  # in the question's script
    abroad: RowMask  # of a passage in another script


class SentenceWeigher:
    """Threads may share it."""

    def __init__(self, embedder: Embedder, background: Background) -> None:
        self._embedder = embedder
        self._background = background
        self.weigh = lru_cache(REMEMBERED)(self._weigh)

    def _weigh(self, question: str, evidence: tuple[Evidence, ...]) -> Weighed:
        asked, asked_in = content_words(question), script_of(question)
        sentences = tuple(read_sentences(evidence, asked))
        if not sentences:
            return Weighed((), (), np.empty(0), np.empty(0), np.empty(0, bool), np.empty(0, bool))
        told = told_by(question, sentences)
        scripts = np.array([sentence.script for sentence in sentences])
        probe = self._background.probe(self._embedder.embed_query(question), asked_in)
        vectors = self._embedder.embed_passages([sentence.with_lead for sentence in sentences])
        near = probe.nearness((vectors @ probe.vector).astype(np.float64), scripts)
        weights = rarity([sentence.words for sentence in sentences], asked)
        margins = np.array([_covered(weights, each, asked_in) for each in sentences]) + np.where(
            scripts != asked_in,
            NEARNESS_WEIGHT_ABROAD * (near - LEAST_ABROAD[asked_in]),
            NEARNESS_WEIGHT * near - LEAST[asked_in],
        )
        margins -= NO_QUANTITY_WEIGHT * np.array([_lacks_quantity(question, facts) for facts in told])
        own = scripts == asked_in
        abroad = np.array([script_of(one.evidence.stored.chunk.text) != asked_in for one in sentences])
        return Weighed(sentences, told, near, margins, own, abroad & ~own)


def told_by(question: str, sentences: Sequence[Sentence]) -> tuple[tuple[Fact, ...], ...]:
    """The numbers and dates of each sentence that the question does not give; read if it asks for one."""
    if not (ASKS_FOR_FACT.search(question) or ASKS_FOR_QUANTITY.search(question)):
        return ((),) * len(sentences)
    given = {fact.value for fact in find_facts(question)}
    return tuple(
        tuple(each for each in find_facts(one.text) if each.value not in given and not each.incidental)
        for one in sentences
    )


def _covered(weights: Mapping[str, float], sentence: Sentence, asked_in: int) -> float:
    """The share of the question's words, 0 to 1, that the sentence holds; those around it count in part.

    In another script only identifiers are met, which are written alike.
    """
    if sentence.script != asked_in:
        alike = {word: weight for word, weight in weights.items() if IDENTIFIER.match(word)}
        return FOREIGN_WEIGHT * coverage(alike, sentence.words)
    stored = sentence.evidence.stored
    around = content_words(f"{stored.title}\n{stored.chunk.section}\n{sentence.lead}")
    held = sum(weight * _held(word, sentence, around) for word, weight in weights.items())
    return held / (sum(weights.values()) or 1.0)


def _held(word: str, sentence: Sentence, around: frozenset[str]) -> float:
    """How far a word of the question is met, 0 to 1."""
    if word in sentence.words:
        return 1.0
    if len(word) > 1 and script_of(word) == HAN and re.search(".?".join(map(re.escape, word)), sentence.text):
        return ABBREVIATED_WEIGHT
    return AROUND_WEIGHT if word in around else 0.0


def _lacks_quantity(question: str, told: Sequence[Fact]) -> bool:
    if not ASKS_FOR_QUANTITY.search(question):
        return False
    return not any(isinstance(fact.value, Number) for fact in told)
