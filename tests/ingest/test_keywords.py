from __future__ import annotations

import pytest

from ingest.corpus.keywords import words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PRD-2041", ["prd-2041", "prd", "2041"]),
        ("v2.1", ["v2.1", "v2", "1"]),
        ("emp_0001", ["emp_0001", "emp", "0001"]),
        ("Ana.Li@Acme.example", ["ana.li@acme.example", "ana", "li", "acme", "example"]),
        ("FY2023", ["fy2023"]),
        ("well-known", ["well", "known"]),
        ("ＦＹ２０２３　Ｑ４", ["fy2023", "q4"]),
        ("Straße", ["strasse"]),
        ("故乡", ["故乡"]),
        ("故鄉", ["故乡"]),
        ("GitHub备份脚本上传失败", ["github", "备份", "脚本", "上传", "失败"]),
        ("、。!? \n", []),
        ("", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_a_word_that_no_dictionary_has_is_found_inside_a_sentence() -> None:
    assert "年假" in words("年假")
    assert "年假" in words("员工的年假为12天")


def test_a_long_word_is_found_by_its_parts() -> None:
    assert {"人工", "智能", "人工智能"} <= set(words("人工智能"))


def test_words_repeat_as_often_as_they_occur() -> None:
    assert words("the cat, the dog").count("the") == 2
