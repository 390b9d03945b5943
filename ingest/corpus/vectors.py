"""Which passages are nearest in meaning: exact inner products by FAISS, among the permitted rows only."""

from __future__ import annotations

from collections.abc import Sequence

import faiss
import numpy as np

from ingest.corpus.arrays import FloatMatrix, FloatVector, RowMask, Scores
from ingest.corpus.best import Places, best

SPARE = 16  # rows asked for beyond k: a tie or a rounding at the k-th place then rarely needs a second search
# FAISS adds up in an order that depends on a row's place, so equal vectors may differ in the last digits: by
# 2e-7 at most where this was tried with 384 numbers. What lies within this of the k-th place is scored again.
ROUNDING = 1e-5


class FlatVectors:
    """Unit vectors in a flat FAISS index. Scores are float32 products added up in float64, row by row alike.

    :param index: holds these rows already; one that ignores selectors, as on a GPU, only takes longer.
    """

    def __init__(self, vectors: FloatMatrix, index: faiss.Index | None = None) -> None:
        if index is None:
            index = _flat(vectors)
            vectors = _stored(index)
        self._index = index
        self.vectors = vectors

    @property
    def rows(self) -> int:
        return len(self.vectors)

    def search(self, query: FloatVector, k: int, permitted: RowMask) -> tuple[Sequence[int], Scores]:
        """As `VectorIndex.search`. Asks for more until nothing beyond can be among the k."""
        wanted = min(k, int(np.count_nonzero(permitted)))
        if wanted == 0:
            return [], np.empty(0)
        asked = wanted + SPARE
        while True:
            rows, reached = self._nearest(query, min(asked, self.rows), permitted)
            scores = self.scores(query, rows.tolist())
            chosen = best(scores, wanted)
            if asked >= self.rows or (len(rows) >= wanted and scores[chosen[-1]] > reached + ROUNDING):
                return rows[chosen].tolist(), scores[chosen]
            asked *= 4

    def scores(self, query: FloatVector, rows: Sequence[int]) -> Scores:
        """As `VectorIndex.scores`."""
        products = self.vectors[np.asarray(rows, dtype=np.intp)] * query
        scores: Scores = products.sum(axis=1, dtype=np.float64)
        return scores

    def _nearest(self, query: FloatVector, count: int, permitted: RowMask) -> tuple[Places, float]:
        """Permitted rows in ascending order, and a score that no permitted row beyond them exceeds.

        The selector is a request, not a guarantee: GPU indexes drop it in silence. Only the mask decides.
        """
        # FAISS's stubs show the C++ signatures; Python's are wider.
        selector = faiss.IDSelectorBitmap(np.packbits(permitted, bitorder="little"))  # type: ignore[call-arg, arg-type]
        request = faiss.SearchParameters(sel=selector)  # type: ignore[call-arg]
        scores, rows = self._index.search(query[np.newaxis], count, params=request)
        found = rows[0] >= 0  # -1 fills up where fewer are left
        inside = np.sort(rows[0][found])
        return inside[permitted[inside]], float(scores[0, -1]) if found.all() else -np.inf


def _flat(vectors: FloatMatrix) -> faiss.IndexFlatIP:
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(np.ascontiguousarray(vectors, dtype=np.float32))
    return index


def _stored(index: faiss.IndexFlatIP) -> FloatMatrix:
    """The rows where FAISS keeps them, not copied; valid as long as the index."""
    numbers = faiss.rev_swig_ptr(index.get_xb(), index.ntotal * index.d)
    return np.asarray(numbers, dtype=np.float32).reshape(index.ntotal, index.d)
