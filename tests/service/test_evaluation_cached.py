"""Vectors from disk are the embedder's own, and none is computed twice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ingest.corpus.arrays import FloatMatrix, FloatVector
from ingest.corpus.seams import TokenVectors
from service.evaluation.asking.cached import CachedEmbedder
from tests.fakes import HashEmbedder

HALF_PRECISION = 1e-3


class CountingEmbedder(HashEmbedder):
    """Knows how many texts it was asked for."""

    asked = 0

    def embed_passages(self, texts: Sequence[str]) -> FloatMatrix:
        self.asked += len(texts)
        return super().embed_passages(texts)

    def embed_tokens(self, texts: Sequence[str]) -> Sequence[TokenVectors]:
        self.asked += len(texts)
        return super().embed_tokens(texts)

    def embed_query(self, text: str) -> FloatVector:
        self.asked += 1
        return super().embed_query(text)


def test_it_gives_what_the_embedder_gives_in_the_order_asked_for(tmp_path: Path) -> None:
    texts = ["a longer text than the others", "年假", "b", "年假"]
    cached = CachedEmbedder(HashEmbedder(), tmp_path)
    assert np.array_equal(cached.embed_passages(texts), HashEmbedder().embed_passages(texts))
    assert np.array_equal(cached.embed_query("年假"), HashEmbedder().embed_query("年假"))
    assert cached.embed_passages([]).shape == (0, 64)


def test_tokens_are_those_of_the_embedder_to_half_precision_and_are_embedded_once(tmp_path: Path) -> None:
    texts = ["年假 is paid.", "", "b"]
    CachedEmbedder(HashEmbedder(), tmp_path).remember_tokens(texts)
    inner = CountingEmbedder()
    found = CachedEmbedder(inner, tmp_path).embed_tokens(texts[::-1])[::-1]
    assert inner.asked == 0
    for one, expected in zip(found, HashEmbedder().embed_tokens(texts), strict=True):
        assert list(one.spans) == list(expected.spans)
        np.testing.assert_allclose(one.vectors, expected.vectors, atol=HALF_PRECISION)


def test_a_second_run_embeds_nothing(tmp_path: Path) -> None:
    CachedEmbedder(HashEmbedder(), tmp_path).embed_passages(["a", "b"])
    inner = CountingEmbedder()
    again = CachedEmbedder(inner, tmp_path)
    again.embed_passages(["b", "a"])
    assert inner.asked == 0
    again.embed_query("a")  # a question is embedded otherwise than a passage
    assert inner.asked == 1


def test_another_embedder_has_a_file_of_its_own(tmp_path: Path) -> None:
    CachedEmbedder(HashEmbedder(64), tmp_path).embed_query("a")
    assert CachedEmbedder(HashEmbedder(32), tmp_path).embed_query("a").shape == (32,)


def test_progress_counts_every_text_once(tmp_path: Path) -> None:
    told: list[int] = []
    CachedEmbedder(HashEmbedder(), tmp_path).remember_passages([str(n) for n in range(150)], told.append)
    assert sum(told) == 150
