"""The quoting generator: answers with verbatim sentences of the evidence, cited. Needs no language model.

A sentence is chosen only for answering the question: by the rare words of the question that it holds, by its
nearness in meaning, and by holding the kind of thing asked for. Whatever a document tells a reader or
a machine to do is text like any other. Statements are handed on as they stand in the document; `check` makes
them inert before they are shown.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice
from typing import Literal

import numpy as np
from anyio import to_thread

from ingest.corpus.script import HAN, OTHER, script_of
from ingest.corpus.seams import Embedder
from ingest.corpus.types import RowMask, Scores
from ingest.sentences import sentence_spans
from service.numbers import find_facts
from service.overlap import content_words, coverage, rarity
from service.types import DraftStatement, Evidence, Generated, GenerationTask

MOST_SENTENCES = 3  # quoted for a question that asks for one thing
MOST_ITEMS = 20  # quoted for a question that asks for a list
MOST_SENTENCES_READ = 64  # embedded for one question, from the best evidence on

# Set by hand for multilingual-e5-small. On xquad, half or double the likeness weight moves the share of
# right first sentences by .013.
LIKENESS_WEIGHT = 4.0  # cosines of the default embedder differ by hundredths, shares of words by tenths
AROUND_WEIGHT = 0.5  # of a question word in title, section or table header, against one in the sentence
FOREIGN_WEIGHT = 0.5  # of a question word in a sentence of another script, where most words cannot be met
ANSWER_WEIGHT = 0.15
RANK_WEIGHT = 0.03  # lost for each passage before this one
AS_GOOD = 0.15  # a further sentence may score this much less than the best
# Thresholds set on the half of xquad and cmrc2018 whose query id has an even first byte of sha256.
# From where the best sentence answers: share of words + 4 × likeness, in English and in Chinese; or the share
# alone; or, across scripts, the likeness alone.
LEAST_STRENGTH = {OTHER: 3.65, HAN: 3.8}
ENOUGH_WORDS = 0.6
LEAST_FOREIGN_LIKENESS = 0.775

ASKS_FOR_LIST = re.compile(
    r"\b(?:which|what) (?:\w+ ){0,4}(?:are|were)\b|\bwhat (?:kinds|types|steps)\b|\blist\b"
    r"|\bname (?:all|the)\b|\bhow many\b.*\bwhat\b|\beach\b|哪些|哪几|有哪|分别|列出|列举|各是|几种|几类",
    re.IGNORECASE,
)
ASKS_FOR_FACT = re.compile(
    r"\bhow (?:many|much|long|often|far|old|high|large|big|tall|fast)\b|\bwhen\b|\bwhich (?:year|month|day)\b"
    r"|\bwhat (?:year|date|time|percent\w*|price|number|temperature)\b"
    r"|多少|几(?!乎)|何时|什么时候|哪年|哪一年|多久|多长|多大|多高|日期|期限",
    re.IGNORECASE,
)
ITEM = re.compile(r"[-*+•·●] |\d{1,3}[.)、](?!\d)|[(（]?[一二三四五六七八九十]{1,3}[)）、]|\|")
NOT_PROSE = re.compile(r"#|[{<]|```")  # a heading, or data and markup: nothing that says anything
# What claims that the evidence ends here: whatever a document says after it is not quoted.
FORGED_BOUNDARY = re.compile(
    r"</(?:context|evidence|documents?|passages?|sources?|system|instructions?|prompt|检索结果|上下文|证据|资料|文档)>"
    r"|<\|[a-z_]{2,20}\|>|\[/?INST\]",
    re.IGNORECASE,
)
TABLE_RULE = re.compile(r"[\s:|+=-]+")  # the line under a table's header


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, list item or table row of a piece of evidence, verbatim."""

    evidence: Evidence
    text: str
    words: frozenset[str]
    header: str = ""  # of the table that it is a row of

    @property
    def with_header(self) -> str:
        return f"{self.header}\n{self.text}" if self.header else self.text

    @property
    def is_item(self) -> bool:
        return _is_row(self.text) or ITEM.match(self.text) is not None


@dataclass(frozen=True, slots=True)
class Signals:
    """What speaks for each sentence, in their order."""

    covered: Scores  # share of the question's words, 0 to 1
    likeness: Scores  # inner product with the question
    foreign: RowMask  # written in another script than the question

    def scores(self) -> Scores:
        """Likeness of another script is lifted by what the script alone costs it, as in the search."""
        both = 0 < self.foreign.sum() < len(self.foreign)
        lag = self.likeness[~self.foreign].mean() - self.likeness[self.foreign].mean() if both else 0.0
        return self.covered + LIKENESS_WEIGHT * (self.likeness + max(lag, 0.0) * self.foreign)

    def may_answer(self, script: int) -> RowMask:
        """Which sentences are near enough to a question of this script to answer it."""
        strong = self.covered + LIKENESS_WEIGHT * self.likeness >= LEAST_STRENGTH[script]
        own = strong | (self.covered >= ENOUGH_WORDS)
        return np.where(self.foreign, self.likeness >= LEAST_FOREIGN_LIKENESS, own)


