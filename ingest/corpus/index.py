"""One collection as it can be searched at one moment: its segments, and who may read what is in them.

A change makes a new `CollectionIndex` that shares the old segments. Whoever holds one answers a whole
question from one moment, without a lock. Statistics never span collections, so nothing can be learned of one
through another.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ingest.corpus.access import access_lists
from ingest.corpus.arrays import FloatVector, RowMask, Scores
from ingest.corpus.best import best
from ingest.corpus.changes import changes_since, collection_numbers, missing_collection
from ingest.corpus.database import Session
from ingest.corpus.errors import InvalidInput
from ingest.corpus.keywords import Numbers, OkapiIndex, Vocabulary, okapi_index
from ingest.corpus.lookup import indexed_chunks
from ingest.corpus.permissions import may_read
from ingest.corpus.script import SCRIPTS
from ingest.corpus.segments import Segment, first_rows, make_segments, settle, without
from ingest.corpus.types import AccessList, EmbedderFingerprint, Hit, Principal

NOTHING_COMMON: Scores = np.zeros(SCRIPTS)
AS_THEY_ARE: Scores = np.ones(SCRIPTS)
# FAISS scans without Python's lock, and one question has work for one thread a segment only.
SCANNERS = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="scan")


@dataclass(frozen=True, slots=True, eq=False)
class CollectionIndex:
    """Rows are numbered through all segments in order; masks are over all rows, dead ones included."""

    tenant_id: str
    collection_id: str
    number: int  # of the newest change that is in here
    fingerprint: EmbedderFingerprint | None  # None while there are no vectors
    segments: tuple[Segment, ...]
    access: AccessList  # the collection's own
    document_access: Mapping[str, AccessList]  # of documents that have a list of their own
    words: OkapiIndex
    alive: RowMask
    chunk_ids: NDArray[np.int64]  # (rows,)
    classes: tuple[AccessList | None, ...]  # the distinct document lists
    class_of: Numbers  # (rows,) place in `classes`
    living_chunks: Numbers  # chunk ids of the living rows, ascending
    living_rows: Numbers  # their rows
    scripts: Numbers  # (rows,) see `script_of`

    def permitted_rows(self, principal: Principal) -> RowMask:
        """The living rows that `principal` may read. Asks the policy once a distinct list, not once a row."""
        if principal.tenant_id != self.tenant_id:
            return np.zeros(len(self.alive), dtype=bool)
        verdicts = np.array([may_read(principal, self.access, one) for one in self.classes], dtype=bool)
        return verdicts[self.class_of] & self.alive

    def search_words(self, query: str, k: int, permitted: RowMask) -> list[Hit]:
        """The k best permitted chunks that hold a word of the question."""
        return self._hits(*self.words.search(query, k, permitted))

    def search_meaning(
        self,
        vector: FloatVector,
        k: int,
        permitted: RowMask,
        common: Scores = NOTHING_COMMON,
        scale: Scores = AS_THEY_ARE,
    ) -> list[Hit]:
        """The k permitted chunks nearest to the question's vector.

        :param common: what is taken off the inner products of each script, shape (scripts,).
        :param scale: what the rest is multiplied by, above 0, shape (scripts,).
        """

        def search(part: tuple[Segment, int, RowMask]) -> tuple[NDArray[np.int64], Scores]:
            segment, start, mask = part
            found, scores = segment.vectors.search(vector, k, mask[start : start + segment.rows])
            rows = start + np.array(found, dtype=np.int64)
            of_script = self.scripts[rows]
            return rows, (scores - common[of_script]) * scale[of_script]

        plain = not common.any() and np.ptp(scale) == 0
        masks = [permitted] if plain else [permitted & (self.scripts == one) for one in range(SCRIPTS)]
        placed = list(zip(self.segments, first_rows(self.segments), strict=True))
        parts = list(SCANNERS.map(search, [(*one, mask) for one in placed for mask in masks if mask.any()]))
        if not parts:
            return []
        rows, scores = (np.concatenate(one) for one in zip(*parts, strict=True))
        by_row = np.argsort(rows)
        chosen = by_row[best(scores[by_row], k)]
        return self._hits(rows[chosen].tolist(), scores[chosen])

    def score_words(self, query: str, chunk_ids: Sequence[int]) -> Scores:
        """BM25Okapi of these chunks; NaN for one that holds no word of the question."""
        return self.words.scores(query, self._rows(chunk_ids).tolist())

    def coverage(self, query: str, chunk_ids: Sequence[int]) -> Scores:
        """The share, 0 to 1, of what is rare in the question that each chunk holds; see `OkapiIndex`."""
        return self.words.coverage(query, self._rows(chunk_ids).tolist())

    def scripts_of(self, chunk_ids: Sequence[int]) -> Numbers:
        """The script of each of these chunks, see `script_of`."""
        return self.scripts[self._rows(chunk_ids)]

    def score_meaning(self, vector: FloatVector, chunk_ids: Sequence[int]) -> Scores:
        """Inner products of these chunks with the question's vector."""
        rows = self._rows(chunk_ids)
        scores = np.empty(len(rows))
        for segment, start in zip(self.segments, first_rows(self.segments), strict=True):
            mine = np.flatnonzero((start <= rows) & (rows < start + segment.rows))
            scores[mine] = segment.vectors.scores(vector, (rows[mine] - start).tolist())
        return scores

    def _hits(self, rows: Sequence[int], scores: Scores) -> list[Hit]:
        return [Hit(*one) for one in zip(self.chunk_ids[rows].tolist(), scores.tolist(), strict=True)]

    def _rows(self, chunk_ids: Sequence[int]) -> Numbers:
        wanted = np.asarray(chunk_ids, dtype=np.int64)
        places = np.searchsorted(self.living_chunks, wanted)
        if (places == len(self.living_chunks)).any() or (self.living_chunks[places] != wanted).any():
            raise InvalidInput("A chunk to be scored is not in this index.", field="chunk_ids")
        return self.living_rows[places]


