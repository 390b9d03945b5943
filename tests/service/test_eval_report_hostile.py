"""Nothing that others wrote acts in a report: questions, documents and answers stay texts."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.evaluation.report.markup import HIDDEN, Markup, element, escaped
from service.evaluation.report.page import report_page
from tests.service.reports import a_report, packaged, read

HOSTILE = [
    "<script>alert(1)</script>",
    "</style></title></textarea></details></svg></script>",
    '"onload="alert(1)',
    "' onmouseover='alert(1)",
    "\u202egnp.exe\u202c\u2066\u200b",
    "nul \x00 bell \x07 c1 \x9b lone \ud800 no sign \uffff",
    "<!--",
    "]]><![CDATA[",
    "javascript:alert(1)",
    "<img src=http://evil.example/a.png onerror=alert(1)>",
    '[C1](http://evil.example) [C1" onclick="x] [C9]',
    "&lt;b&gt; &amp; &#60;",
    '<link rel=stylesheet href=//evil.example><style>@import url("//evil.example")',
    "$name ${name} {name} %s \\u003cscript\\u003e",
]


@pytest.mark.parametrize("text", [*HOSTILE, " ".join(HOSTILE)])
def test_nothing_that_others_wrote_acts_or_leads_anywhere(text: str) -> None:
    page = read(a_report(text))
    assert set(page.tags) <= set(read(a_report()).tags)
    assert page.tags.count("script") == page.tags.count("style") == 1
    assert page.all_of("script") == packaged("report.js")
    assert page.all_of("style") == packaged("report.css")
    for _, name, value in page.attributes:
        assert not name.startswith("on")
        assert name not in ("src", "srcset", "style", "action", "xlink:href", "background")
        assert name != "href" or re.fullmatch(r"#[a-z0-9]+(-C[0-9]+)?", value), value


@pytest.mark.parametrize("text", [*HOSTILE, " ".join(HOSTILE)])
def test_the_file_can_be_written_and_holds_nothing_unseen(text: str) -> None:
    page = report_page(a_report(text))
    page.encode("utf-8")
    assert not HIDDEN.search(page)
    assert html.escape(text[:12]) in page or HIDDEN.search(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_every_plot_is_good_xml_whatever_its_words(text: str) -> None:
    plots = re.findall(r"<svg.*?</svg>", report_page(a_report(text)), re.DOTALL)
    assert len(plots) >= 10
    for plot in plots:
        root = ET.fromstring(plot)
        assert root.get("role") == "img"
        assert root.find("title") is not None


def test_unseen_characters_are_shown_by_their_number() -> None:
    assert escaped("a\u202eb\x00") == "a‹U+202E›b‹U+0000›"
    assert "‹U+202E›gnp.exe" in read(a_report("\u202egnp.exe")).shown()


@given(st.text())
def test_escaping_keeps_every_character_that_can_be_seen(text: str) -> None:
    safe = escaped(text)
    assert not set("<>\"'") & set(safe)
    assert escaped(safe) == safe
    if not HIDDEN.search(text):
        assert html.unescape(safe) == text


@given(st.text(), st.text())
def test_an_element_stays_one_element(text: str, value: str) -> None:
    root = ET.fromstring(element("p", text, title=value))
    assert list(root) == []
    assert list(root.attrib) == ["title"]


def test_markup_joined_with_a_plain_text_is_escaped_again() -> None:
    assert element("p", element("b", "x") + "<i>") == "<p>&lt;b&gt;x&lt;/b&gt;&lt;i&gt;</p>"
    assert element("p", Markup.joined([element("b", "x"), "<i>"])) == "<p><b>x</b>&lt;i&gt;</p>"


def test_only_the_packaged_style_and_script_are_let_work() -> None:
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', report_page(a_report()))
    allowed = html.unescape(policy)
    assert "default-src 'none'" in allowed
    assert "unsafe" not in allowed
    for name in ("report.css", "report.js"):
        digest = base64.b64encode(hashlib.sha256(packaged(name).encode()).digest()).decode()
        assert f"'sha256-{digest}'" in allowed
        assert "</" not in packaged(name)