@dataclass(frozen=True, slots=True)
class QuotingGenerator:
    embedder: Embedder
    kind: Literal["quoting"] = "quoting"
    version: str = "quoting-1"

    async def draft(self, task: GenerationTask) -> AsyncGenerator[DraftStatement | Generated]:
        for statement in await to_thread.run_sync(self.quote, task.question.text, task.evidence):
            yield statement
        yield Generated("stop", 0, 0)

    def quote(self, question: str, evidence: Sequence[Evidence]) -> tuple[DraftStatement, ...]:
        """The answering sentences, the best first, a list's items in their order; none if nothing answers."""
        asked = content_words(question)
        sentences = [each for each in read_sentences(evidence) if each.words - asked]
        if not sentences:
            return ()
        signals = self._signals(question, asked, sentences)
        answers = np.array([_answers(question, sentence) for sentence in sentences])
        rank = np.array([int(sentence.evidence.marker.removeprefix("C")) - 1 for sentence in sentences])
        scores = signals.scores() + ANSWER_WEIGHT * answers - RANK_WEIGHT * rank
        scores[~signals.may_answer(script_of(question))] = -np.inf
        best = int(np.argmax(scores))
        if np.isneginf(scores[best]):
            return ()
        items = items_around(sentences, best) if ASKS_FOR_LIST.search(question) else ()
        return as_statements(items or as_good_as_the_best(sentences, scores))

    def _signals(self, question: str, asked: frozenset[str], sentences: Sequence[Sentence]) -> Signals:
        weights = rarity([sentence.words for sentence in sentences], asked)
        passages = self.embedder.embed_passages([sentence.with_header for sentence in sentences])
        likeness = (passages @ self.embedder.embed_query(question)).astype(np.float64)
        foreign = np.array([script_of(sentence.text) != script_of(question) for sentence in sentences])
        covered = [
            _covered_abroad(weights, sentence) if abroad else _covered(weights, sentence)
            for sentence, abroad in zip(sentences, foreign, strict=True)
        ]
        return Signals(np.array(covered), likeness, foreign)


def read_sentences(evidence: Sequence[Evidence]) -> list[Sentence]:
    """What may be quoted, in order: no heading, table header or code; nothing twice; a bounded number."""
    different: dict[str, Sentence] = {}
    for sentence in chain.from_iterable(map(_sentences, evidence)):
        different.setdefault("".join(sentence.text.split()), sentence)
    return list(islice(different.values(), MOST_SENTENCES_READ))


def as_good_as_the_best(sentences: Sequence[Sentence], scores: Scores) -> list[Sentence]:
    """The best sentence, and those that score nearly as much, the better first."""
    order = sorted(range(len(sentences)), key=lambda place: (-scores[place], place))
    least = float(scores.max()) - AS_GOOD
    return [sentences[place] for place in order if scores[place] >= least][:MOST_SENTENCES]


def items_around(sentences: Sequence[Sentence], best: int) -> list[Sentence]:
    """The list that the best sentence is an item of or leads to, with that sentence; empty if none."""
    same = sentences[best].evidence
    first = best if sentences[best].is_item else best + 1
    while sentences[best].is_item and first > 0 and _is_item_of(sentences[first - 1], same):
        first -= 1
    last = first
    while last < len(sentences) and _is_item_of(sentences[last], same):
        last += 1
    if last - first < 2:
        return []
    lead = [] if sentences[best].is_item else [sentences[best]]
    return [*lead, *sentences[first:last]][:MOST_ITEMS]


def as_statements(chosen: Sequence[Sentence]) -> tuple[DraftStatement, ...]:
    """Each with its citation; the first quoted row of a table brings the header row along."""
    shown: set[tuple[str, str]] = set()
    statements = []
    for sentence in chosen:
        table = (sentence.evidence.marker, sentence.header)
        text = sentence.text if table in shown else sentence.with_header
        shown.add(table)
        statements.append(DraftStatement(text, (sentence.evidence.marker,)))
    return tuple(statements)


def _sentences(evidence: Evidence) -> Iterator[Sentence]:
    chunk = evidence.stored.chunk
    quotable = FORGED_BOUNDARY.split(chunk.text, maxsplit=1)[0]
    texts = [quotable[start:end] for start, end in sentence_spans(quotable)]
    header = chunk.context.split("\n")[0]  # of the table that a cut chunk begins within
    for is_table, run in groupby((text for text in texts if not TABLE_RULE.fullmatch(text)), key=_is_row):
        rows = list(run)
        if is_table and not header and len(rows) > 1:
            header, *rows = rows
        for text in rows:
            if not NOT_PROSE.match(text):
                yield Sentence(evidence, text, content_words(text), header if is_table else "")
        header = ""


def _is_row(text: str) -> bool:
    return text.startswith("|") or " | " in text


def _is_item_of(sentence: Sentence, evidence: Evidence) -> bool:
    return sentence.evidence is evidence and sentence.is_item


def _covered(weights: Mapping[str, float], sentence: Sentence) -> float:
    stored = sentence.evidence.stored
    around = content_words(f"{stored.title}\n{stored.chunk.section}\n{sentence.header}")
    own = coverage(weights, sentence.words)
    return own + AROUND_WEIGHT * (coverage(weights, sentence.words | around) - own)


def _covered_abroad(weights: Mapping[str, float], sentence: Sentence) -> float:
    """Of the words that are written alike in another script: identifiers and numbers."""
    alike = {word: weight for word, weight in weights.items() if not word.isalpha()}
    return FOREIGN_WEIGHT * coverage(alike, sentence.words)


def _answers(question: str, sentence: Sentence) -> float:
    """1 if a number or date is asked for and the sentence holds one that the question does not give."""
    if not ASKS_FOR_FACT.search(question):
        return 0.0
    given = {fact.value for fact in find_facts(question)}
    return float(any(fact.value not in given and not fact.incidental for fact in find_facts(sentence.text)))
