"""The quoting generator: answers with verbatim sentences of the evidence, cited. Needs no language model.

A sentence is chosen only for answering the question, see `service/strength.py`. Statements are handed on as
they stand in the document; `check` makes them inert before they are shown.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from anyio import to_thread

from ingest.corpus.arrays import Scores
from ingest.corpus.script import script_of
from service.checking.numbers import Fact
from service.quotable import Sentence
from service.strength import ASKS_FOR_FACT, SentenceWeigher
from service.types import DraftStatement, Evidence, Generated, GenerationTask

MOST_SENTENCES = 3  # quoted for a question that asks for one thing
MOST_ITEMS = 20  # quoted for a question that asks for a list
ANSWER_WEIGHT = 0.15  # gained by holding the kind of thing asked for
RANK_WEIGHT = 0.03  # lost for each passage before this one
ABROAD_WEIGHT = 0.1  # lost by not being in the question's script
AS_GOOD = 0.15  # a further sentence may score this much less than the best

ASKS_FOR_LIST = re.compile(
    r"\b(?:which|what) (?:\w+ ){0,4}(?:are|were)\b|\bwhat (?:kinds|types|steps)\b|\blist\b"
    r"|\bname (?:all|the)\b|\bhow many\b.*\bwhat\b|\beach\b|哪些|哪几|有哪|分别|列出|列举|各是|几种|几类",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class QuotingGenerator:
    weigher: SentenceWeigher
    kind: Literal["quoting"] = "quoting"
    version: str = "quoting-2"

    async def draft(self, task: GenerationTask) -> AsyncGenerator[DraftStatement | Generated]:
        for statement in await to_thread.run_sync(self.quote, task.question.text, task.evidence):
            yield statement
        yield Generated("stop", 0, 0)

    def quote(self, question: str, evidence: tuple[Evidence, ...]) -> tuple[DraftStatement, ...]:
        """The answering sentences, the best first, a list's items in their order; none if nothing answers."""
        weighed = self.weigher.weigh(question, evidence)
        if not weighed.sentences:
            return ()
        told = zip(weighed.sentences, weighed.told, strict=True)
        liked = np.array([_likes(question, *each) for each in told])
        scores = np.where(weighed.margins >= 0, weighed.margins + liked, -np.inf)
        best = int(np.argmax(scores))
        if np.isneginf(scores[best]):
            return ()
        items = items_around(weighed.sentences, best) if ASKS_FOR_LIST.search(question) else ()
        return as_statements(items or as_good_as_the_best(weighed.sentences, scores))


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


def _is_item_of(sentence: Sentence, evidence: Evidence) -> bool:
    return sentence.evidence is evidence and sentence.is_item


def _likes(question: str, sentence: Sentence, told: Sequence[Fact]) -> float:
    """What puts one answering sentence before another: the kind of answer, the passage, the language."""
    answers = bool(ASKS_FOR_FACT.search(question)) and bool(told)
    rank = int(sentence.evidence.marker.removeprefix("C")) - 1
    abroad = sentence.script != script_of(question)
    return ANSWER_WEIGHT * answers - RANK_WEIGHT * rank - ABROAD_WEIGHT * abroad
