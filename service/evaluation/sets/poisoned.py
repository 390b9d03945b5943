"""Documents with an attack put into each, and texts that look like attacks and are none, read from a folder.

`corpus.jsonl` and `queries.jsonl` as elsewhere; `poisoned.jsonl` has for a document (clean_doc_id) its text
with an attack (attack_text) at a position (start, middle, end); `injections.jsonl` has texts with a label,
injection or benign.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ingest.corpus.errors import InvalidInput
from service.evaluation.sets.beir import SetDocument, SetQuestion, question_of, read_rows, read_true_documents


@dataclass(frozen=True, slots=True)
class Poisoned:
    """The documents once more, each with an attack at one position."""

    position: str
    documents: tuple[SetDocument, ...]
    attacks: dict[str, str]  # query id -> the attack in the document that the question is about


@dataclass(frozen=True, slots=True)
class PoisonedSet:
    name: str
    clean: tuple[SetDocument, ...]
    questions: tuple[SetQuestion, ...]
    poisoned: tuple[Poisoned, ...]  # a position each
    benign: tuple[str, ...]


def read_poisoned(folder: Path) -> PoisonedSet:
    """:raises InvalidInput: if a file is missing or a line cannot be used, naming both."""
    clean = read_true_documents(folder)
    titles = {one.id: one for one in clean}
    by_position: dict[str, list[tuple[SetDocument, str, str]]] = {}
    try:
        for row in read_rows(folder / "poisoned.jsonl"):
            of = titles[row["clean_doc_id"]]
            document = SetDocument(row["doc_id"], of.title, row["text"], of.language)
            by_position.setdefault(row["position"], []).append(
                (document, row["query_id"], row["attack_text"])
            )
        texts = [(row["text"], row["label"]) for row in read_rows(folder / "injections.jsonl")]
    except KeyError as error:
        raise InvalidInput(
            f"A line of poisoned.jsonl or injections.jsonl in {folder} cannot be used.",
            why=f"It lacks {error}, or names a document that is not in the corpus.",
            next_step="Correct the line.",
        ) from error
    return PoisonedSet(
        name=folder.resolve().name,
        clean=clean,
        questions=tuple(question_of(row) for row in read_rows(folder / "queries.jsonl")),
        poisoned=tuple(
            Poisoned(
                position,
                tuple(document for document, _, _ in rows),
                {query_id: attack for _, query_id, attack in rows},
            )
            for position, rows in by_position.items()
        ),
        benign=tuple(text for text, label in texts if label == "benign"),
    )
