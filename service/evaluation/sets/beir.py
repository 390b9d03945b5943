"""Retrieval sets from a folder: documents, questions and which documents answer them, laid out in slices.

Two layouts are read. Ours: `corpus.jsonl` or `corpus.jsonl.gz` (doc_id, title, text, lang), `queries.jsonl`
(query_id, question, lang), `qrels.tsv` (query_id, doc_id, relevance; with a header or without). BEIR's: `_id`
for both ids, `text` for the question, `qrels/test.tsv`. Where no language is given, the text says it.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ingest.corpus.errors import InvalidInput
from ingest.read.language import language_of
from service.evaluation.sets.row import row_of
from service.types import Turn

# (language of the questions, the one language indexed): sets whose documents are translations of each other.
CROSS_LINGUAL: Mapping[str, tuple[tuple[str, str], ...]] = {"xquad": (("zh", "en"),)}

Judgements = Mapping[str, frozenset[str]]  # query id -> ids of the documents that answer it
COLUMNS = 3  # of a judgement: query, document, relevance
# Fields that need not be there, and their kinds.
KINDS: Mapping[str, type] = {
    "answers": list,
    "answer_groups": list,
    "gold_doc_ids": list,
    "history": list,
    "answerable": bool,
    "lang": str,
    "title": str,
}
KIND_NAMES = {list: "a list", bool: "true or false", str: "a string"}


@dataclass(frozen=True, slots=True)
class SetDocument:
    id: str
    title: str
    text: str
    language: str


@dataclass(frozen=True, slots=True)
class SetQuestion:
    id: str
    text: str
    language: str
    turns: tuple[Turn, ...] = ()  # of its conversation, oldest first


@dataclass(frozen=True, slots=True)
class Slice:
    """Questions to ask of some documents; each question has at least one relevant document among them."""

    name: str
    documents: tuple[SetDocument, ...]
    questions: tuple[SetQuestion, ...]
    relevant: Judgements
    without_qrels: int  # questions left out because nothing is said of what answers them


@dataclass(frozen=True, slots=True)
class RetrievalSet:
    name: str
    slices: tuple[Slice, ...]

    def among(self, name: str, others: Sequence[SetDocument]) -> RetrievalSet:
        """The same questions with more documents to find theirs among, which answer none of them.

        :raises InvalidInput: if an id is a document's of both.
        """
        taken = {one.id for part in self.slices for one in part.documents}
        if twice := [one.id for one in others if one.id in taken]:
            raise InvalidInput(
                f"{self.name} and {name} both have a document {twice[0]!r}.",
                why="Which of the two was found could not be told.",
                next_step="Give one of them another id.",
            )
        slices = (replace(one, documents=(*one.documents, *others)) for one in self.slices)
        return RetrievalSet(f"{self.name} + {name}", tuple(slices))


def read_set(folder: Path) -> RetrievalSet:
    """The set in `folder`, named for it.

    A slice is the language of the questions, over all documents. xquad, whose documents are translations, has
    `zh-en` too: Chinese questions over English documents. Questions of `policy_queries.jsonl`, where it is
    there, are `policy-<language>`; the others are then `records`. Where questions have a `history`, they are
    asked as they stand, and once more within their conversation as `conversation-<language>`.

    :raises InvalidInput: if a file is missing or a line cannot be used, naming both.
    """
    name = folder.resolve().name
    documents = tuple(map(_document, read_rows(_corpus_file(folder))))
    in_conversation = _questions(folder / "queries.jsonl")
    questions = tuple(replace(one, turns=()) for one in in_conversation)
    relevant = _qrels(_qrels_file(folder))
    policy = folder / "policy_queries.jsonl"
    if policy.exists():
        about_policy = by_language(
            _questions(policy), documents, _qrels(folder / "policy_qrels.tsv"), "policy-"
        )
        slices = [_slice("records", documents, questions, relevant), *about_policy]
    else:
        slices = [*by_language(questions, documents, relevant)]
    if any(one.turns for one in in_conversation):
        slices += by_language(in_conversation, documents, relevant, "conversation-")
    for asked, indexed in CROSS_LINGUAL.get(name, ()):
        within = tuple(one for one in documents if one.language == indexed)
        across = (one for one in questions if one.language == asked)
        slices.append(_slice(f"{asked}-{indexed}", within, across, relevant))
    return RetrievalSet(name, tuple(one for one in slices if one.questions))


def by_language(
    questions: Iterable[SetQuestion],
    documents: tuple[SetDocument, ...],
    relevant: Judgements,
    prefix: str = "",
) -> Iterator[Slice]:
    """A slice for each language of the questions, named `prefix` and the language."""
    asked = tuple(questions)
    for language in dict.fromkeys(one.language for one in asked):
        yield _slice(
            prefix + language, documents, (one for one in asked if one.language == language), relevant
        )


def _slice(
    name: str, documents: tuple[SetDocument, ...], questions: Iterable[SetQuestion], relevant: Judgements
) -> Slice:
    there = frozenset(one.id for one in documents)
    asked = tuple(questions)
    judged = {one.id: found for one in asked if (found := relevant.get(one.id, frozenset()) & there)}
    kept = tuple(one for one in asked if one.id in judged)
    return Slice(name, documents, kept, judged, len(asked) - len(kept))


def read_true_documents(folder: Path) -> tuple[SetDocument, ...]:
    """Without those that say of themselves that they are false on purpose.

    :raises InvalidInput: as `read_set`.
    """
    rows = read_rows(_corpus_file(folder))
    return tuple(_document(row) for row in rows if not row.get("counterfactual"))


def read_judgements(folder: Path) -> Judgements:
    """:raises InvalidInput: as `read_set`."""
    return _qrels(_qrels_file(folder))


# --- files -------------------------------------------------------------------------------------


def _document(row: Mapping[str, Any]) -> SetDocument:
    text = row["text"] or row.get("title") or ""
    return SetDocument(_id(row, "doc_id"), row.get("title") or "", text, row.get("lang") or language_of(text))


def _questions(path: Path) -> tuple[SetQuestion, ...]:
    return tuple(map(question_of, read_rows(path)))


def question_of(row: Mapping[str, Any]) -> SetQuestion:
    """Of a row of `read_rows`, in either layout."""
    text = row["question"] if "question" in row else row["text"]
    return SetQuestion(_id(row, "query_id"), text, row.get("lang") or language_of(text), _turns_before(row))


def _turns_before(row: Mapping[str, Any]) -> tuple[Turn, ...]:
    """Of the row's `history` each last question before an answer, with that answer."""
    return tuple(
        Turn(f"before-{number}", question, question, answer, ())
        for number, (question, answer) in enumerate(_pairs(row.get("history") or ()))
    )


