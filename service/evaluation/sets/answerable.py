"""Questions with and without an answer in the documents of a set, read from its folder.

`queries.jsonl` says with `answerable` whether the documents answer. What has no answer is of one of three
kinds: out_of_corpus, where nothing of it is there (its slice has that name); near_miss, where a passage is
there that looks as if; noise, where of a set that lists `negative_ids` for a question only those passages
are there, which were found for the question and do not answer it. Where the documents are translations of
each other, the questions are asked once more over those of the other language alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ingest.corpus.errors import InvalidInput
from service.evaluation.sets.beir import SetDocument, question_of, read_rows, read_true_documents
from service.types import Turn

Kind = Literal["out_of_corpus", "near_miss", "noise"]
ASKED_BACK = (
    "underspecified"  # the slice of questions that are to be asked back: neither answered nor refused
)
# (language of the questions, the one language that is there), of sets whose documents are translations.
TRANSLATED: Mapping[str, tuple[tuple[str, str], ...]] = {"xquad": (("zh", "en"), ("en", "zh"))}
FALSE_ON_PURPOSE = "counterfactual"  # the slice of questions about passages that are left out


@dataclass(frozen=True, slots=True)
class Asked:
    id: str
    text: str
    language: str
    unanswerable: Kind | None  # None: the documents answer it
    before: tuple[Turn, ...] = ()  # of its conversation, oldest first


@dataclass(frozen=True, slots=True)
class AnswerableSet:
    """Questions to ask of some documents."""

    name: str
    documents: tuple[SetDocument, ...]
    questions: tuple[Asked, ...]


def read_answerable(folder: Path) -> tuple[AnswerableSet, ...]:
    """The set in `folder`; where it lists negative passages, these alone once more, and translations too.

    :raises InvalidInput: as `read_set`; if no question says whether it is answerable.
    """
    name, documents = folder.resolve().name, read_true_documents(folder)
    rows = [row for row in read_rows(folder / "queries.jsonl") if _is_asked(row)]
    if not rows:
        raise InvalidInput(
            f"No question of {folder} says whether it is answerable.",
            why='Refusal is measured on lines with "answerable": true or false.',
            next_step="Give the folder of a set that has them.",
        )
    whole = AnswerableSet(name, documents, tuple(_asked(row, _kind(row)) for row in rows))
    further = (_noise(name, documents, rows), *_across(whole))
    return (whole, *(one for one in further if one.questions))


def _across(whole: AnswerableSet) -> Iterator[AnswerableSet]:
    for asked, read in TRANSLATED.get(whole.name, ()):
        documents = tuple(one for one in whole.documents if one.language == read)
        questions = (one for one in whole.questions if one.language == asked)
        across = tuple(replace(one, language=f"{asked}-{read}") for one in questions)
        yield AnswerableSet(whole.name, documents, across)


def _is_asked(row: Mapping[str, Any]) -> bool:
    slices = (ASKED_BACK, FALSE_ON_PURPOSE)
    return isinstance(row.get("answerable"), bool) and row.get("slice") not in slices


def _kind(row: Mapping[str, Any]) -> Kind | None:
    if row["answerable"]:
        return None
    return "out_of_corpus" if row.get("slice") == "out_of_corpus" else "near_miss"


def _noise(name: str, documents: Iterable[SetDocument], rows: Iterable[Mapping[str, Any]]) -> AnswerableSet:
    """What answers one question is left out also where it was found for another."""
    noisy = [row for row in rows if row["answerable"] and row.get("negative_ids")]
    answering = {each for row in noisy for each in row.get("positive_ids") or ()}
    found = {each for row in noisy for each in row["negative_ids"]} - answering
    there = tuple(one for one in documents if one.id in found)
    return AnswerableSet(name, there, tuple(_asked(row, "noise") for row in noisy if there))


def _asked(row: Mapping[str, Any], kind: Kind | None) -> Asked:
    one = question_of(row)
    return Asked(one.id, one.text, one.language, kind, one.turns)
