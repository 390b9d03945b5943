"""Sets are read in both layouts, and their slices are those that figures are reported for."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from ingest.corpus.errors import InvalidInput
from service.evaluation.sets.beir import Slice, read_set

DOCUMENTS = (
    {"doc_id": "d-en", "title": "Leave", "text": "Annual leave is 25 days.", "lang": "en"},
    {"doc_id": "d-zh", "title": "年假", "text": "年假为25天。", "lang": "zh"},
)
QUESTIONS = (
    {"query_id": "q-en", "question": "How long is annual leave?", "lang": "en"},
    {"query_id": "q-zh", "question": "年假有几天？", "lang": "zh"},
    {"query_id": "q-none", "question": "Who owns the moon?", "lang": "en"},
)
QRELS = (
    ("q-en", "d-en", 2),
    ("q-en", "d-zh", 1),
    ("q-zh", "d-zh", 2),
    ("q-zh", "d-en", 1),
    ("q-none", "d-en", 0),
)


def write_rows(path: Path, rows: Iterable[Mapping[str, str]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def write_qrels(path: Path, lines: Iterable[tuple[str, str, int]]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        "query_id\tdoc_id\trelevance\n" + "".join(f"{q}\t{d}\t{r}\n" for q, d, r in lines), "utf-8"
    )


def write_set(folder: Path) -> Path:
    folder.mkdir()
    write_rows(folder / "corpus.jsonl", DOCUMENTS)
    write_rows(folder / "queries.jsonl", QUESTIONS)
    write_qrels(folder / "qrels.tsv", QRELS)
    return folder


def slices_of(folder: Path) -> dict[str, Slice]:
    return {one.name: one for one in read_set(folder).slices}


def test_a_slice_is_the_language_of_the_questions_over_all_documents(tmp_path: Path) -> None:
    found = slices_of(write_set(tmp_path / "leave"))
    assert set(found) == {"en", "zh"}
    assert [one.id for one in found["zh"].documents] == ["d-en", "d-zh"]
    assert found["zh"].relevant == {"q-zh": frozenset({"d-zh", "d-en"})}


def test_questions_without_a_relevant_document_are_counted_and_left_out(tmp_path: Path) -> None:
    english = slices_of(write_set(tmp_path / "leave"))["en"]
    assert [one.id for one in english.questions] == ["q-en"]
    assert english.without_qrels == 1


def test_translations_are_also_asked_across_languages_with_one_language_indexed(tmp_path: Path) -> None:
    across = slices_of(write_set(tmp_path / "xquad"))["zh-en"]
    assert [one.id for one in across.documents] == ["d-en"]
    assert across.relevant == {"q-zh": frozenset({"d-en"})}


def test_policy_questions_are_slices_of_their_own_beside_the_records(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "enterprise")
    write_rows(folder / "policy_queries.jsonl", QUESTIONS[:2])
    write_qrels(folder / "policy_qrels.tsv", QRELS)
    found = slices_of(folder)
    assert set(found) == {"records", "policy-en", "policy-zh"}
    assert len(found["records"].questions) == 2


def test_a_beir_folder_works_without_languages(tmp_path: Path) -> None:
    folder = tmp_path / "beir"
    folder.mkdir()
    with gzip.open(folder / "corpus.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(json.dumps({"_id": "d1", "title": "", "text": "年假为25天，病假另计。"}) + "\n")
    write_rows(folder / "queries.jsonl", [{"_id": "q1", "text": "年假有几天？"}])
    write_qrels(folder / "qrels" / "test.tsv", [("q1", "d1", 1)])
    found = slices_of(folder)["zh"]
    assert found.relevant == {"q1": frozenset({"d1"})}
    assert found.documents[0].language == "zh"


def test_a_folder_that_is_no_set_is_refused_with_what_a_set_is(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"no corpus\.jsonl .* A set is corpus\.jsonl"):
        read_set(tmp_path)


@pytest.mark.parametrize("line", ["q-en d-en 1", "q-en\td-en", "q-en\td-en\tyes", "q-en"])
def test_a_judgement_that_cannot_be_used_is_named(tmp_path: Path, line: str) -> None:
    folder = write_set(tmp_path / "leave")
    with (folder / "qrels.tsv").open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    with pytest.raises(InvalidInput, match=r"Line 8 of .*qrels\.tsv") as caught:
        read_set(folder)
    assert "tabs" in caught.value.why


@pytest.mark.parametrize(
    "before",
    ["", "\n", "query-id\tcorpus-id\tscore\n", "\nq\td\trelevance\tby whom\n", "\ufeff"],
    ids=["no header", "a blank line", "BEIR's header", "a blank line and a header", "a mark of byte order"],
)
def test_a_header_is_known_by_what_it_says_and_no_judgement_is_lost(tmp_path: Path, before: str) -> None:
    folder = write_set(tmp_path / "leave")
    lines = "".join(f"{query}\t{document}\t{grade}\n" for query, document, grade in QRELS)
    (folder / "qrels.tsv").write_text(before + lines, "utf-8")
    assert slices_of(folder)["en"].relevant == {"q-en": frozenset({"d-en", "d-zh"})}


@pytest.mark.parametrize("line", ["q-en d-en 1", "q-en\td-en", "q-en\td-en\t", "q-en\td-en\t "])
def test_a_first_judgement_that_is_cut_off_is_no_header(tmp_path: Path, line: str) -> None:
    folder = write_set(tmp_path / "leave")
    (folder / "qrels.tsv").write_text(f"{line}\nq-zh\td-zh\t1\n", "utf-8")
    with pytest.raises(InvalidInput, match=r"Line 1 of .*qrels\.tsv"):
        read_set(folder)


@pytest.mark.parametrize("line", ["{", "[]", '{"doc_id": "d"}', '{"text": "no id"}'])
def test_a_line_that_cannot_be_used_is_named(tmp_path: Path, line: str) -> None:
    folder = write_set(tmp_path / "leave")
    with (folder / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    with pytest.raises(InvalidInput, match=r"Line 3 of .*corpus\.jsonl"):
        read_set(folder)


def test_questions_with_turns_before_them_are_asked_as_they_stand_and_within_their_conversation(
    tmp_path: Path,
) -> None:
    history = [{"role": "user", "content": "Where is it?"}, {"role": "assistant", "content": "There."}]
    queries = [
        {"query_id": "q1", "question": "And when?", "lang": "en", "history": history},
        {"query_id": "q2", "question": "Which desk is it?", "lang": "en", "history": []},
    ]
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"doc_id": "d1", "title": "", "text": "A desk."}))
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (tmp_path / "qrels.tsv").write_text("query_id\tdoc_id\trelevance\nq1\td1\t1\nq2\td1\t1\n")
    alone, within = read_set(tmp_path).slices
    assert (alone.name, [one.turns for one in alone.questions]) == ("en", [(), ()])
    assert (within.name, [len(one.turns) for one in within.questions]) == ("conversation-en", [1, 0])
