"""The reads of the truth: what the indexes found, as it is now, for those who may read it now."""

from __future__ import annotations

from collections.abc import Iterable

from ingest.corpus.lookup import look_up as look_up_chunks
from ingest.corpus.types import Principal
from service.parts import Parts
from service.types import Evidence, Fused, RankedChunk


def look_up(fused: Fused, principal: Principal, parts: Parts) -> tuple[RankedChunk, ...]:
    """The best candidates that this principal may read now, with their texts, in the fused order."""
    best = fused.candidates[: parts.settings.search_depth]
    with parts.database.reading() as session:
        stored = look_up_chunks(session, principal, [one.chunk_id for one in best])
    return tuple(RankedChunk(stored[one.chunk_id], one, one.score) for one in best if one.chunk_id in stored)


def still_readable(evidence: Iterable[Evidence], principal: Principal, parts: Parts) -> frozenset[int]:
    """Ids of those chunks of the evidence that this principal may read at this moment."""
    with parts.database.reading() as session:
        return frozenset(look_up_chunks(session, principal, [one.stored.id for one in evidence]))
