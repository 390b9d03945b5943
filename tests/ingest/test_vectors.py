from __future__ import annotations

import numpy as np

from ingest.corpus.vectors import FlatVectors


def test_a_wide_tie_at_the_edge_is_settled_by_row() -> None:
    """More equal vectors than the first search asks for."""
    same = np.tile(np.array([[0.6, 0.8]], dtype=np.float32), (500, 1))
    index = FlatVectors(np.concatenate([same, np.array([[1.0, 0.0]], dtype=np.float32)]))
    permitted = np.arange(501) >= 100
    rows, scores = index.search(np.array([0.6, 0.8], dtype=np.float32), 3, permitted)
    assert rows == [100, 101, 102]
    assert len(set(scores.tolist())) == 1


def test_vectors_are_kept_once() -> None:
    given = np.eye(3, dtype=np.float32)
    index = FlatVectors(given)
    given[:] = 0
    assert index.vectors.tolist() == np.eye(3).tolist()
    assert not index.vectors.flags.owndata
