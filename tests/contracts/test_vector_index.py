"""What every vector index must do, seen against brute force in float64. Scores agree to 1e-6."""

from __future__ import annotations

from collections.abc import Callable

import faiss
import numpy as np
import pytest

from ingest.corpus.arrays import FloatMatrix, FloatVector, RowMask
from ingest.corpus.seams import VectorIndex
from ingest.corpus.vectors import FlatVectors

TOLERANCE = 1e-6
DIMENSION = 24


class IgnoresSelectors:
    """What a GPU index does with a filter: nothing, and without a word."""

    def __init__(self, vectors: FloatMatrix) -> None:
        self._index = faiss.IndexFlatIP(vectors.shape[1])
        self._index.add(vectors)

    def search(self, queries: FloatMatrix, k: int, params: object) -> tuple[FloatMatrix, object]:
        del params
        return self._index.search(queries, k)


def on_a_gpu(vectors: FloatMatrix) -> FlatVectors:
    return FlatVectors(vectors, IgnoresSelectors(vectors))


@pytest.fixture(params=[FlatVectors, on_a_gpu])
def build(request: pytest.FixtureRequest) -> Callable[[FloatMatrix], VectorIndex]:
    return request.param


def unit_vectors(rows: int, seed: int = 1) -> FloatMatrix:
    vectors = np.random.default_rng(seed).normal(size=(rows, DIMENSION)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def brute_force(vectors: FloatMatrix, query: FloatVector, k: int, permitted: RowMask) -> list[int]:
    scores = vectors.astype(np.float64) @ query.astype(np.float64)
    order = np.lexsort((np.arange(len(vectors)), -scores))
    return [int(row) for row in order if permitted[row]][:k]


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.1, 1.0])
@pytest.mark.parametrize("k", [1, 10, 5000])
def test_the_k_best_permitted_are_found(build: Callable[..., VectorIndex], share: float, k: int) -> None:
    vectors = unit_vectors(2000)
    index = build(vectors)
    permitted = np.random.default_rng(2).random(2000) < share
    for query in unit_vectors(5, seed=3):
        rows, scores = index.search(query, k, permitted)
        assert list(rows) == brute_force(vectors, query, k, permitted)
        np.testing.assert_allclose(scores, vectors[list(rows)] @ query, rtol=0, atol=TOLERANCE)


def test_the_permitted_are_found_when_all_nearer_ones_are_forbidden(
    build: Callable[..., VectorIndex],
) -> None:
    vectors = unit_vectors(3000)
    query = unit_vectors(1, seed=5)[0]
    farthest = np.argsort(vectors @ query)[:10]
    permitted = np.zeros(3000, dtype=bool)
    permitted[farthest] = True
    assert set(build(vectors).search(query, 10, permitted)[0]) == set(farthest.tolist())


def test_equal_vectors_come_by_row(build: Callable[..., VectorIndex]) -> None:
    vectors = np.repeat(unit_vectors(3), 101, axis=0)
    everything = np.ones(len(vectors), dtype=bool)
    rows, _ = build(vectors).search(vectors[0], 7, everything)
    assert list(rows) == list(range(7))


def test_scores_come_in_the_order_asked(build: Callable[..., VectorIndex]) -> None:
    vectors = unit_vectors(50)
    scores = build(vectors).scores(vectors[7], [9, 7, 7])
    np.testing.assert_allclose(scores, [vectors[9] @ vectors[7], 1.0, 1.0], rtol=0, atol=TOLERANCE)


def test_an_empty_index_finds_nothing(build: Callable[..., VectorIndex]) -> None:
    index = build(np.zeros((0, DIMENSION), dtype=np.float32))
    assert index.rows == 0
    assert list(index.search(unit_vectors(1)[0], 5, np.zeros(0, dtype=bool))[0]) == []
