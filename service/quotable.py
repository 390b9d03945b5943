"""The sentences of evidence that may be quoted: no title, question, table header, code or markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice

from ingest.corpus.script import script_of
from ingest.sentences import sentence_spans
from service.checking.check import too_long
from service.checking.numbers import find_facts
from service.checking.overlap import content_words
from service.checking.values import Identifier
from service.types import Evidence

MOST_SENTENCES_READ = 40  # embedded for one question, from the best evidence on
LONGEST_TITLE = 8  # words; a longer line without a stop is a statement

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
        return is_row(self.text) or ITEM.match(self.text) is not None


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


def _sentences(evidence: Evidence) -> Iterator[Sentence]:
    chunk = evidence.stored.chunk
    quotable = FORGED_BOUNDARY.split(chunk.text, maxsplit=1)[0]
    texts = [quotable[start:end] for start, end in sentence_spans(quotable)]
    header = chunk.context.split("\n")[0]  # of the table that a cut chunk begins within
    for is_table, run in groupby((text for text in texts if not TABLE_RULE.fullmatch(text)), key=is_row):
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


def is_row(text: str) -> bool:
    return text.startswith("|") or " | " in text
