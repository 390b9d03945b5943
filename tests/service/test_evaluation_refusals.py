from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingest.corpus.errors import InvalidInput
from service.answerable import read_answerability, written
from service.evaluation.answerability import fit_answerability
from service.evaluation.refusals import (
    Decision,
    evaluate_refusals,
    fitted_on,
    is_fitting,
    refusal_rows,
    risk_coverage,
)
from service.evaluation.report.refusal_page import refusal_page
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
    return [Decision(Asked(str(n), "Why?", language, kind), one, False, 0.5) for n, one in enumerate(refused)]


def test_each_language_and_kind_has_a_row_beside_the_answerable_ones_of_its_language() -> None:
    decisions = [
        *decided("en", "out_of_corpus", True, True, False, True),
        *decided("en", "near_miss", True, False),
        *decided("en", None, False, False, True, False, False),
        *decided("zh", "noise", True),
    ]
    rows = [
        (row.lang, row.kind, row.unanswerable, row.refused_rate, row.answerable, row.over_refusal_rate)
        for row in refusal_rows("few", decisions, "nothing")
    ]
    assert rows == [
        ("en", "out_of_corpus", 4, 0.75, 5, 0.2),
        ("en", "near_miss", 2, 0.5, 5, 0.2),
        ("zh", "noise", 1, 1.0, 0, None),
    ]


def test_questions_that_something_was_fitted_on_are_about_half_and_what_is_reported_is_said() -> None:
    asked = [Asked(f"q{number}", "Why?", "en", None) for number in range(200)]
    assert 60 < sum(map(is_fitting, asked)) < 140
    assert "the other half of this set" in fitted_on("xquad", ["clapnq", "xquad"])
    assert "this set was not seen" in fitted_on("another", ["clapnq", "xquad"])


def test_risk_and_coverage_at_each_probability() -> None:
    def sure(kind: Kind | None, *answerable: float) -> list[Decision]:
        return [Decision(Asked("q", "Why?", "en", kind), False, False, one) for one in answerable]

    decisions = [*sure(None, 0.9, 0.8, 0.4, 0.2), *sure("near_miss", 0.8, 0.1)]
    assert risk_coverage(decisions) == ((0.25, 0), (0.5, 0.5), (0.75, 0.5), (1.0, 0.5), (1.0, 1.0))
    assert risk_coverage(sure(None, 0.9)) == ()


def test_translations_are_asked_across_languages(tmp_path: Path) -> None:
    corpus = [document("en", "A permit costs 40 EUR."), document("zh", "许可证40欧元。") | {"lang": "zh"}]
    queries = [
        query("q1", "What does a permit cost?", True),
        query("q2", "许可证多少钱？", True) | {"lang": "zh"},
    ]
    _, zh_en, en_zh = read_answerable(write(tmp_path / "xquad", corpus, queries))
    assert [(one.id, one.language) for one in zh_en.questions] == [("q2", "zh-en")]
    assert [one.id for one in zh_en.documents] == ["en"]
    assert [(one.id, one.language) for one in en_zh.questions] == [("q1", "en-zh")]
    assert [one.id for one in en_zh.documents] == ["zh"]


def test_questions_go_the_whole_way(tmp_path: Path) -> None:
    sets = read_answerable(write(tmp_path / "few", CORPUS, QUERIES))
    settings = ServiceSettings()
    settings = replace(settings, corpus=replace(settings.corpus, home=tmp_path / "home"))
    refusals = evaluate_refusals(sets, settings, HashEmbedder(), unwatched)
    assert [(row.kind, row.unanswerable, row.answerable) for row in refusals.rows] == [
        ("out_of_corpus", 1, 2),
        ("near_miss", 1, 2),
        ("noise", 1, 2),
    ]
    assert refusals.versions["embedder"].startswith("hash")
    assert refusals.versions["sufficiency"].startswith("answerable-")
    page = refusal_page(refusals)
    assert "<svg" in page
    assert "near_miss" in page


def test_weights_are_fitted_on_the_fitting_half_alone(tmp_path: Path) -> None:
    """Answerable questions use the words of the documents; in the other half all labels are turned around."""
    queries = []
    for number in range(60):
        one = query(f"q{number}", "", True)
        half = is_fitting(Asked(one["query_id"], "", "en", None))
        answered = number % 2 == 0
        words = "What does a parking permit cost per month?" if answered == half else "Who painted chapels?"
        queries.append(one | {"question": words, "answerable": answered})
    sets = read_answerable(write(tmp_path / "many", CORPUS, queries))
    settings = ServiceSettings()
    settings = replace(settings, corpus=replace(settings.corpus, home=tmp_path / "home"))
    fitted = fit_answerability(sets, settings, HashEmbedder(), "answerable-test", unwatched)
    own = fitted.fitted["own-en"]
    assert own.sets == ("many",)
    assert all(weight > 0 for weight in own.weights.values())
    assert read_answerability(written(fitted)) == fitted
