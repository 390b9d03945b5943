"""DOCX gives the text as it stands now; bombs, entities and broken archives end with their own codes."""

from __future__ import annotations

from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

import docx
import pytest

from ingest.corpus.errors import Unreadable
from ingest.read.docx import read_docx

NAMESPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def packed(body: str, head: str = "", **parts: str) -> bytes:
    buffer = BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as archive:
        archive.writestr(
            "word/document.xml", f"{head}<w:document {NAMESPACE}><w:body>{body}</w:body></w:document>"
        )
        for name, content in parts.items():
            archive.writestr(f"word/{name}.xml", content)
    return buffer.getvalue()


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def code_of(data: bytes) -> str:
    with pytest.raises(Unreadable) as error:
        read_docx(data, "a.docx")
    return error.value.code


def test_a_file_of_a_word_processor_keeps_order_headings_lists_and_tables() -> None:
    document = docx.Document()
    document.core_properties.title = "员工手册"
    document.add_heading("Leave", level=1)
    document.add_paragraph("Ten days. 合同。")
    document.add_heading("Sick leave", level=2)
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip(
        (cell for row in table.rows for cell in row.cells), ("Part", "EUR", "Lid", "3"), strict=True
    ):
        cell.text = text
    buffer = BytesIO()
    document.save(buffer)
    read = read_docx(buffer.getvalue(), "a.docx")
    assert read.title == "员工手册"
    assert [(block.kind, block.section, read.text[block.start : block.end]) for block in read.blocks] == [
        ("heading", "Leave", "Leave"),
        ("paragraph", "Leave", "Ten days. 合同。"),
        ("heading", "Leave > Sick leave", "Sick leave"),
        ("table", "Leave > Sick leave", "Part | EUR\nLid | 3"),
    ]


def test_insertions_stand_and_deletions_and_hidden_runs_do_not() -> None:
    body = (
        "<w:p><w:ins><w:r><w:t>new </w:t></w:r></w:ins><w:del><w:r><w:delText>old </w:delText></w:r></w:del>"
        "<w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r><w:r><w:t>text</w:t></w:r></w:p>"
    )
    assert read_docx(packed(body), "a.docx").text == "new text"


def test_footnotes_and_headers_come_once_after_the_text() -> None:
    note = f"<w:footnotes {NAMESPACE}><w:footnote>{paragraph('note')}</w:footnote></w:footnotes>"
    header = f"<w:hdr {NAMESPACE}>{paragraph('header')}</w:hdr>"
    data = packed(paragraph("body"), footnotes=note, header1=header, header2=header)
    assert read_docx(data, "a.docx").text == "body\n\nnote\n\nheader"


def test_list_items_are_one_block() -> None:
    item = "<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>{}</w:t></w:r></w:p>"
    document = read_docx(packed(item.format("one") + item.format("two")), "a.docx")
    assert document.text == "- one\n- two"
    assert [block.kind for block in document.blocks] == ["list"]


def test_a_document_type_is_refused_before_any_entity() -> None:
    head = '<!DOCTYPE w [<!ENTITY a "x"><!ENTITY b SYSTEM "file:///etc/passwd">]>'
    assert code_of(packed(paragraph("&a;&b;"), head)) == "corrupt_document"


def test_a_bomb_is_refused_by_its_declared_size() -> None:
    assert code_of(packed(paragraph("a" * 5_000_000))) == "zip_bomb"


def test_a_file_cut_short_is_corrupt() -> None:
    assert code_of(packed(paragraph("a"))[:-40]) == "corrupt_document"


def test_a_file_of_pictures_alone_has_no_text_layer() -> None:
    assert code_of(packed("<w:p/>")) == "no_text_layer"
