from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingest.corpus.errors import InvalidInput
from service.checking.judge import LexicalSemanticJudge
from service.evaluation.asking.run import run_set
from service.evaluation.scoring.sheet import Sheet, of_these, read_sheet, score_run
from service.evaluation.sets.cases import Case, Quote
from service.evaluation.sets.external import read_cases
from service.settings import ServiceSettings
from tests.fakes import HashEmbedder
from tests.service.test_cli_commands import command_line

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
    [case] = cases(tmp_path / "few", query, qrels="q1\td1\t1\n")
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


def test_a_question_of_which_nothing_is_said_is_left_out(tmp_path: Path) -> None:
    """As those of BEIR that are of another split."""
    asked = [{"_id": f"q{number}", "text": "What?"} for number in range(3)]
    assert [one.id for one in cases(tmp_path / "few", *asked, qrels="q1\td1\t1\nq2\td1\t0\n")] == ["q1"]


def test_the_hash_is_of_what_is_read_and_of_nothing_else(tmp_path: Path) -> None:
    folder = write(tmp_path / "few", [{"_id": "q1", "text": "What?"}], "q1\td1\t1\n")
    before = read_cases(folder).sha256
    (folder / "scores.jsonl").write_text("{}", "utf-8")
    assert read_cases(folder).sha256 == before
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td2\t1\n", "utf-8")
    assert read_cases(folder).sha256 != before


BAD_LINES: dict[str, bytes] = {
    "no JSON": b"{",
    "no object": b"5",
    "no text": b'{"_id": "q"}',
    "a text that is none": b'{"_id": "q", "text": 5}',
    "a question that is none": b'{"_id": "q", "question": null}',
    "answers that are one": b'{"_id": "q", "text": "a", "answers": "25 days"}',
    "answers in lists": b'{"_id": "q", "text": "a", "answers": [["25 days"]]}',
    "groups that are none": b'{"_id": "q", "text": "a", "answer_groups": [5]}',
    "true in words": b'{"_id": "q", "text": "a", "answerable": "false"}',
    "a language that is none": b'{"_id": "q", "text": "a", "lang": 5}',
    "a history that is none": b'{"_id": "q", "text": "a", "history": [{"foo": 1}]}',
    "an id given twice": b'{"_id": "q", "text": "a"}\n{"_id": "q", "text": "b"}',
    "Latin-1": b'{"_id": "q", "text": "caf\xe9"}',
    "UTF-16": '{"_id": "q", "text": "a"}'.encode("utf-16"),
    "half a character in a text": rb'{"_id": "q", "text": "caf\ud800"}',
    "half a character in a title": rb'{"_id": "q", "text": "a", "title": "\uDC00 first"}',
    "half a character in an id": rb'{"_id": "q\ud83d", "text": "a"}',
    "half a character in an answer": rb'{"_id": "q", "text": "a", "answers": ["25 \udfff"]}',
    "half a character in a name": rb'{"_id": "q", "text": "a", "\ud800": 1}',
    "a nest": b'{"_id": "q", "text": "a", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
}


@pytest.mark.parametrize("line", BAD_LINES.values(), ids=BAD_LINES.keys())
@pytest.mark.parametrize("name", ["queries.jsonl", "corpus.jsonl"])
def test_a_line_that_cannot_be_meant_is_named_with_its_file(tmp_path: Path, name: str, line: bytes) -> None:
    folder = write(tmp_path / "few", [{"_id": "q1", "text": "What?"}], "q1\td1\t1\n")
    (folder / name).write_bytes(line)
    with pytest.raises(InvalidInput, match=name):
        read_cases(folder)


def test_half_a_character_is_named_with_its_line_and_what_to_do(tmp_path: Path) -> None:
    folder = write(tmp_path / "few", [{"_id": "q1", "text": "What?"}], "q1\td1\t1\n")
    with (folder / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write('\n{"_id": "d9", "text": "A smile: \\ud83d"}\n')
    ended = command_line(tmp_path / "home")("eval", "run", str(folder))
    assert ended.code == 2
    told = " ".join(ended.err.split())
    assert f"Line 4 of {folder / 'corpus.jsonl'} cannot be used." in told
    assert "\\ud83d is half a character. Write the other half too, or leave it out." in told


def test_both_halves_of_a_character_are_one(tmp_path: Path) -> None:
    [case] = cases(tmp_path / "few", {"_id": "q1", "text": "What is \U0001f600?", "answers": ["a smile"]})
    assert "\\ud83d\\ude00" in (tmp_path / "few" / "queries.jsonl").read_text("utf-8")
    assert case.question == "What is \U0001f600?"


def test_a_byte_order_mark_and_windows_ends_of_lines_are_harmless(tmp_path: Path) -> None:
    folder = write(tmp_path / "few", [{"_id": "q1", "text": "What?"}], "q1\td1\t1\n")
    for path in (folder / "queries.jsonl", folder / "corpus.jsonl", folder / "qrels" / "test.tsv"):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    (case,) = read_cases(folder).cases
    assert case.evidence == ((Quote("d1.txt", ""),),)


@pytest.mark.parametrize("content", [b"no gzip", gzip.compress(b'{"_id": "d1", "text": "a"}' * 900)[:-9]])
def test_a_damaged_gzip_is_named(tmp_path: Path, content: bytes) -> None:
    folder = write(tmp_path / "few", [{"_id": "q1", "text": "What?"}], "q1\td1\t1\n")
    (folder / "corpus.jsonl.gz").write_bytes(content)
    with pytest.raises(InvalidInput, match=r"corpus\.jsonl\.gz"):
        read_cases(folder)


def test_an_empty_document_stops_nothing(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "few", [{"_id": "q1", "text": "What is a permit?", "answers": ["40 EUR"]}], "q1\td1\t1\n"
    )
    with (folder / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write('\n{"_id": "d9", "title": "", "text": " "}\n')
    run = run_set(read_cases(folder), ServiceSettings(), HashEmbedder(), lambda *_: None)
    assert run.texts["d9.txt"] == ""
    assert len(run.attempts) == 1


@pytest.mark.parametrize("value", ["NaN", "7", "-1", '"x"', "Infinity"])
def test_scores_that_are_none_are_refused(tmp_path: Path, value: str) -> None:
    """A gate would take what is no number for no worse."""
    head = '{"set": "s", "set_sha256": "0", "generator": "quoting", "versions": {}}'
    (tmp_path / "scores.jsonl").write_text(f'{head}\n{{"q": {{"right": {value}}}}}\n', "utf-8")
    with pytest.raises(InvalidInput, match=r"scores\.jsonl"):
        read_sheet(tmp_path / "scores.jsonl")


def test_scores_of_another_set_are_no_baseline(tmp_path: Path) -> None:
    folder = write(tmp_path / "few", [{"_id": "q1", "text": "What?"}], "q1\td1\t1\n")
    with pytest.raises(InvalidInput, match="not of this few external"):
        of_these(Sheet("other v1", "0" * 64, "quoting", {}, {"q1": {"right": 1.0}}), read_cases(folder))
