"""Texts come out with their own characters, whatever encoding they were saved in; what is no text says so."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.corpus.errors import Unreadable
from ingest.corpus.types import Document
from ingest.read.canonical import clean
from ingest.read.detect import media_type_of
from ingest.read.language import language_of
from ingest.read.markdown import read_markdown
from ingest.read.text import read_text

CHINESE = "-- 用户表：保存客户的姓名和电话\nSELECT * FROM users;\n-- 结束，请勿修改本文件"
TRADITIONAL = "維基大典者，網路為礎；集天下知、四海言、眾人志，書百科焉。"
FAMILY = "👩\u200d👩\u200d👧"


def blocks_of(document: Document) -> list[tuple[str, str, str]]:
    return [(block.kind, block.section, document.text[block.start : block.end]) for block in document.blocks]


def code_of(data: bytes, source_name: str = "a.txt") -> str:
    with pytest.raises(Unreadable) as error:
        read_text(data, source_name)
    return error.value.code


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "gb18030"])
def test_chinese_comments_survive_every_encoding(encoding: str) -> None:
    assert read_text(CHINESE.encode(encoding), "a.txt").text == CHINESE


@pytest.mark.parametrize("encoding", ["big5", "utf-16-le", "utf-16-be"])
def test_an_encoding_without_a_mark_is_told_by_frequent_characters(encoding: str) -> None:
    document = read_text(TRADITIONAL.encode(encoding), "a.txt")
    assert document.text == TRADITIONAL
    assert document.warnings[0].endswith("was guessed.")


def test_rare_characters_of_gb18030_survive() -> None:
    text = "设备编号：YS-7731\n生僻字：㐀㐁 𠮷野家 䶮，请保留"
    assert read_text(text.encode("gb18030"), "a.txt").text == text


def test_european_text_is_not_taken_for_chinese() -> None:
    text = "Señor Muñoz pidió café y una caña en la mañana del miércoles, según él."
    assert read_text(text.encode("cp1252"), "a.txt").text == text


OLD = {
    "cp932": "各部署は毎月五日までに精算書を提出してください。",
    "euc_jp": "各部署は毎月五日までに精算書を提出してください。",
    "cp949": "각 부서는 매월 오일까지 정산서를 제출하여야 합니다.",
    "gb18030": "各部门应当在每月五日之前提交报销单据，逾期不予受理。",
    "big5hkscs": "各部門應當在每月五日之前提交報銷單據，逾期不予受理。",
    "cp1251": "Каждый отдел обязан подать отчёт до пятого числа каждого месяца.",
    "koi8_r": "Каждый отдел обязан подать отчёт до пятого числа каждого месяца.",
    "cp1252": "Les notes de frais doivent être déposées avant le 5 ; passé ce délai, refusées à l’arrivée.",
    "cp1256": "يجب على كل قسم تقديم التقرير قبل اليوم الخامس من كل شهر.",
}


@pytest.mark.parametrize("encoding", OLD)
def test_an_old_encoding_is_guessed_right_and_named(encoding: str) -> None:
    document = read_text(OLD[encoding].encode(encoding), "a.txt")
    assert document.text == OLD[encoding]
    assert document.warnings[0] == f"The file does not say its encoding; {encoding} was guessed."


def test_japanese_that_is_all_ascii_is_read() -> None:
    assert read_text(OLD["cp932"].encode("iso2022_jp"), "a.txt").text == OLD["cp932"]


def test_good_lines_of_a_damaged_file_are_kept_with_a_warning() -> None:
    document = read_text(
        "第一行正常文字\n".encode() + b"bad \xff\xfe\x00\n" + "保修期二十四个月".encode(), "a.txt"
    )
    assert document.text == "第一行正常文字\nbad \ufffd\ufffd\n保修期二十四个月"
    assert document.warnings == (
        "2 places are not valid utf-8 and were replaced.",
        "1 control characters were removed.",
        "2 of 20 characters (10.0%) stand for no sign.",
    )


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty"),
        (b" \n\t\n", "empty"),
        (bytes(range(256)) * 4, "garbled"),
        (b"\x01\x00\x00\x00" * 50, "unsupported_type"),
        ("\ue000".encode() * 50, "garbled"),
        (b"\xd6\xd0", "garbled"),
    ],
)
def test_what_is_no_text_ends_with_a_code(data: bytes, code: str) -> None:
    assert code_of(data) == code


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a\r\nb\rc", "a\nb\nc"),
        ("pay\u202etxt.exe\u200b", "paytxt.exe"),
        ("a\x00b\x07c\td", "abc\td"),
        (f"{FAMILY} a\u200db", f"{FAMILY} ab"),
        ("tag\U000e0041\ufeff", "tag"),
        ("ﬁ ① Ａ e\u0301", "ﬁ ① Ａ e\u0301"),
    ],
)
def test_only_signs_that_nobody_sees_are_removed(text: str, cleaned: str) -> None:
    assert clean(text)[0] == cleaned


@settings(deadline=None)  # other work on the machine must not fail a property
@given(st.text(max_size=60))
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    cleaned, _ = clean(text)
    assert clean(cleaned)[0] == cleaned


def test_blank_lines_part_paragraphs_and_the_first_line_is_the_title() -> None:
    document = read_text(b"Release notes\n\n\nFirst one.\nStill one.  \n \nSecond.", "notes.txt")
    assert document.title == "Release notes"
    assert [text for _, _, text in blocks_of(document)] == [
        "Release notes",
        "First one.\nStill one.",
        "Second.",
    ]


def test_markdown_keeps_its_source_and_knows_its_sections() -> None:
    source = (
        "---\ntitle: Travel\n---\n# Rules\nOne.<!-- hidden -->\n\n"
        "## Trains\n\n- a\n- b\n\n| x |\n|---|\n| 1 |\n\n```\n# code\n```\n"
    )
    document = read_markdown(source.encode(), "a.md")
    assert document.title == "Travel"
    assert "hidden" not in document.text
    assert blocks_of(document) == [
        ("paragraph", "", "---\ntitle: Travel\n---"),
        ("heading", "Rules", "# Rules"),
        ("paragraph", "Rules", "One."),
        ("heading", "Rules > Trains", "## Trains"),
        ("list", "Rules > Trains", "- a\n- b"),
        ("table", "Rules > Trains", "| x |\n|---|\n| 1 |"),
        ("code", "Rules > Trains", "```\n# code\n```"),
    ]


@pytest.mark.parametrize("source_name", ["员工手册.md", "../../员工手册.md", "C:\\docs\\员工手册.md"])
def test_without_title_or_heading_the_file_name_is_the_title(source_name: str) -> None:
    assert read_markdown(b"plain words", source_name).title == "员工手册"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (
            "The committee met in the spring and it agreed on the budget of the year that had been proposed.",
            "en",
        ),
        ("Release 2.4", "en"),
        ("员工在转正之后享有十天年假，须提前申请。API 见 README。", "zh"),
        ("員工在轉正之後享有十天年假，須提前申請，這是規定。", "zh-Hant"),
        ("社員は入社後に十日の有給休暇を取得することができます。", "und"),
        (
            "Der Ausschuss traf sich im Frühjahr und beschloss den Haushalt, der zuvor vorlag.",
            "und",
        ),
        ("12345 --- 67", "und"),
    ],
)
def test_the_language_is_told_by_script_and_frequent_words(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("data", "source_name", "media_type"),
    [
        (b"%PDF-1.7 ...", "a.txt", "application/pdf"),
        (b"words", "README", "text/plain"),
        (b"words", "A.MD", "text/markdown"),
        (b"\n<!DOCTYPE html><p>x", "a.txt", "text/html"),
        (b"\x89PNG\r\n", "scan", "image/png"),
        (b"PK\x03\x04rest", "files", "application/zip"),
        (b"BMW stands for a maker of cars", "a.txt", "text/plain"),
    ],
)
def test_bytes_say_what_a_file_is_before_its_name(data: bytes, source_name: str, media_type: str) -> None:
    assert media_type_of(data, source_name) == media_type


@pytest.mark.parametrize(
    ("data", "source_name", "code"),
    [
        (b"", "a.pdf", "empty"),
        (b"\x89PNG\r\n", "a.pdf", "unsupported_type"),
        (b"PK\x03\x04rest", "a.xlsb", "unsupported_type"),
        (b"PK\x03\x04rest", "a.docx", "corrupt_document"),
        (b"a,b\n1,2", "a.sqlite", "unsupported_type"),
        (b"\x89PNG\r\n", "a.txt", "unsupported_type"),
        (b"words", "a.pdf", "corrupt_document"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a.doc", "unsupported_type"),
    ],
)
def test_a_kind_that_is_not_read_ends_with_a_code(data: bytes, source_name: str, code: str) -> None:
    with pytest.raises(Unreadable) as error:
        media_type_of(data, source_name)
    assert error.value.code == code


ADDRESS = f"https://example.com/docs?token={'eyJhbGciOi' * 30}&page=2&lang=zh{'&tag=a-b_c' * 9}"  # 447 signs


@pytest.mark.parametrize(
    "wall", ["7" * 640, "SGVsbG8r/A" * 40, "a=1;" * 300], ids=["digits", "base64", "dump"]
)
@pytest.mark.parametrize("around", ["The warranty lasts {} months.", "保修期为{}个月。"], ids=["en", "zh"])
def test_a_wall_of_signs_is_kept_and_warned_of(around: str, wall: str) -> None:
    document = read_text(around.format(wall).encode(), "a.txt")
    assert document.text == around.format(wall)
    [warning] = document.warnings
    assert f"the longest of {len(wall):,} signs" in warning
    assert "without a blank: 1, " in warning


def test_long_lines_of_words_are_no_wall() -> None:
    for text in ("word " * 1000, "产品自交付之日起享有两年保修" * 200, ADDRESS, ADDRESS * 2, "=" * 500):
        assert read_text(text.encode(), "a.txt").warnings == ()