# --- from the database -------------------------------------------------------------------------


def refresh(index: CollectionIndex, session: Session) -> CollectionIndex:
    """The collection as `session` sees it; `index` itself if nothing has changed.

    The session must be one consistent snapshot, so that number, chunks and access lists agree.

    :raises NotFound: if there is no such collection.
    """
    changes = changes_since(session, index.tenant_id, index.collection_id, index.number)
    if not changes:
        return index
    if any(change.kind == "collection" for change in changes):
        return read_afresh(session, index.tenant_id, index.collection_id)
    number, fingerprint = _state(session, index.tenant_id, index.collection_id)
    changed = frozenset(change.document_id for change in changes if change.kind == "document")
    access, lists = access_lists(session, index.tenant_id, index.collection_id, changed)
    unchanged = {one: its for one, its in index.document_access.items() if one not in changed}
    vocabulary = index.words.vocabulary
    return assemble(
        index.tenant_id,
        index.collection_id,
        number,
        fingerprint,
        vocabulary,
        settle([*without(index.segments, changed), *_read(session, index, vocabulary, changed)]),
        access,
        unchanged | lists,
    )


def read_afresh(session: Session, tenant_id: str, collection_id: str) -> CollectionIndex:
    """The collection read whole, with the vectors that are stored; nothing is embedded.

    :raises NotFound: if there is no such collection.
    """
    number, fingerprint = _state(session, tenant_id, collection_id)
    access, lists = access_lists(session, tenant_id, collection_id)
    vocabulary: Vocabulary = {}
    chunks = indexed_chunks(session, tenant_id, collection_id)
    segments = tuple(make_segments(vocabulary, chunks))
    return assemble(tenant_id, collection_id, number, fingerprint, vocabulary, segments, access, lists)


def assemble(
    tenant_id: str,
    collection_id: str,
    number: int,
    fingerprint: EmbedderFingerprint | None,
    vocabulary: Vocabulary,
    segments: Sequence[Segment],
    access: AccessList,
    document_access: Mapping[str, AccessList],
) -> CollectionIndex:
    """What follows from the segments and lists: statistics, access classes, the order of chunk ids."""
    alive = np.concatenate([np.empty(0, dtype=bool), *(segment.alive for segment in segments)])
    chunk_ids = np.concatenate([np.empty(0, dtype=np.int64), *(segment.chunk_ids for segment in segments)])
    living = np.flatnonzero(alive)
    living_rows = living[np.argsort(chunk_ids[living], kind="stable")]
    classes: dict[AccessList | None, int] = {None: 0}
    for one in document_access.values():
        classes.setdefault(one, len(classes))
    class_of = [_class_of(segment, document_access, classes) for segment in segments]
    return CollectionIndex(
        tenant_id,
        collection_id,
        number,
        fingerprint,
        tuple(segments),
        access,
        document_access,
        okapi_index(vocabulary, [segment.words for segment in segments]),
        alive,
        chunk_ids,
        tuple(classes),
        np.concatenate([np.empty(0, dtype=np.int32), *class_of]),
        chunk_ids[living_rows],
        living_rows,
        np.concatenate([np.empty(0, dtype=np.int32), *(segment.scripts for segment in segments)]),
    )


def _state(session: Session, tenant_id: str, collection_id: str) -> tuple[int, EmbedderFingerprint | None]:
    state = collection_numbers(session, tenant_id).get(collection_id)
    if state is None:
        raise missing_collection(collection_id)
    return state


def _class_of(
    segment: Segment, lists: Mapping[str, AccessList], classes: Mapping[AccessList | None, int]
) -> Numbers:
    of_documents = np.array([classes[lists.get(one)] for one in segment.documents], dtype=np.int32)
    return of_documents[segment.document_of]


def _read(
    session: Session, index: CollectionIndex, vocabulary: Vocabulary, changed: frozenset[str]
) -> Iterator[Segment]:
    """The changed documents' chunks as they are now."""
    if changed:
        yield from make_segments(
            vocabulary, indexed_chunks(session, index.tenant_id, index.collection_id, sorted(changed))
        )
