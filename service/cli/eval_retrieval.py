"""`citeward eval retrieval`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from service.cli.loaded import local_embedder
from service.cli.local import installation
from service.cli.show import Json, progress, show_json, show_rows
from service.evaluation.retrieval import RetrievalRow, evaluate_retrieval
from service.evaluation.sets.beir import read_set, read_true_documents


def retrieval(
    context: typer.Context,
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Folders of sets.", exists=True, file_okay=False),
    ],
    among: Annotated[
        Path | None,
        typer.Option(
            help="A folder whose corpus is indexed with each set, and answers nothing.",
            exists=True,
            file_okay=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """How well documents are found: by words, by meaning, and by both; and reranked, if a reranker is set.

    A set is corpus.jsonl (or .jsonl.gz), queries.jsonl and qrels.tsv, or a BEIR folder. Vectors are kept in
    the data folder, so that a second run only searches. Nothing of a set goes into your collections.
    """
    sets = [read_set(folder) for folder in folders]
    if among is not None:
        others = read_true_documents(among)
        sets = [one.among(among.resolve().name, others) for one in sets]
    with progress() as watch:
        rows, versions = evaluate_retrieval(
            sets, installation(context).settings, local_embedder(context), watch
        )
    if as_json:
        show_json({"rows": rows, "versions": versions})
        return
    show_rows(rows, COLUMNS, as_json=False)


def _each(name: str, row: RetrievalRow) -> str:
    found = (row.words, row.meaning, row.hybrid, row.reranked)
    return " ".join(f"{figures[name]:.3f}" for figures in found if figures is not None)


COLUMNS = {
    "set": lambda row: row.set,
    "slice": lambda row: row.slice,
    "documents": lambda row: row.documents,
    "questions": lambda row: row.queries,
    "left out": lambda row: row.without_qrels,
    "MRR@10: words, meaning, hybrid (, reranked)": lambda row: _each("mrr@10", row),
    "nDCG@10": lambda row: _each("ndcg@10", row),
    "recall@5": lambda row: _each("recall@5", row),
    "recall@10": lambda row: _each("recall@10", row),
    "reranking, CPU ms": lambda row: "–" if row.rerank_ms is None else f"{row.rerank_ms:.0f}",
}
