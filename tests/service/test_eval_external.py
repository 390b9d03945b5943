from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from service.checking.judge import LexicalSemanticJudge
from service.evaluation.asking.run import run_set
from service.evaluation.scoring.sheet import score_run
from service.evaluation.sets.cases import Case, Quote
from service.evaluation.sets.external import read_cases
from service.settings import ServiceSettings
from tests.fakes import HashEmbedder

CORPUS = [
    {"_id": "d1", "title": "Parking", "text": "A parking permit costs 40 EUR per month."},
    {"_id": "d2", "title": "", "text": "食堂午餐时间为12点至14点。"},
    {"_id": "d3", "title": "", "text": "A parking permit costs 90 EUR.", "counterfactual": True},
]
LONG = "It costs as much as is written in the rules of the house, " * 3


def write(folder: Path, queries: list[dict[str, Any]], qrels: str) -> Path:
    (folder / "qrels").mkdir(parents=True)
    (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{qrels}")
    for name, rows in (("corpus", CORPUS), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return folder


def cases(folder: Path, *queries: dict[str, Any], qrels: str = "") -> tuple[Case, ...]:
    return read_cases(write(folder, list(queries), qrels)).cases


def test_a_beir_folder_is_a_set_of_which_only_documents_are_known(tmp_path: Path) -> None:
    query = {"_id": "q1", "text": "What is a permit?"}
    [case] = cases(tmp_path / "few", query, qrels="q1\td1\t1\nq1\td2\t0\n")
    assert (case.outcome, case.answers, case.kind) == ("answered", (), "single_fact")
    assert case.evidence == ((Quote("d1.txt", ""),),)


def test_what_a_set_says_of_answers_is_read(tmp_path: Path) -> None:
    few, refused, long, groups = cases(
        tmp_path / "few",
        {"query_id": "q1", "question": "?", "answers": ["40 EUR", "EUR 40"], "gold_doc_ids": ["d1", "d2"]},
        {"query_id": "q2", "question": "谁？", "answerable": False, "slice": "out_of_corpus"},
        {"query_id": "q3", "question": "Why?", "answers": [LONG]},
        {"query_id": "q4", "question": "When?", "answer_groups": [["12"], ["14", "two"]]},
        {"query_id": "q5", "question": "Which?", "slice": "underspecified"},
    )
    assert (few.answers, few.kind, len(few.evidence)) == (("40 EUR", "EUR 40"), "multi_document", 2)
    assert (refused.outcome, refused.kind, refused.language) == ("refused", "unanswerable", "zh")
    assert long.answers == ()
    assert (groups.must_contain, groups.answers) == (("12",), ())


def test_a_question_with_turns_before_it_is_asked_by_itself(tmp_path: Path) -> None:
    history = [
        {"role": "user", "content": "Where are parking permits sold?"},
        {"role": "assistant", "content": "At the desk."},
    ]
    query = {"query_id": "q1", "question": "And what do they cost?", "history": history}
    [case] = cases(tmp_path / "few", query)
    assert case.standalone == "Where are parking permits sold? And what do they cost?"


def test_a_set_of_others_is_asked_and_scored_like_ours(tmp_path: Path) -> None:
    question = "What does a parking permit cost per month?"
    query = {"query_id": "q1", "question": question, "answers": ["40 EUR"]}
    one = read_cases(write(tmp_path / "few", [query], "q1\td1\t1\n"))
    settings = ServiceSettings()
    settings = replace(settings, corpus=replace(settings.corpus, home=tmp_path / "home"))
    found = run_set(one, settings, HashEmbedder(), lambda *_: None)
    assert [attempt.case_id for attempt in found.attempts] == ["q1"]
    sheet = score_run(found, one, LexicalSemanticJudge(HashEmbedder()))
    assert sheet.scores["q1"]["mrr@10"] == 1
