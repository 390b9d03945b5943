"""What any Reranker must do. A further reranker is a line in RERANKERS."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from pathlib import Path

import pytest

from service.adapters.cross_encoder import CrossEncoderModel
from service.cross_encoding import CrossEncoderScorer
from service.late_interaction import LateInteraction
from service.rerank import FusedOrder, ScoredOrder
from service.seams import Reranker
from service.types import RankedChunk
from tests.contracts.real_models import real_embedder
from tests.contracts.tiny_cross_encoder import save_tiny
from tests.fakes import HashEmbedder
from tests.service.passages import ranked

LONG_ENOUGH = 200.0  # seconds


def cross_encoder(folder: Path) -> Reranker:
    return ScoredOrder(CrossEncoderScorer(CrossEncoderModel(save_tiny(folder))), 1.0, LONG_ENOUGH)


RERANKERS: dict[str, Callable[[Path], Reranker]] = {
    "fused order": lambda _: FusedOrder(),
    "late interaction, fake embedder": lambda _: ScoredOrder(
        LateInteraction(HashEmbedder()), 0.5, LONG_ENOUGH
    ),
    "late interaction, real embedder": lambda _: ScoredOrder(
        LateInteraction(real_embedder()), 0.5, LONG_ENOUGH
    ),
    "cross-encoder": cross_encoder,
}

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
def reranker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Reranker:
    make: Callable[[Path], Reranker] = request.param
    return make(tmp_path_factory.mktemp("model") / "tiny")


def reranked(
    reranker: Reranker, chunks: tuple[RankedChunk, ...], question: str = QUESTION
) -> tuple[RankedChunk, ...]:
    found = reranker.rerank(question, chunks)
    assert found.fault is None
    return found.chunks


def by_id(chunks: tuple[RankedChunk, ...]) -> list[RankedChunk]:
    return sorted(chunks, key=lambda one: one.stored.id)


def test_the_version_stays(reranker: Reranker) -> None:
    before = reranker.version
    reranked(reranker, CHUNKS)
    assert before.strip()
    assert reranker.version == before


def test_the_same_chunks_come_back_each_once(reranker: Reranker) -> None:
    assert [(one.stored, one.candidate) for one in by_id(reranked(reranker, CHUNKS))] == [
        (one.stored, one.candidate) for one in by_id(CHUNKS)
    ]


def test_scores_are_finite_and_fall_in_the_new_order(reranker: Reranker) -> None:
    """`pack` goes by them."""
    scores = [one.score for one in reranked(reranker, CHUNKS)]
    assert all(map(isfinite, scores))
    assert scores == sorted(scores, reverse=True)


def test_the_same_input_comes_back_in_the_same_order(reranker: Reranker) -> None:
    assert reranked(reranker, CHUNKS) == reranked(reranker, CHUNKS)


def test_chunks_that_nothing_tells_apart_keep_their_order(reranker: Reranker) -> None:
    assert [one.stored.id for one in reranked(reranker, SAME)] == [5, 2, 8]


@pytest.mark.parametrize("chunks", [(), CHUNKS[:1]], ids=["none", "one"])
def test_few_chunks_come_back_as_few(reranker: Reranker, chunks: tuple[RankedChunk, ...]) -> None:
    assert [one.stored for one in reranked(reranker, chunks)] == [one.stored for one in chunks]


def test_many_chunks_come_back_as_many(reranker: Reranker) -> None:
    many = tuple(ranked(number, f"Rule {number} of parking.", -number / 10) for number in range(60))
    assert {one.stored.id for one in reranked(reranker, many)} == set(range(60))


@pytest.mark.parametrize(
    "question", ["?", "🙂\u200b\x00", "[SEP] <s> [CLS]", "ใครอนุมัติ", "return 退货 " * 4], ids=repr
)
def test_any_question_is_ranked_for(reranker: Reranker, question: str) -> None:
    assert len(reranked(reranker, CHUNKS, question)) == len(CHUNKS)
