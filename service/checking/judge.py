"""Does a passage carry a statement? A judge by words and meaning, explainable and without a model of its own.

Whole sentences of the passage are supported outright. Else the score is made of the share of the statement's
words and character triples that the best stretch of up to three adjacent sentences holds, and of how near
the two are in meaning. It knows no logic: numbers and negation are checked before it is asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

import numpy as np

from ingest.corpus.seams import Embedder
from ingest.sentences import sentence_spans
from service.checking.numbers import find_facts
from service.checking.overlap import content_words, coverage
from service.checking.plain import plain_text
from service.seams import Support

Span = tuple[int, int]
LONGEST_STRETCH = 3  # adjacent sentences
STRETCHES_EMBEDDED = 4  # of the best by words; embedding them all costs more than it tells
TOKENS_AROUND = 16  # prefix and special tokens that the embedder adds
SIGNS_AROUND = re.compile(r"^[\s>*+•·\-–—#]+|[\s。！？｡!?….;；,，:：*]+$")


@dataclass(frozen=True, slots=True)
class LexicalSemanticJudge:
    embedder: Embedder
    threshold: float = 0.5
    version: str = "words-and-meaning-1"

    def support(self, premise: str, claim: str) -> Support:
        spans = sentence_spans(premise)
        if not spans or not claim.strip():
            return Support(None, 0, 0, "There is nothing to compare.")
        quoted = _quoted_span(premise, claim, spans)
        if quoted is not None:
            return Support(1.0, *quoted, "The statement is a sentence of the passage.")
        return self._compare(premise, claim, spans)

    def _compare(self, premise: str, claim: str, spans: Sequence[Span]) -> Support:
        stretches = _stretches(spans)
        shared = [_shared_form(claim, premise[start:end]) for start, end in stretches]
        best = sorted(range(len(stretches)), key=lambda place: -shared[place])[:STRETCHES_EMBEDDED]
        likeness = self._likeness(claim, [premise[slice(*stretches[place])] for place in best])
        scores = [_score(shared[place], near) for place, near in zip(best, likeness, strict=True)]
        chosen = int(np.argmax(scores))
        start, end = stretches[best[chosen]]
        return Support(
            scores[chosen],
            start,
            end,
            f"The nearest sentences share {shared[best[chosen]]:.0%}, likeness {likeness[chosen]:.2f}.",
        )

    def _likeness(self, claim: str, texts: Sequence[str]) -> list[float]:
        vectors = self.embedder.embed_passages([self._fitting(text) for text in (claim, *texts)])
        return [float(value) for value in vectors[1:] @ vectors[0]]

    def _fitting(self, text: str) -> str:
        """The head of the text that the embedder takes: a model may write longer than any passage is."""
        spans = self.embedder.tokenizer.spans(text)
        room = max(self.embedder.max_tokens - TOKENS_AROUND, 1)
        return text if len(spans) <= room else text[: spans[room - 1][1]]


def _quoted_span(premise: str, claim: str, spans: Sequence[Span]) -> Span | None:
    """Where the claim's sentences stand one after the other, each whole, in the premise: the last such place.

    Picked from here and there they would say together what the premise does not. Only rows of a table may
    be passed over: its header and one row say what they say without the rows between.
    """
    texts = [premise[start:end] for start, end in spans]
    there = [_bare(text) for text in texts]
    claimed = [_bare(claim[start:end]) for start, end in sentence_spans(claim)]
    for first in range(len(there) - len(claimed), -1, -1):
        last = _end_of_quote(claimed, there, texts, first)
        if last is not None:
            return spans[first][0], spans[last][1]
    return None


def _end_of_quote(
    claimed: Sequence[str], there: Sequence[str], texts: Sequence[str], first: int
) -> int | None:
    """The place of the last of the claimed sentences, if they stand from `first` on."""
    found = 0
    for place in range(first, len(there)):
        if found < len(claimed) and there[place] == claimed[found]:
            found += 1
            if found == len(claimed):
                return place
        elif not found or "|" not in texts[place]:
            return None
    return None


def _bare(sentence: str) -> str:
    """The sentence without white space, list marks and final stops: what two typesettings of it share.

    Inert (`plain_text`): whoever quotes a passage as it is shown quotes ‹C9› where the document has [C9].
    """
    return "".join(SIGNS_AROUND.sub("", plain_text(sentence)).split())


def _stretches(spans: Sequence[Span]) -> list[Span]:
    return [
        (spans[first][0], spans[last][1])
        for first in range(len(spans))
        for last in range(first, min(first + LONGEST_STRETCH, len(spans)))
    ]


def _shared_form(claim: str, stretch: str) -> float:
    """The mean of shared words and shared character triples, as shares of the claim's."""
    claim, stretch = _without_facts(claim), _without_facts(stretch)
    shared_words = coverage(dict.fromkeys(content_words(claim), 1.0), content_words(stretch))
    shared_triples = coverage(dict.fromkeys(_triples(claim), 1.0), _triples(stretch))
    return (shared_words + shared_triples) / 2


def _without_facts(text: str) -> str:
    """Numbers and dates were compared before, and are written in too many ways to compare as words."""
    parts, position = [], 0
    for fact in find_facts(text):
        parts.append(text[position : fact.start])
        position = fact.end
    rest = " ".join([*parts, text[position:]])
    return rest if any(sign.isalpha() for sign in rest) else text


def _triples(text: str) -> frozenset[str]:
    letters = "".join(sign for sign in text.casefold() if sign.isalnum())
    return frozenset(letters[place : place + 3] for place in range(max(len(letters) - 2, 1)))


def _score(shared: float, likeness: float) -> float:
    return 1 / (1 + exp(-(8 * (shared - 0.62) + 12 * (likeness - 0.9))))
