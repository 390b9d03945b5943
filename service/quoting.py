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
from itertools import chain, islice
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

# Weights and margin were chosen on one half of xquad (docs/figures.md); the figures move little around them.
LIKENESS_WEIGHT = 4.0  # cosines of the default embedder differ by hundredths, shares of words by tenths
AROUND_WEIGHT = 0.5  # of a question word in title, section or table header, against one in the sentence
ANSWER_WEIGHT = 0.15
RANK_WEIGHT = 0.03  # lost for each passage before this one
AS_GOOD = 0.15  # a further sentence may score this much less than the best

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
    def is_item(self) -> bool:
        return ITEM.match(self.text) is not None


@dataclass(frozen=True, slots=True)
class QuotingGenerator:
    embedder: Embedder
    kind: Literal["quoting"] = "quoting"
    version: str = "quoting-1"

    async def draft(self, task: GenerationTask) -> AsyncGenerator[DraftStatement | Generated, None]:
        for statement in await to_thread.run_sync(self.quote, task.question.text, task.evidence):
            yield statement
        yield Generated("stop", 0, 0)

    def quote(self, question: str, evidence: Sequence[Evidence]) -> tuple[DraftStatement, ...]:
        """The answering sentences, the best first, a list's items in their order; none if nothing answers."""
        asked = content_words(question)
        sentences = [each for each in read_sentences(evidence) if each.words - asked]
        if not sentences:
            return ()
        scores = self._score(question, asked, sentences)
        items = items_around(sentences, int(np.argmax(scores))) if ASKS_FOR_LIST.search(question) else ()
        return as_statements(items or as_good_as_the_best(sentences, scores))

    def _score(self, question: str, asked: frozenset[str], sentences: Sequence[Sentence]) -> Scores:
        """(sentences,), higher is better."""
        weights = rarity([sentence.words for sentence in sentences], asked)
        passages = self.embedder.embed_passages([sentence.text for sentence in sentences])
        likeness = (passages @ self.embedder.embed_query(question)).astype(np.float64)
        by_words = [_covered(weights, sentence) for sentence in sentences]
        answers = [_answers(question, sentence) for sentence in sentences]
        rank = [int(sentence.evidence.marker.removeprefix("C")) - 1 for sentence in sentences]
        return (
            np.array(by_words)
            + LIKENESS_WEIGHT * likeness
            + ANSWER_WEIGHT * np.array(answers)
            - RANK_WEIGHT * np.array(rank)
        )


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
        with_header = sentence.header and table not in shown
        text = f"{sentence.header}\n{sentence.text}" if with_header else sentence.text
        shown.add(table)
        statements.append(DraftStatement(text, (sentence.evidence.marker,)))
    return tuple(statements)


def _sentences(evidence: Evidence) -> Iterator[Sentence]:
    chunk = evidence.stored.chunk
    quotable = FORGED_BOUNDARY.split(chunk.text, maxsplit=1)[0]
    texts = [quotable[start:end] for start, end in sentence_spans(quotable)]
    header = chunk.context.split("\n")[0]
    for text, following in zip(texts, [*texts[1:], ""], strict=True):
        if not text.startswith("|"):
            header = "" if not TABLE_RULE.fullmatch(text) else header
        elif following and TABLE_RULE.fullmatch(following):
            header = text
            continue
        if not NOT_PROSE.match(text) and not TABLE_RULE.fullmatch(text):
            row_header = header if text.startswith("|") else ""
            yield Sentence(evidence, text, content_words(text), row_header)


def _is_item_of(sentence: Sentence, evidence: Evidence) -> bool:
    return sentence.evidence is evidence and sentence.is_item


def _covered(weights: Mapping[str, float], sentence: Sentence) -> float:
    stored = sentence.evidence.stored
    around = content_words(f"{stored.title}\n{stored.chunk.section}\n{sentence.header}")
    own = coverage(weights, sentence.words)
    return own + AROUND_WEIGHT * (coverage(weights, sentence.words | around) - own)


def _answers(question: str, sentence: Sentence) -> float:
    """1 if a number or date is asked for and the sentence holds one that the question does not give."""
    if not ASKS_FOR_FACT.search(question):
        return 0.0
    given = {fact.value for fact in find_facts(question)}
    return float(any(fact.value not in given and not fact.incidental for fact in find_facts(sentence.text)))
