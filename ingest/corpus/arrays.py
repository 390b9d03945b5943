"""The arrays that pass between stages, apart from the other words: whoever reads files needs no numpy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatVector = NDArray[np.float32]  # (D,)
FloatMatrix = NDArray[np.float32]  # (N, D)
RowMask = NDArray[np.bool_]  # (rows,) which rows of an index may be returned
Scores = NDArray[np.float64]  # (N,) higher is better


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """What an index is fed for one chunk; read from the database, vectors included."""

    chunk_id: int
    document_id: str
    title: str
    text: str  # context and passage: what words are taken from
    vector: FloatVector
