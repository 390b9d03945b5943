"""The quoting generator: answers with verbatim sentences of the evidence, cited. Needs no language model.

A sentence is chosen only for answering the question: by the rare words of the question that it holds, by its
nearness in meaning, and by holding the kind of thing asked for. Whatever a document tells a reader or
a machine to do is text like any other. Statements are handed on as they stand in the document; `check` makes
them inert before they are shown.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice
from typing import Literal

import numpy as np
from anyio import to_thread

from ingest.corpus.script import HAN, OTHER, script_of
from ingest.corpus.seams import Embedder
from ingest.corpus.types import Scores
from ingest.sentences import sentence_spans
from service.checking.check import too_long
from service.checking.numbers import Fact, find_facts
from service.checking.overlap import content_words, coverage, rarity
from service.checking.values import Identifier, Number
from service.nearness import Background
from service.types import DraftStatement, Evidence, Generated, GenerationTask

MOST_SENTENCES = 3  # quoted for a question that asks for one thing
MOST_ITEMS = 20  # quoted for a question that asks for a list
MOST_SENTENCES_READ = 40  # embedded for one question, from the best evidence on
LONGEST_TITLE = 8  # words; a longer line without a stop is a statement

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
ANSWER_WEIGHT = 0.15  # gained by holding the kind of thing asked for
NO_QUANTITY_WEIGHT = 0.6  # lost by holding no quantity where one is asked for
RANK_WEIGHT = 0.03  # lost for each passage before this one
ABROAD_WEIGHT = 0.1  # lost by not being in the question's script
ABBREVIATED_WEIGHT = 0.6  # of a Chinese word that stands in the text with a sign more, as 年假 in 年休假
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
ASKS_FOR_QUANTITY = re.compile(
    r"\bhow (?:many|much|long|far|old|high|large|big|tall|fast)\b"
    r"|多少|几(?!乎)|多久|多长|多大|多高|多深|多远",
    re.IGNORECASE,
)
CLOSED = r"[\"'”’)）\]】》」』*_`]*$"
ENDS_AS_STATEMENT = re.compile(rf"[.。！!…;；:：]{CLOSED}")
ENDS_AS_QUESTION = re.compile(rf"[?？]{CLOSED}")
ITEM = re.compile(r"[-*+•·●] |\d{1,3}[.)、](?!\d)|[(（]?[一二三四五六七八九十]{1,3}[)）、]|\|")
NOT_PROSE = re.compile(r"#|[{<]|```")  # a heading, or data and markup: nothing that says anything
# What claims that the evidence ends here: whatever a document says after it is not quoted.
FORGED_BOUNDARY = re.compile(
    r"</(?:context|evidence|documents?|passages?|sources?|system|instructions?|prompt|检索结果|上下文|证据|资料|文档)>"
    r"|<\|[a-z_]{2,20}\|>|\[/?INST\]",
    re.IGNORECASE,
)
IDENTIFIER = re.compile(r"(?=.*[a-z])(?=.*\d)")  # letters and digits, as bw-200
TABLE_RULE = re.compile(r"[\s:|+=-]+")  # the line under a table's header


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, list item or table row of a piece of evidence, verbatim."""

    evidence: Evidence
    text: str
    lead: str  # the header of the table that it is a row of, or the question that it answers; or empty
    words: frozenset[str]
    script: int  # of lead and text

    @property
    def with_lead(self) -> str:
        return _led(self.lead, self.text)

    @property
    def is_item(self) -> bool:
        return _is_row(self.text) or ITEM.match(self.text) is not None


@dataclass(frozen=True, slots=True)
class QuotingGenerator:
    embedder: Embedder
    background: Background
    kind: Literal["quoting"] = "quoting"
    version: str = "quoting-2"

    async def draft(self, task: GenerationTask) -> AsyncGenerator[DraftStatement | Generated]:
        for statement in await to_thread.run_sync(self.quote, task.question.text, task.evidence):
            yield statement
        yield Generated("stop", 0, 0)

    def quote(self, question: str, evidence: Sequence[Evidence]) -> tuple[DraftStatement, ...]:
        """The answering sentences, the best first, a list's items in their order; none if nothing answers."""
        asked = content_words(question)
        sentences = read_sentences(evidence, asked)
        if not sentences:
            return ()
        told = told_by(question, sentences)
        margins = self._margins(question, asked, sentences)
        margins -= NO_QUANTITY_WEIGHT * np.array([_lacks_quantity(question, facts) for facts in told])
        liked = np.array([_likes(question, *each) for each in zip(sentences, told, strict=True)])
        scores = np.where(margins >= 0, margins + liked, -np.inf)
        best = int(np.argmax(scores))
        if np.isneginf(scores[best]):
            return ()
        items = items_around(sentences, best) if ASKS_FOR_LIST.search(question) else ()
        return as_statements(items or as_good_as_the_best(sentences, scores))

    def _margins(self, question: str, asked: frozenset[str], sentences: Sequence[Sentence]) -> Scores:
        """By how much each sentence scores more than the least that answers; shape (sentences,)."""
        asked_in = script_of(question)
        scripts = np.array([sentence.script for sentence in sentences])
        probe = self.background.probe(self.embedder.embed_query(question), asked_in)
        passages = self.embedder.embed_passages([sentence.with_lead for sentence in sentences])
        near = probe.nearness((passages @ probe.vector).astype(np.float64), scripts)
        weights = rarity([sentence.words for sentence in sentences], asked)
        covered = np.array([_covered(weights, each, asked_in) for each in sentences])
        return covered + np.where(
            scripts != asked_in,
            NEARNESS_WEIGHT_ABROAD * (near - LEAST_ABROAD[asked_in]),
            NEARNESS_WEIGHT * near - LEAST[asked_in],
        )


