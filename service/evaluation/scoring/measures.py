"""Figures of rankings, computed by trec_eval's own code through pytrec_eval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ingest.corpus.errors import Unavailable
from service.evaluation.sets.beir import Judgements

Figures = dict[str, float]  # the names on the right, of one question or a mean over several, 0..1

DEPTH = 10  # documents of a ranking that are looked at
NAMES = {"recip_rank": "mrr@10", "ndcg_cut_10": "ndcg@10", "recall_5": "recall@5", "recall_10": "recall@10"}


def measure(rankings: Mapping[str, Sequence[str]], relevant: Judgements) -> Figures:
    """Means over the questions of `relevant`; one without a ranking scores 0.

    :param rankings: for each question id the ids of different documents, best first.
    :raises Unavailable: if pytrec_eval is not installed.
    """
    each = measure_each(rankings, relevant)
    return {name: _mean(figures[name] for figures in each.values()) for name in NAMES.values()}


def measure_each(rankings: Mapping[str, Sequence[str]], relevant: Judgements) -> dict[str, Figures]:
    """The same for each question of `relevant` by itself, in its order.

    :raises Unavailable: if pytrec_eval is not installed.
    """
    qrels = {question: dict.fromkeys(documents, 1) for question, documents in relevant.items()}
    run = {question: _scored(rankings.get(question, ())) for question in relevant}
    found = _pytrec_eval().RelevanceEvaluator(qrels, set(NAMES)).evaluate(run)
    return {
        question: {name: found.get(question, {}).get(theirs, 0.0) for theirs, name in NAMES.items()}
        for question in relevant
    }


def _scored(ranking: Sequence[str]) -> dict[str, float]:
    """trec_eval orders by score and breaks ties by id, so the place itself becomes the score."""
    return {document: float(DEPTH - place) for place, document in enumerate(ranking[:DEPTH])}


def _mean(values: Iterable[float]) -> float:
    kept = list(values)
    return sum(kept) / len(kept) if kept else 0.0


def _pytrec_eval() -> Any:
    try:
        import pytrec_eval  # late, because only evaluation needs it: it comes with an extra
    except ImportError as error:
        raise Unavailable(
            "pytrec_eval is not installed.",
            why="Retrieval figures are computed with it, and it comes with the extra `eval`.",
            next_step="Run pip install 'citeward[eval]'.",
        ) from error
    return pytrec_eval
