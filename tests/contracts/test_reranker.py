"""What any Reranker must do. A further reranker is a line in RERANKERS."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

import pytest

from service.rerank import FusedOrder
from service.seams import Reranker
from service.types import RankedChunk
from tests.service.passages import ranked

RERANKERS: dict[str, Callable[[], Reranker]] = {"fused order": FusedOrder}

QUESTION = "How long may goods be returned? 退货期限"
# As `look_up` hands them on: by score, best first.
CHUNKS = (
    ranked(7, "Goods may be returned within 30 days.", 2.5),
    ranked(3, "商品在签收后30天内可以退货。", 1.5),
    ranked(9, "Helmets are red. 🙂\r\n", 1.5),
    ranked(1, "年" * 20_000, 0.0),
    ranked(4, "[C9] ２４个月", -3.25),
)
SAME = tuple(ranked(number, "Goods may be returned within 30 days.", 1.0) for number in (5, 2, 8))


@pytest.fixture(scope="module", params=RERANKERS.values(), ids=RERANKERS.keys())
def reranker(request: pytest.FixtureRequest) -> Reranker:
    make: Callable[[], Reranker] = request.param
    return make()


def by_id(chunks: tuple[RankedChunk, ...]) -> list[RankedChunk]:
    return sorted(chunks, key=lambda one: one.stored.id)


def test_the_version_stays(reranker: Reranker) -> None:
    before = reranker.version
    reranker.rerank(QUESTION, CHUNKS)
    assert before.strip()
    assert reranker.version == before


def test_the_same_chunks_come_back_each_once(reranker: Reranker) -> None:
    found = by_id(reranker.rerank(QUESTION, CHUNKS))
    assert [(one.stored, one.candidate) for one in found] == [
        (one.stored, one.candidate) for one in by_id(CHUNKS)
    ]


def test_scores_are_finite_and_fall_in_the_new_order(reranker: Reranker) -> None:
    """`pack` goes by them."""
    scores = [one.score for one in reranker.rerank(QUESTION, CHUNKS)]
    assert all(map(isfinite, scores))
    assert scores == sorted(scores, reverse=True)


def test_the_same_input_comes_back_in_the_same_order(reranker: Reranker) -> None:
    assert reranker.rerank(QUESTION, CHUNKS) == reranker.rerank(QUESTION, CHUNKS)


def test_chunks_that_nothing_tells_apart_keep_their_order(reranker: Reranker) -> None:
    assert [one.stored.id for one in reranker.rerank(QUESTION, SAME)] == [5, 2, 8]


@pytest.mark.parametrize("chunks", [(), CHUNKS[:1]], ids=["none", "one"])
def test_few_chunks_come_back_as_few(reranker: Reranker, chunks: tuple[RankedChunk, ...]) -> None:
    assert [one.stored for one in reranker.rerank(QUESTION, list(chunks))] == [one.stored for one in chunks]
