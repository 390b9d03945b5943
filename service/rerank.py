"""Candidates to a better order, where one is to be had in time; else the fused order stands and is told."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import inf, nextafter
from typing import Protocol

import numpy as np

from ingest.corpus.arrays import Scores
from ingest.corpus.embedder import embedding_text
from ingest.corpus.keywords import IDENTIFIER, words
from ingest.corpus.types import StoredChunk
from service.deadline import all_within
from service.fuse import standardised
from service.seams import Reranked
from service.types import RankedChunk

LOG = logging.getLogger("citeward.rerank")
RERANKED = 20  # best candidates that are scored; the others stay behind them as they are
TIMEOUT, FAILED, NOT_FINITE = "rerank_timeout", "rerank_failed", "rerank_not_finite"  # faults


class PassageScorer(Protocol):
    """How well each passage answers a question; higher is better."""

    @property
    def version(self) -> str: ...

    def scores(self, question: str, passages: Sequence[str]) -> Iterator[list[tuple[int, float]]]:
        """Bit by bit, in any order: a passage's place with a score. Of several scores the best counts."""


class FusedOrder:
    """Meets `Reranker` and changes nothing."""

    version = "fused-order"

    def rerank(self, question: str, chunks: Sequence[RankedChunk]) -> Reranked:  # noqa: ARG002
        return Reranked(tuple(chunks))


class ScoredOrder:
    """Meets `Reranker` by a scorer. Questions are scored one at a time, and the wait counts."""

    def __init__(self, scorer: PassageScorer, share: float, seconds: float) -> None:
        """:param share: of the scorer in the new order, 0 to 1; the rest is the fused scores'.
        :param seconds: after which the fused order stands.
        """
        self._scorer = scorer
        self._share = share
        self._seconds = seconds
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="rerank")
        self.version = scorer.version

    def rerank(self, question: str, chunks: Sequence[RankedChunk]) -> Reranked:
        given = tuple(chunks)
        head, rest = given[:RERANKED], given[RERANKED:]
        texts = [_text_of(one.stored) for one in head]
        if len(head) < 2 or is_settled_by_words(question, texts):
            return Reranked(given)
        try:
            scored = all_within(self._seconds, self._scorer.scores(question, texts), self._worker)
        except TimeoutError:
            return _left_as_given(given, TIMEOUT, f"{self._seconds} s")
        except Exception as error:  # a model's library has its own for whatever it may be; it is not needed
            return _left_as_given(given, FAILED, type(error).__name__)
        scores = np.full(len(head), -inf)
        for place, score in (pair for some in scored for pair in some):
            scores[place] = np.maximum(scores[place], score)  # not a number, if one is
        if not np.isfinite(scores).all():
            return _left_as_given(given, NOT_FINITE, self.version)
        return Reranked(tuple(_falling([*self._mixed(head, scores), *rest])))

    def _mixed(self, head: Sequence[RankedChunk], scores: Scores) -> list[RankedChunk]:
        """Best first; those that nothing tells apart as they were."""
        fused = standardised([one.score for one in head])
        mixed = self._share * standardised(scores.tolist()) + (1 - self._share) * fused
        order = np.argsort(-mixed, kind="stable")
        return [replace(head[place], score=float(mixed[place])) for place in order]


def is_settled_by_words(question: str, passages: Sequence[str]) -> bool:
    """Whether the question names identifiers and one of the passages holds them all, sign for sign.

    Vectors hardly tell one number from another, and words have found the one that is asked for.
    """
    named = frozenset(word for word in words(question) if IDENTIFIER.search(word))
    return bool(named) and any(named.issubset(words(passage)) for passage in passages)


def _text_of(stored: StoredChunk) -> str:
    return embedding_text(stored.title, stored.chunk.context, stored.chunk.text)


def _falling(chunks: Sequence[RankedChunk]) -> Iterator[RankedChunk]:
    """With scores below those before them: whoever sorts by score keeps this order."""
    ceiling = inf
    for one in chunks:
        ceiling = min(one.score, nextafter(ceiling, -inf))
        yield replace(one, score=ceiling)


def _left_as_given(chunks: tuple[RankedChunk, ...], fault: str, detail: str) -> Reranked:
    LOG.warning(json.dumps({"event": "fused_order", "code": fault, "detail": detail}))
    return Reranked(chunks, fault)