def read_sentences(evidence: Sequence[Evidence], asked: frozenset[str]) -> list[Sentence]:
    """What may be quoted for a question of these words, in order; nothing twice; a bounded number.

    No title, question, table header or code, nothing that only restates the question or is no sentence by its
    length.
    """
    different: dict[str, Sentence] = {}
    for sentence in chain.from_iterable(map(_sentences, evidence)):
        if sentence.words - asked and not too_long(sentence.with_lead):
            different.setdefault("".join(sentence.text.split()), sentence)
    return list(islice(different.values(), MOST_SENTENCES_READ))


def told_by(question: str, sentences: Sequence[Sentence]) -> list[list[Fact]]:
    """The numbers and dates of each sentence that the question does not give; read if it asks for one."""
    if not (ASKS_FOR_FACT.search(question) or ASKS_FOR_QUANTITY.search(question)):
        return [[] for _ in sentences]
    given = {fact.value for fact in find_facts(question)}
    return [
        [each for each in find_facts(one.text) if each.value not in given and not each.incidental]
        for one in sentences
    ]


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
    """Each with its citation; the first of those with the same lead brings it along."""
    shown: set[tuple[str, str]] = set()
    statements = []
    for sentence in chosen:
        lead = (sentence.evidence.marker, sentence.lead)
        text = sentence.text if lead in shown else sentence.with_lead
        shown.add(lead)
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
        yield from _rows(evidence, header, rows) if is_table else _prose(evidence, rows)
        header = ""


def _sentence(evidence: Evidence, text: str, lead: str) -> Sentence:
    return Sentence(evidence, text, lead, content_words(text), script_of(_led(lead, text)))


def _led(lead: str, text: str) -> str:
    return f"{lead}\n{text}" if lead else text


def _rows(evidence: Evidence, header: str, texts: Iterable[str]) -> Iterator[Sentence]:
    for text in texts:
        yield _sentence(evidence, text, header)


def _prose(evidence: Evidence, texts: Iterable[str]) -> Iterator[Sentence]:
    """A question in the text is no statement; what follows it is read, and quoted, as its answer."""
    question = ""
    for text in texts:
        if ENDS_AS_QUESTION.search(text):
            question = text
        elif not NOT_PROSE.match(text) and not _is_title(text):
            yield _sentence(evidence, text, question)
            question = ""


def _is_title(text: str) -> bool:
    """A short line that says nothing of anything: no stop, no list item, no number, no "name: value"."""
    if ENDS_AS_STATEMENT.search(text) or ITEM.match(text) or ":" in text or "：" in text:
        return False
    if any(not isinstance(fact.value, Identifier) for fact in find_facts(text)):
        return False
    return len(text.split()) <= LONGEST_TITLE and len(text) <= 10 * LONGEST_TITLE


def _is_row(text: str) -> bool:
    return text.startswith("|") or " | " in text


def _is_item_of(sentence: Sentence, evidence: Evidence) -> bool:
    return sentence.evidence is evidence and sentence.is_item


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


def _likes(question: str, sentence: Sentence, told: Sequence[Fact]) -> float:
    """What puts one answering sentence before another: the kind of answer, the passage, the language."""
    answers = bool(ASKS_FOR_FACT.search(question)) and bool(told)
    rank = int(sentence.evidence.marker.removeprefix("C")) - 1
    abroad = sentence.script != script_of(question)
    return ANSWER_WEIGHT * answers - RANK_WEIGHT * rank - ABROAD_WEIGHT * abroad


def _lacks_quantity(question: str, told: Sequence[Fact]) -> bool:
    if not ASKS_FOR_QUANTITY.search(question):
        return False
    return not any(isinstance(fact.value, Number) for fact in told)
