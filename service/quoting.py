"""The quoting generator: answers with verbatim sentences of the evidence, cited. Needs no language model.

A sentence is chosen only for answering the question: by the rare words of the question that it holds, by its nearness in
meaning, and by holding the kind of thing that was asked for. Whatever a document tells a reader or a machine to do is
text like any other. Statements are handed on as they stand in the document; `check` makes them inert before they are shown.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from anyio import to_thread

from ingest.corpus.seams import Embedder
from ingest.corpus.types import Scores
from ingest.sentences import sentence_spans
from service.numbers import find_facts
from service.overlap import content_words, coverage, rarity
from service.types import DraftStatement, Evidence, Generated, GenerationTask

MOST_SENTENCES = 3  # quoted for a question that asks for one thing
MOST_ITEMS = 20  # quoted for a question that asks for a list
MOST_SENTENCES_READ = 64  # embedded for one question, from the best evidence on
AS_GOOD = 0.12  # a further sentence may score this much less than the best

ASKS_FOR_LIST = re.compile(
    r"\b(?:which|what) (?:\w+ ){0,4}(?:are|were)\b|\bwhat (?:kinds|types|steps)\b|\blist\b|\bname (?:all|the)\b"
    r"|\bhow many\b.*\bwhat\b|\beach\b|哪些|哪几|有哪|分别|列出|列举|各是|几种|几类",
    re.IGNORECASE,
)
ASKS_FOR_FACT = re.compile(
    r"\bhow (?:many|much|long|often|far|old|high|large|big|tall|fast)\b|\bwhen\b|\bwhat (?:year|date|time|percent\w*|price|number)\b"
    r"|\bwhich (?:year|month|day)\b|\bby when\b|多少|几(?!乎)|何时|什么时候|哪年|哪一年|多久|多长|多大|多高|日期|期限",
    re.IGNORECASE,
)
ITEM = re.compile(r"(?:[-*+•·●] |\d{1,3}[.)、] ?|[(（]?[一二三四五六七八九十]{1,3}[)）、]|\|)")
TABLE_RULE = re.compile(r"\|?[\s:|-]+\|?")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a piece of evidence; its text is verbatim."""

    evidence: Evidence
    place: int  # among the sentences of its passage
    text: str
    words: frozenset[str]

    @property
    def is_item(self) -> bool:
        return ITEM.match(self.text) is not None

    @property
    def is_row(self) -> bool:
        return self.text.startswith("|")


@dataclass(frozen=True, slots=True)
class QuotingGenerator:
    embedder: Embedder
    kind: Literal["quoting"] = "quoting"
    version: str = "quoting-1"

    async def draft(self, task: GenerationTask) -> AsyncIterator[DraftStatement | Generated]:
        for statement in await to_thread.run_sync(self.quote, task.question.text, task.evidence):
            yield statement
        yield Generated("stop", 0, 0)

    def quote(self, question: str, evidence: Sequence[Evidence]) -> tuple[DraftStatement, ...]:
        """The answering sentences, the best first, a list's items in their order; none if nothing answers."""
        sentences = read_sentences(evidence)
        if not sentences:
            return ()
        scores = self._score(question, sentences)
        best = int(np.argmax(scores))
        if ASKS_FOR_LIST.search(question):
            chosen = _with_items(sentences, best) or _as_good(sentences, scores)
        else:
            chosen = _as_good(sentences, scores)
        return tuple(_statement(sentences, sentence) for sentence in chosen)

    def _score(self, question: str, sentences: Sequence[Sentence]) -> Scores:
        asked = content_words(question)
        weights = rarity([sentence.words for sentence in sentences], asked)
        covered = np.array([_covered(weights, sentence) for sentence in sentences])
        vectors = self.embedder.embed_passages([sentence.text for sentence in sentences])
        likeness = vectors @ self.embedder.embed_query(question)
        answers = np.array([_answers(question, sentence) for sentence in sentences])
        rank = np.array([int(sentence.evidence.marker[1:]) - 1 for sentence in sentences])
        return covered + 4.0 * likeness.astype(np.float64) + 0.15 * answers - 0.03 * rank


def read_sentences(evidence: Sequence[Evidence]) -> list[Sentence]:
    """The sentences of the evidence in order, without headings and table rules, as many as are worth embedding."""
    sentences: list[Sentence] = []
    for each in evidence:
        text = each.stored.chunk.text
        for place, (start, end) in enumerate(sentence_spans(text)):
            written = text[start:end]
            if not written.startswith("#") and not TABLE_RULE.fullmatch(written):
                sentences.append(Sentence(each, place, written, content_words(written)))
    return sentences[:MOST_SENTENCES_READ]


def _covered(weights: dict[str, float], sentence: Sentence) -> float:
    """Words of the sentence count whole, words of its title, section and table header half."""
    stored = sentence.evidence.stored
    around = content_words(f"{stored.title}\n{stored.chunk.section}\n{stored.chunk.context}")
    own = coverage(weights, sentence.words)
    return own + (coverage(weights, sentence.words | around) - own) / 2


def _answers(question: str, sentence: Sentence) -> float:
    """1 if the sentence holds a number or date that the question asks for and does not give itself."""
    if not ASKS_FOR_FACT.search(question):
        return 0.0
    given = {fact.value for fact in find_facts(question)}
    return float(any(fact.value not in given and not fact.incidental for fact in find_facts(sentence.text)))


def _as_good(sentences: Sequence[Sentence], scores: Scores) -> list[Sentence]:
    best = float(scores.max())
    order = sorted(range(len(sentences)), key=lambda n: (-scores[n], n))
    return [sentences[n] for n in order if scores[n] >= best - AS_GOOD][:MOST_SENTENCES]


def _with_items(sentences: Sequence[Sentence], best: int) -> list[Sentence]:
    """The list that the best sentence is part of or leads to, with that sentence; empty if it is none."""
    first = best
    if not sentences[best].is_item:
        first = best + 1
    same = sentences[best].evidence
    while (
        first > 0 and sentences[first - 1].evidence is same and sentences[first - 1].is_item and first <= best
    ):
        first -= 1
    last = first
    while last < len(sentences) and sentences[last].evidence is same and sentences[last].is_item:
        last += 1
    items = list(sentences[first:last][:MOST_ITEMS])
    if len(items) < 2:
        return []
    return items if sentences[best].is_item else [sentences[best], *items]


def _statement(sentences: Sequence[Sentence], sentence: Sentence) -> DraftStatement:
    return DraftStatement(_with_header(sentences, sentence), (sentence.evidence.marker,))


def _with_header(sentences: Sequence[Sentence], sentence: Sentence) -> str:
    return sentence.text