def _pairs(messages: Iterable[Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    question = ""
    for message in messages:
        if message["role"] == "user":
            question = message["content"]
        elif question:
            yield question, message["content"]
            question = ""


def _id(row: Mapping[str, Any], name: str) -> str:
    return str(row[name] if name in row else row["_id"])


def read_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """:raises InvalidInput: for a line that is no JSON object with an id of its own and a text, or says of
    answers what cannot be meant.
    """
    seen: set[str] = set()
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        try:
            row = row_of(line)
            one = _id(row, next((name for name in ("doc_id", "query_id", "id") if name in row), "_id"))
            _require_kinds(row)
            if one in seen:
                raise ValueError(f"{one!r} is the id of a line before")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InvalidInput(
                f"Line {number} of {path} cannot be used.",
                why=f"{type(error).__name__}: {error}. A line is a JSON object with an id and a text.",
                next_step="Correct the line.",
            ) from error
        seen.add(one)
        yield row


def _require_kinds(row: Mapping[str, Any]) -> None:
    """:raises TypeError: if a field is of another kind than it must be. :raises KeyError: without a text."""
    if not isinstance(row["question"] if "question" in row else row["text"], str):
        raise TypeError("the text must be a string")
    for name, kind in KINDS.items():
        if not isinstance(row.get(name), kind | None):
            raise TypeError(f"{name} must be {KIND_NAMES[kind]}")
    groups = row.get("answer_groups") or []
    texts = [*(row.get("answers") or []), *(row.get("gold_doc_ids") or [])]
    if not all(isinstance(one, list) for one in groups) or not all(
        isinstance(one, str | int | float) for one in texts
    ):
        raise TypeError("answers and gold_doc_ids hold texts or numbers, answer_groups lists")
    for message in row.get("history") or []:
        if not isinstance(message, dict) or not {"role", "content"} <= message.keys():
            raise TypeError("a message of history has a role and content")


def _lines(path: Path) -> Iterator[str]:
    if not path.is_file():
        raise InvalidInput(
            f"There is no {path.name} in {path.parent}.",
            why="A set is corpus.jsonl (or .jsonl.gz), queries.jsonl and qrels.tsv (or qrels/test.tsv).",
            next_step="Give the folder of a set.",
        )
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8-sig") as file:
            yield from file
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError) as error:
        raise InvalidInput(
            f"{path} cannot be read.",
            why=f"{type(error).__name__}: {error}. It must be UTF-8, packed if its name says so.",
            next_step="Write it anew.",
        ) from error


def files_of(folder: Path) -> tuple[Path, ...]:
    """Those that make the set: documents, questions, judgements."""
    return _corpus_file(folder), folder / "queries.jsonl", _qrels_file(folder)


def _corpus_file(folder: Path) -> Path:
    packed = folder / "corpus.jsonl.gz"
    return packed if packed.exists() else folder / "corpus.jsonl"


def _qrels_file(folder: Path) -> Path:
    plain = folder / "qrels.tsv"
    return plain if plain.exists() else folder / "qrels" / "test.tsv"


def _qrels(path: Path) -> Judgements:
    """Every line with a relevance of 1 or more counts, all the same.

    The first is a header if what it has for a relevance is no number: some have none, and lose nothing.
    """
    relevant: dict[str, set[str]] = {}
    rows = csv.reader(_lines(path), delimiter="\t", quoting=csv.QUOTE_NONE)
    for place, row in enumerate(filter(None, rows)):
        if place == 0 and _is_header(row):
            continue
        query, document, relevance = _judgement(row, rows.line_num, path)
        if relevance >= 1:
            relevant.setdefault(query, set()).add(document)
    return {query: frozenset(documents) for query, documents in relevant.items()}


def _is_header(row: Sequence[str]) -> bool:
    if len(row) < COLUMNS or not row[COLUMNS - 1].strip():
        return False  # cut off, and to be named as such
    try:
        float(row[COLUMNS - 1])
    except ValueError:
        return True
    return False


def _judgement(row: Sequence[str], number: int, path: Path) -> tuple[str, str, float]:
    """Columns after the third are let be."""
    try:
        query, document, relevance = row[:COLUMNS]
        return query, document, float(relevance)
    except ValueError as error:
        raise InvalidInput(
            f"Line {number} of {path} cannot be used.",
            why=f"{error}. A line is query id, document id and a number, with tabs between them.",
            next_step="Correct the line.",
        ) from error
