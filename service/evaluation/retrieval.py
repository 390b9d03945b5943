"""How well documents are found: sets go into a scratch installation and are asked for as the service does it.

Nothing of retrieval is written a second time here: chunks come from `split_to_embed`, indexes from a
database, candidates from `retrieve`, and the two halves are read off the candidates' own ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ingest.corpus.seams import Embedder
from service.evaluation.asking.cached import CACHE, CachedEmbedder
from service.evaluation.asking.indexed import Indexed, counter, index_documents
from service.evaluation.asking.scratch import ASKER, scratch_installation
from service.evaluation.reranking import Reranking, open_reranking, without_deadline
from service.evaluation.scoring.measures import Figures, measure
from service.evaluation.sets.beir import RetrievalSet, SetDocument, SetQuestion, Slice
from service.follow_up import understood
from service.parts import Parts
from service.question import language_of
from service.retrieve import retrieve
from service.settings import ServiceSettings
from service.types import Candidate, Question
from service.watch import Watch


@dataclass(frozen=True, slots=True)
class RetrievalRow:
    """Figures of one slice: of the two searches alone, of both fused, and of the reranked order."""

    set: str
    slice: str
    documents: int
    queries: int  # that the figures are means over
    without_qrels: int  # left out
    words: Figures
    meaning: Figures
    hybrid: Figures
    reranked: Figures | None  # None: the settings name no reranker
    rerank_ms: float | None  # CPU time of a question, median, nothing of it remembered


@dataclass(frozen=True, slots=True)
class Rankings:
    """Document ids for each question id, each document in the place of its best chunk."""

    words: dict[str, Sequence[str]] = field(default_factory=dict)
    meaning: dict[str, Sequence[str]] = field(default_factory=dict)
    hybrid: dict[str, Sequence[str]] = field(default_factory=dict)
    reranked: dict[str, Sequence[str]] = field(default_factory=dict)


def evaluate_retrieval(
    sets: Sequence[RetrievalSet],
    settings: ServiceSettings,
    embedder: Embedder,
    watch: Watch,
) -> tuple[tuple[RetrievalRow, ...], dict[str, str]]:
    """A row for each slice, in order, and the versions that made them.

    Vectors are kept in the data folder, so that a second run only searches.

    :raises Unavailable: if pytrec_eval is not installed.
    """
    measure({}, {})  # if pytrec_eval is missing, say so before the long work
    cached = CachedEmbedder(embedder, settings.corpus.home / CACHE)
    settings = without_deadline(settings.without_llm())
    with scratch_installation(settings, cached) as parts:
        asking = Asking(parts, cached, embedder, watch)
        rows = tuple(row for one in sets for row in _rows(one, asking))
        return rows, parts.versions()


@dataclass(frozen=True, slots=True)
class Asking:
    """What sets are asked with."""

    parts: Parts
    cached: CachedEmbedder
    embedder: Embedder  # without memory
    watch: Watch


def _rows(one: RetrievalSet, asking: Asking) -> Iterator[RetrievalRow]:
    parts, cached, watch = asking.parts, asking.cached, asking.watch
    indexed: dict[tuple[SetDocument, ...], Indexed] = {}
    opened = open_reranking(parts.settings, parts, asking.embedder)
    for part in one.slices:
        label = f"{one.name} {part.name}"
        if part.documents not in indexed:
            indexed[part.documents] = index_documents(label, part.documents, parts, cached, watch)
        reranking = opened.of_another_slice() if opened else None
        rankings = _ask(label, part, indexed[part.documents], asking, reranking)
        yield RetrievalRow(
            one.name,
            part.name,
            len(part.documents),
            len(part.questions),
            part.without_qrels,
            words=measure(rankings.words, part.relevant),
            meaning=measure(rankings.meaning, part.relevant),
            hybrid=measure(rankings.hybrid, part.relevant),
            reranked=measure(rankings.reranked, part.relevant) if reranking else None,
            rerank_ms=reranking.milliseconds if reranking else None,
        )


# --- asking ------------------------------------------------------------------------------------


def _ask(label: str, part: Slice, indexed: Indexed, asking: Asking, reranking: Reranking | None) -> Rankings:
    rankings, watch = Rankings(), asking.watch
    texts = [one.text for one in part.questions]
    asking.cached.remember_queries(texts, counter(watch, f"{label}: questions embedded", len(texts)))
    for done, one in enumerate(part.questions, start=1):
        question = _question(one, indexed.collection_id)
        fused, _ = retrieve(question, ASKER, asking.parts)
        found = fused.candidates
        rankings.hybrid[one.id] = _documents(found, indexed)
        rankings.words[one.id] = _documents(_by_rank(found, lambda c: c.words_rank), indexed)
        rankings.meaning[one.id] = _documents(_by_rank(found, lambda c: c.meaning_rank), indexed)
        if reranking is not None:
            rankings.reranked[one.id] = _documents(reranking.reranked(question.text, fused), indexed)
        watch(f"{label}: questions asked", done, len(part.questions))
    return rankings


def _question(one: SetQuestion, collection_id: str) -> Question:
    asked = Question(one.text, language_of(one.text), collections=(collection_id,), turns=one.turns)
    return understood(asked)


def _by_rank(found: Iterable[Candidate], rank_of: Callable[[Candidate], int | None]) -> list[Candidate]:
    """The candidates that this one search found, best first."""
    ranked = [(rank, one) for one in found if (rank := rank_of(one)) is not None]
    return [one for _, one in sorted(ranked, key=lambda pair: pair[0])]


def _documents(candidates: Iterable[Candidate], indexed: Indexed) -> list[str]:
    return list(dict.fromkeys(indexed.document_of[one.chunk_id] for one in candidates))
