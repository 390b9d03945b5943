"""Passages written out by hand, as the look-up and `pack` would hand them on."""

from __future__ import annotations

from ingest.corpus.types import Chunk, StoredChunk
from service.types import Candidate, Evidence, RankedChunk


def ranked(
    chunk_id: int,
    text: str,
    score: float = 1.0,
    *,
    document: str = "",
    title: str = "",
    start: int = 0,
    context: str = "",
    section: str = "",
) -> RankedChunk:
    chunk = Chunk(0, text, start, start + len(text), section=section, context=context)
    document_id = document or f"document-{chunk_id}"
    stored = StoredChunk(
        chunk_id, "tenant", "collection", document_id, 1, title, f"{document_id}.md", "en", chunk
    )
    return RankedChunk(stored, Candidate(chunk_id, score, score, None, None, 1), score)


def evidence(*texts: str, start: int = 0, context: str = "", title: str = "") -> tuple[Evidence, ...]:
    """C1, C2 … with chunk ids 1, 2 …, each text its own document, the chunk `start` characters into it."""
    return tuple(
        Evidence(
            f"C{number}",
            ranked(number, text, 1 / number, start=start, context=context, title=title),
            len(text),
        )
        for number, text in enumerate(texts, 1)
    )
