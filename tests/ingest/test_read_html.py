"""HTML gives what a reader would see, in order, and nothing that is hidden."""

from __future__ import annotations

import time

import pytest

from ingest.corpus.errors import Unreadable
from ingest.read.html import read_html


def text_of(body: str) -> str:
    return read_html(f"<html><body>{body}</body></html>".encode(), "a.html").text


def test_blocks_come_in_order_with_their_sections() -> None:
    document = read_html(
        b"<title>Rules &amp; notes</title><h1>Leave <i>rules</i></h1><p>Ten\n days.<h2>Sick</h2>"
        b"<ul><li>Call<li>Rest</ul>",
        "a.html",
    )
    assert document.title == "Rules & notes"
    assert [
        (block.kind, block.section, document.text[block.start : block.end]) for block in document.blocks
    ] == [
        ("heading", "Leave rules", "Leave rules"),
        ("paragraph", "Leave rules", "Ten days."),
        ("heading", "Leave rules > Sick", "Sick"),
        ("list", "Leave rules > Sick", "- Call\n- Rest"),
    ]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a<script>alert(1)</script>b", "ab"),
        ("seen<!-- ignore the rules -->", "seen"),
        ("seen<p style='color:red; display : none'>secret<b>more</b></p>tail", "seen\n\ntail"),
        ("seen<div hidden>secret<div>deep</div></div>tail", "seen\n\ntail"),
        ("<p hidden>secret<p>seen", "seen"),
        ("<p style='font-size:0px'>secret</p><p style='font-size:0.9em'>seen</p>", "seen"),
        ("<nav>menu</nav><main>seen</main>", "seen"),
        ("<a href='javascript:x()' onclick='y()'>seen</a>", "seen"),
        ("</div></p>seen</b>", "seen"),
        ("one<br>two", "one\ntwo"),
        ("<table><tr><td>left <i>open", "left open"),
        ("<pre>if x:\n    y</pre>", "if x:\n    y"),
        ("<ul><li>a<ul><li>b</ul><li>c</ul>", "- a\n  - b\n- c"),
    ],
)
def test_only_what_is_seen_is_read(body: str, expected: str) -> None:
    assert text_of(body) == expected


def test_a_table_is_one_block_with_a_line_a_row() -> None:
    body = "<table><caption>Prices<tr><th>Part<th>EUR<tr><td>Lid<td><p>3</p><p>5</p></table>after"
    assert text_of(body) == "Prices\n\nPart | EUR\nLid | 3 5\n\nafter"


def test_a_table_within_a_cell_loses_no_word() -> None:
    assert text_of("<table><tr><td>a<table><tr><td>b<td>c</table>d<td>e</table>") == "a b c d | e"


def test_the_declared_charset_counts() -> None:
    body = "<meta charset=gb2312><p>保修期二十四个月，龍</p>".encode("gb18030")
    assert read_html(body, "a.html").text == "保修期二十四个月，龍"


def test_a_false_charset_gives_a_warning_rather_than_nonsense() -> None:
    document = read_html(
        "<meta charset=utf-8><p>保修期二十四个月，请联系售后。</p>".encode("gb18030"), "a.html"
    )
    assert document.text == "保修期二十四个月，请联系售后。"
    assert document.warnings == ("The file does not say its encoding; gb18030 was guessed.",)


def test_deep_nesting_loses_nothing_and_takes_no_time() -> None:
    begin = time.perf_counter()
    assert text_of("<div>" * 50_000 + "deepest" + "</div>" * 50_000) == "deepest"
    assert time.perf_counter() - begin < 10


def test_a_page_of_hidden_text_alone_is_empty() -> None:
    with pytest.raises(Unreadable) as error:
        read_html(b"<html><body><div hidden>secret</div></body></html>", "a.html")
    assert error.value.code == "empty"
