"""The first half of the way of a question: passages, best first, without an answer made of them."""

from __future__ import annotations

from ingest.corpus.types import Principal
from service.look_up import look_up
from service.parts import Parts
from service.retrieve import retrieve
from service.types import Question, RankedChunk


def search(question: Question, principal: Principal, parts: Parts, top_k: int) -> tuple[RankedChunk, ...]:
    """At most `top_k` passages that `principal` may read now, best first."""
    fused, _ = retrieve(question, principal, parts)
    found = look_up(fused, principal, parts)
    return parts.reranker.rerank(question.text, found).chunks[:top_k]
