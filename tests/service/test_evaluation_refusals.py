from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingest.corpus.errors import InvalidInput
from service.evaluation.refusals import Decision, evaluate_refusals, is_reported, refusal_rows
from service.evaluation.sets.answerable import Asked, Kind, read_answerable
from service.settings import ServiceSettings
from tests.fakes import HashEmbedder


def unwatched(_doing: str, _done: int, _of: int) -> None:
    """Nobody watches."""


def write(folder: Path, corpus: list[dict[str, Any]], queries: list[dict[str, Any]]) -> Path:
    folder.mkdir()
    for name, rows in (("corpus", corpus), ("queries", queries)):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


def document(name: str, text: str, **more: Any) -> dict[str, Any]:
    return {"doc_id": name, "title": "", "text": text, "lang": "en", **more}


def query(name: str, text: str, answerable: bool, **more: Any) -> dict[str, Any]:
    return {"query_id": name, "question": text, "lang": "en", "answerable": answerable, **more}


CORPUS = [
    document("parking", "A parking permit costs 40 EUR per month. It is sold at the front desk."),
    document("canteen", "The canteen serves lunch from 12 to 14 o'clock on every working day."),
    document("lie", "A parking permit costs 90 EUR per month.", counterfactual=True),
]
QUERIES = [
    query("q1", "What does a parking permit cost per month?", True, positive_ids=["parking"]),
    query("q2", "Who painted the ceiling of the chapel?", False, slice="out_of_corpus"),
    query("q3", "What does a bicycle permit cost?", False, near_miss_doc_id="parking"),
    query("q4", "What about it?", False, slice="underspecified"),
    query("q5", "What does it cost?", True, slice="counterfactual"),
    query("q6", "When is lunch?", True, positive_ids=["canteen"], negative_ids=["parking", "canteen"]),
]


def test_each_question_has_its_kind_and_what_is_false_on_purpose_is_left_out(tmp_path: Path) -> None:
    whole, noise = read_answerable(write(tmp_path / "few", CORPUS, QUERIES))
    assert [one.id for one in whole.documents] == ["parking", "canteen"]
    kinds = {one.id: one.unanswerable for one in whole.questions}
    assert kinds == {"q1": None, "q2": "out_of_corpus", "q3": "near_miss", "q6": None}
    assert [one.id for one in noise.documents] == ["parking"]  # the canteen answers one of the questions
    assert [(one.id, one.unanswerable) for one in noise.questions] == [("q6", "noise")]


def test_turns_before_a_question_are_read_in_pairs(tmp_path: Path) -> None:
    history = [
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "Where are permits sold?"},
        {"role": "user", "content": "Where are parking permits sold?"},
        {"role": "assistant", "content": "At the desk."},
        {"role": "user", "content": "Thanks"},
    ]
    queries = [query("q1", "And when?", True, history=history)]
    [one] = read_answerable(write(tmp_path / "few", CORPUS, queries))
    [turn] = one.questions[0].before
    assert (turn.question, turn.said) == ("Where are parking permits sold?", "At the desk.")


def test_a_set_that_says_nothing_of_answers_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "few", CORPUS, [{"query_id": "q", "question": "Why?"}])
    with pytest.raises(InvalidInput, match="answerable"):
        read_answerable(folder)


def decided(language: str, kind: Kind | None, *refused: bool) -> list[Decision]:
    return [Decision(Asked(str(n), "Why?", language, kind), one, False) for n, one in enumerate(refused)]


def test_each_language_and_kind_has_a_row_beside_the_answerable_ones_of_its_language() -> None:
    decisions = [
        *decided("en", "out_of_corpus", True, True, False, True),
        *decided("en", "near_miss", True, False),
        *decided("en", None, False, False, True, False, False),
        *decided("zh", "noise", True),
    ]
    rows = [
        (row.lang, row.kind, row.unanswerable, row.refused_rate, row.answerable, row.over_refusal_rate)
        for row in refusal_rows("few", decisions)
    ]
    assert rows == [
        ("en", "out_of_corpus", 4, 0.75, 5, 0.2),
        ("en", "near_miss", 2, 0.5, 5, 0.2),
        ("zh", "noise", 1, 1.0, 0, None),
    ]


def test_questions_that_set_a_threshold_are_in_no_figure() -> None:
    asked = [Asked(f"q{number}", "Why?", "en", None) for number in range(200)]
    kept = [one for one in asked if is_reported("xquad", one)]
    assert 60 < len(kept) < 140
    assert all(is_reported("another", one) for one in asked)


def test_questions_go_the_whole_way(tmp_path: Path) -> None:
    sets = read_answerable(write(tmp_path / "few", CORPUS, QUERIES))
    settings = ServiceSettings()
    settings = replace(settings, corpus=replace(settings.corpus, home=tmp_path / "home"))
    rows, versions = evaluate_refusals(sets, settings, HashEmbedder(), unwatched)
    assert [(row.kind, row.unanswerable, row.answerable) for row in rows] == [
        ("out_of_corpus", 1, 2),
        ("near_miss", 1, 2),
        ("noise", 1, 2),
    ]
    assert versions["embedder"].startswith("hash")
