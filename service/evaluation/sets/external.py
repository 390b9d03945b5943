"""Sets of others, read from a folder, in the form of our own: what they say of answers is all that is scored.

The layouts are those of `beir`; a question of which nothing is said is left out. Of a question `answers`
(alternatives), `answer_groups`, `answerable`, `gold_doc_id` or `gold_doc_ids`, `history` and `slice` are
read where they are there; the rest is taken from the judgements. One person asks everything and may read
everything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ingest.corpus.types import AccessList
from service.evaluation.sets.answerable import ASKED_BACK, FALSE_ON_PURPOSE
from service.evaluation.sets.beir import (
    Judgements,
    SetDocument,
    SetQuestion,
    files_of,
    question_of,
    read_judgements,
    read_rows,
    read_true_documents,
)
from service.evaluation.sets.cases import Case, CaseDocument, CaseSet, CaseUser, Kind, Quote
from service.evaluation.sets.released import is_released, read_case_set
from service.follow_up import understood
from service.question import language_of
from service.types import Question

ASKER = CaseUser("evaluator", "Evaluator", "reader", ())
LONGEST_ANSWER = 80  # characters; whether a longer one is given cannot be told by looking for it


def read_cases(folder: Path) -> CaseSet:
    """A released set of ours, or one of others.

    :raises InvalidInput: as `read_case_set` and `read_external`.
    """
    return read_case_set(folder) if is_released(folder) else read_external(folder)


def read_external(folder: Path) -> CaseSet:
    """:raises InvalidInput: if a file is missing or a line cannot be used, naming both."""
    documents = read_true_documents(folder)
    names = {one.id: f"{one.id}.txt" for one in documents}
    relevant = read_judgements(folder)
    rows = [row for row in read_rows(folder / "queries.jsonl") if _can_be_scored(row, relevant)]
    return CaseSet(
        name=folder.resolve().name,
        version="external",
        sha256=_hash(folder),
        what="A set of others, as its folder has it.",
        licence="As its folder says.",
        access=AccessList(frozenset({"everyone"}), frozenset()),
        groups=(),
        users=(ASKER,),
        documents=tuple(_document(one, names[one.id]) for one in documents),
        cases=tuple(_case(row, relevant, names) for row in rows),
    )


def _can_be_scored(row: Mapping[str, Any], relevant: Judgements) -> bool:
    """Whether the set says anything of what must come of it; BEIR's questions may be of another split."""
    told = any(row.get(name) for name in ("answers", "answer_groups", "gold_doc_id", "gold_doc_ids"))
    judged = told or row.get("answerable") is False or question_of(row).id in relevant
    return judged and row.get("slice") not in (ASKED_BACK, FALSE_ON_PURPOSE)


def _document(one: SetDocument, name: str) -> CaseDocument:
    text = f"{one.title}\n\n{one.text}" if one.title else one.text
    return CaseDocument(name, one.title, one.language[:2], "external", None, text.encode())


def _case(row: Mapping[str, Any], relevant: Judgements, names: Mapping[str, str]) -> Case:
    one = question_of(row)
    answerable = row.get("answerable") is not False
    evidence = _evidence(row, relevant.get(one.id, frozenset()), names) if answerable else ()
    return Case(
        id=one.id,
        question=one.text,
        language=language_of(one.text),
        domain=str(row.get("slice") or "all"),
        kind=_kind(row, len(evidence)),
        risk="low",
        difficulty="medium",
        asker=ASKER.id,
        outcome="answered" if answerable else "refused",
        evidence=evidence,
        answers=_answers(row),
        must_contain=_musts(row),
        standalone=_standalone(one),
    )


def _kind(row: Mapping[str, Any], places: int) -> Kind:
    if row.get("answerable") is False:
        return "unanswerable" if row.get("slice") == "out_of_corpus" else "near_miss"
    if row.get("history"):
        return "follow_up"
    return "multi_document" if places > 1 else "single_fact"


def _evidence(
    row: Mapping[str, Any], relevant: Iterable[str], names: Mapping[str, str]
) -> tuple[tuple[Quote, ...], ...]:
    """Each of several documents named as gold is needed; of those that are only relevant one is enough."""
    gold = [one for one in row.get("gold_doc_ids") or () if one in names]
    if gold:
        return tuple((Quote(names[one], ""),) for one in gold)
    enough = tuple(Quote(names[one], "") for one in sorted(relevant) if one in names)
    return (enough,) if enough else ()


def _answers(row: Mapping[str, Any]) -> tuple[str, ...]:
    """None where the groups say more, and none that is too long to be looked for."""
    if row.get("answer_groups"):
        return ()
    answers = tuple(str(one) for one in row.get("answers") or ())
    return answers if all(len(one) <= LONGEST_ANSWER for one in answers) else ()


def _musts(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Of groups of alternatives those that have one only: every one of them must be said."""
    return tuple(str(one[0]) for one in row.get("answer_groups") or () if len(one) == 1)


def _standalone(one: SetQuestion) -> str | None:
    asked = Question(one.text, language_of(one.text), turns=one.turns)
    return understood(asked).text if one.turns else None


def _hash(folder: Path) -> str:
    files = (one.read_bytes() for one in files_of(folder))
    return hashlib.sha256(b"".join(hashlib.sha256(one).digest() for one in files)).hexdigest()
