"""A question to fused candidates: both searches, over what the principal may read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from ingest.corpus.arrays import FloatVector
from ingest.corpus.collections import get_collection, list_collections
from ingest.corpus.database import Session
from ingest.corpus.index import CollectionIndex
from ingest.corpus.script import script_of
from ingest.corpus.seams import Embedder
from ingest.corpus.types import Hit, Principal
from service.fuse import fuse
from service.nearness import Probe
from service.parts import Parts
from service.types import Fused, QuerySignals, Question


def retrieve(question: Question, principal: Principal, parts: Parts) -> tuple[Fused, str]:
    """Candidates, best first, and the index generation that they come from: "handbook=17, rules=20".

    :raises NotFound: if a collection asked for is missing or the principal may not read it.
    """
    with parts.database.reading() as session:
        collection_ids = _collections(session, principal, question.collections)
        indexes = parts.corpus.fresh(session, principal.tenant_id, collection_ids)
    vector = meaning_of(question, parts.embedder)
    probe = parts.background.probe(vector, script_of(question.text))
    fused = search_indexes(indexes, principal, by_weight(question), probe, parts.settings.search_depth)
    return fused, ", ".join(f"{index.collection_id}={index.number}" for index in indexes)


def by_weight(question: Question) -> str:
    """The words to search for, as often as each counts: those of the question, and of what it is about."""
    about = (" ".join([text] * count) for text, count in zip(question.about, ABOUT_WEIGHTS, strict=False))
    return " ".join([*[question.text] * QUESTION_WEIGHT, *about]) if question.about else question.text


def meaning_of(question: Question, embedder: Embedder) -> FloatVector:
    """The question's vector, drawn a little to what it is about; a unit vector."""
    vector = embedder.embed_query(question.text)
    if not question.about:
        return vector
    drawn = QUESTION_WEIGHT * vector
    for text, weight in zip(question.about, ABOUT_WEIGHTS, strict=False):
        drawn = drawn + weight * embedder.embed_query(text)
    return drawn / np.linalg.norm(drawn)


def search_indexes(
    indexes: Sequence[CollectionIndex], principal: Principal, text: str, probe: Probe, depth: int
) -> Fused:
    """The best `depth` of each search in each collection, fused; every candidate is scored by both."""
    found = [_search(index, principal, text, probe, depth) for index in indexes]
    words = list(chain.from_iterable(each.words for each in found))
    meaning = list(chain.from_iterable(each.meaning for each in found))
    return fuse(words, meaning, QuerySignals(max((each.coverage for each in found), default=0.0)))


# Of the question, the one before it, the one before that, and the first sentence of the last answer; chosen
# on the half of mtrag_un whose query id has an even first byte of sha256.
QUESTION_WEIGHT, ABOUT_WEIGHTS = 5, (2, 1, 1)


@dataclass(frozen=True, slots=True)
class Found:
    """What one collection has to say."""

    words: list[Hit]  # of the candidates that hold a word of the question
    meaning: list[Hit]  # of all candidates
    coverage: float  # of the best passage by words, 0 where there is none


def _search(index: CollectionIndex, principal: Principal, text: str, probe: Probe, depth: int) -> Found:
    permitted = index.permitted_rows(principal)
    by_words = index.search_words(text, depth, permitted)
    by_meaning = index.search_meaning(probe.vector, depth, permitted, probe.common, probe.scale)
    chunk_ids = list(dict.fromkeys(hit.chunk_id for hit in chain(by_words, by_meaning)))
    words = index.score_words(text, chunk_ids)
    held = np.flatnonzero(~np.isnan(words))
    nearness = probe.compared(index.score_meaning(probe.vector, chunk_ids), index.scripts_of(chunk_ids))
    return Found(
        words=[Hit(chunk_ids[place], float(words[place])) for place in held],
        meaning=[Hit(*one) for one in zip(chunk_ids, nearness.tolist(), strict=True)],
        coverage=float(index.coverage(text, [by_words[0].chunk_id])[0]) if by_words else 0.0,
    )


def _collections(session: Session, principal: Principal, asked: Iterable[str] | None) -> list[str]:
    if asked is None:
        return [one.id for one in list_collections(session, principal)]
    return [get_collection(session, principal, one).id for one in asked]
