"""The k best of many scores, in an order that never depends on chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ingest.corpus.arrays import Scores

Places = NDArray[np.intp]  # positions in an array of scores, or rows of an index


def best(scores: Scores, k: int) -> Places:
    """Places of the k highest scores, best first, ties by place; all of them if there are fewer than k.

    :param scores: shape (N,), without NaN.
    """
    if k >= len(scores):
        return np.argsort(-scores, kind="stable")
    if k == 0:
        return np.empty(0, dtype=np.intp)
    edge = np.partition(scores, len(scores) - k)[len(scores) - k]
    above = np.flatnonzero(scores > edge)
    level = np.flatnonzero(scores == edge)[: k - len(above)]
    chosen = np.concatenate([above, level])
    return chosen[np.lexsort((chosen, -scores[chosen]))]
