"""PPTX, EPUB, mails, JSON and ZIPs give text with sections and pages that name its place."""

from __future__ import annotations

import json
from email.message import EmailMessage
from io import BytesIO

import pytest
from pptx import Presentation
from pptx.util import Inches

from ingest.corpus.errors import Unreadable
from ingest.corpus.types import Document
from ingest.read.parse import ReadLimits, parse
from tests.ingest.packed import zipped
from tests.ingest.test_read_pdf import pdf_of, shown


def code_of(data: bytes, source_name: str) -> str:
    with pytest.raises(Unreadable) as error:
        parse(data, source_name)
    return error.value.code


def placed(document: Document) -> list[tuple[int | None, str, str]]:
    return [(one.page, one.section, document.text[one.start : one.end]) for one in document.blocks]


# --- slides ------------------------------------------------------------------------------------


def test_a_slide_is_a_page_with_title_list_table_and_notes() -> None:
    deck = Presentation()
    first = deck.slides.add_slide(deck.slide_layouts[1])
    first.shapes.title.text = "差旅政策"
    body = first.placeholders[1].text_frame
    body.text = "Flights: economy"
    body.add_paragraph().text = "Hotels: 650 a night"
    body.paragraphs[1].level = 1
    first.notes_slide.notes_text_frame.text = "Say that it starts in May."
    second = deck.slides.add_slide(deck.slide_layouts[6])
    table = second.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(4), Inches(1)).table
    for place, text in enumerate(("City", "EUR", "Oslo", "210")):
        table.cell(place // 2, place % 2).text = text
    third = deck.slides.add_slide(deck.slide_layouts[1])
    third.shapes.title.text = "Nobody sees this"
    third._element.set("show", "0")
    buffer = BytesIO()
    deck.save(buffer)
    document = parse(buffer.getvalue(), "a.pptx")
    assert placed(document) == [
        (1, "差旅政策", "差旅政策"),
        (1, "差旅政策", "- Flights: economy\n  - Hotels: 650 a night"),
        (1, "差旅政策", "Say that it starts in May."),
        (2, "", "City | EUR\nOslo | 210"),
    ]
    assert document.pages == 3
    assert document.warnings[0] == "Slides that are hidden and were left out: 3."


# --- books -------------------------------------------------------------------------------------

CONTAINER = '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
BOOK = """<package xmlns:dc="d"><metadata><dc:title>Tea</dc:title></metadata><manifest>
<item id="b" href="two%20.xhtml" media-type="application/xhtml+xml"/>
<item id="a" href="one.xhtml" media-type="application/xhtml+xml"/></manifest>
<spine><itemref idref="a"/><itemref idref="b"/><itemref idref="gone"/></spine></package>"""
CHAPTERS = {
    "OEBPS/one.xhtml": "<html><body><h1>Leaves</h1><p>Green tea is not roasted.</p></body></html>",
    "OEBPS/two .xhtml": "<html><body><h1>水温</h1><p>绿茶用八十度的水。</p></body></html>",
}


def test_a_book_is_read_in_the_order_of_its_spine() -> None:
    data = zipped({"META-INF/container.xml": CONTAINER, "OEBPS/book.opf": BOOK} | CHAPTERS)
    document = parse(data, "a.epub")
    assert document.title == "Tea"
    assert placed(document) == [
        (None, "Leaves", "Leaves"),
        (None, "Leaves", "Green tea is not roasted."),
        (None, "水温", "水温"),
        (None, "水温", "绿茶用八十度的水。"),
    ]


def test_a_book_with_locked_chapters_is_encrypted_and_one_with_locked_fonts_is_not() -> None:
    locked = "<encryption><EncryptedData><EncryptionMethod Algorithm='{}'/></EncryptedData></encryption>"
    files = {"META-INF/container.xml": CONTAINER, "OEBPS/book.opf": BOOK} | CHAPTERS
    cipher = {"META-INF/encryption.xml": locked.format("http://www.w3.org/2001/04/xmlenc#aes128-cbc")}
    assert code_of(zipped(files | cipher), "a.epub") == "encrypted_document"
    fonts = {"META-INF/encryption.xml": locked.format("http://www.idpf.org/2008/embedding")}
    assert parse(zipped(files | fonts), "a.epub").title == "Tea"


# --- mails -------------------------------------------------------------------------------------


def mail(subject: str, body: str, html: str = "") -> EmailMessage:
    message = EmailMessage()
    message["Subject"], message["From"], message["Date"] = (
        subject,
        "mila@example.com",
        "Mon, 4 May 2026 09:00:00",
    )
    message.set_content(body)
    if html:
        message.add_alternative(html, subtype="html")
    return message


def test_a_mail_gives_headers_body_and_attachments_under_their_names() -> None:
    message = mail("报销", "The limit is 650.\n\nRegards", "<p>not this one</p>")
    pdf = pdf_of(shown("The bill has two pages.", 50, 700))
    message.add_attachment(pdf, maintype="application", subtype="pdf", filename="账单.pdf")
    message.add_attachment(
        mail("Older", "It was 500.").as_bytes(),
        maintype="application",
        subtype="octet-stream",
        filename="older.eml",
    )
    message.add_attachment(b"\x00\x01", maintype="application", subtype="octet-stream", filename="tool.exe")
    document = parse(message.as_bytes(), "a.eml")
    assert document.title == "报销"
    assert [(page, section) for page, section, _ in placed(document)] == [
        (None, "报销"), (None, "报销"), (None, "报销"), (None, "报销"),
        (None, "账单.pdf"), (1, "账单.pdf"),
        (None, "older.eml"), *[(None, "older.eml > Older")] * 3,
    ]  # fmt: skip
    assert "not this one" not in document.text
    assert "It was 500." in document.text
    assert document.warnings == (
        "tool.exe was not read: tool.exe cannot be read: files named .exe are not read.",
    )


def test_a_mail_of_html_alone_in_an_old_encoding_is_read() -> None:
    body = "<p>每晚不超过六百五十元。</p>".encode("gb18030")
    data = b"Subject: a\nMIME-Version: 1.0\nContent-Type: text/html; charset=gb2312\n\n" + body
    assert "每晚不超过六百五十元。" in parse(data, "a.eml").text


def test_a_text_without_headers_is_no_mail() -> None:
    assert code_of(b"just words\n\nand more", "a.eml") == "corrupt_document"


# --- JSON --------------------------------------------------------------------------------------


def test_records_are_blocks_and_numbers_stand_as_written() -> None:
    data = (
        '{"company": {"name": "Vulkora", "city": "奥斯陆"}, "rate": 1.10, "open": true, "none": null,'
        '"tags": ["a", "b"], "staff": [{"name": "Mila", "pay": {"eur": 4850}}, {"name": "Noor"}]}'
    )
    assert placed(parse(data.encode(), "a.json")) == [
        (None, "", "company.name: Vulkora\ncompany.city: 奥斯陆\nrate: 1.10\nopen: true\ntags: a, b"),
        (None, "staff[0]", "name: Mila\npay.eur: 4850"),
        (None, "staff[1]", "name: Noor"),
    ]


def test_lines_that_are_no_json_are_left_out_with_a_warning() -> None:
    document = parse(b'{"a": 1}\n\nbroken\n{"b": [[1, 2], [3]]}\n', "a.jsonl")
    assert placed(document) == [
        (None, "line 1", "a: 1"), (None, "line 4 > b[0]", "1\n2"), (None, "line 4 > b[1]", "3"),
    ]  # fmt: skip
    assert document.warnings == ("1 lines are no JSON and were left out: 3.",)


@pytest.mark.parametrize("data", [b"{", b"[" * 100_000, b'{"a":' * 50_000, b"no json"])
def test_broken_and_bottomless_json_is_corrupt(data: bytes) -> None:
    assert code_of(data, "a.json") == "corrupt_document"
    assert code_of(data, "a.jsonl") == "corrupt_document"


def test_a_number_of_many_digits_is_no_work() -> None:
    assert parse(b'{"n": ' + b"9" * 10_000 + b"}", "a.json").text.startswith("n: 999")


# --- archives ----------------------------------------------------------------------------------


def test_each_file_of_an_archive_is_a_stretch_under_its_path() -> None:
    data = zipped(
        {
            "手册/leave.md": "# Leave\n\nTen days.",
            "rates.csv": "part,eur\nlid,3\n",
            "scan.pdf": pdf_of(shown("First", 50, 700), shown("Second", 50, 700)),
            "inner.zip": zipped({"note.txt": "Deep words."}),
            "__MACOSX/._leave.md": "x",
            "tool.exe": b"MZ",
            "broken.docx": b"PK\x03\x04word/document.xml",
        }
    )
    document = parse(data, "all.zip")
    assert placed(document) == [
        (None, "手册/leave.md", "手册/leave.md"),
        (None, "手册/leave.md > Leave", "# Leave"),
        (None, "手册/leave.md > Leave", "Ten days."),
        (None, "rates.csv", "rates.csv"),
        (None, "rates.csv", "part | eur\nlid | 3"),
        (None, "scan.pdf", "scan.pdf"),
        (1, "scan.pdf", "First"),
        (2, "scan.pdf", "Second"),
        (None, "inner.zip", "inner.zip"),
        (None, "inner.zip > note.txt", "note.txt"),
        (None, "inner.zip > note.txt", "Deep words."),
    ]
    assert document.pages == 2
    assert [warning.partition(" was not read")[0] for warning in document.warnings] == [
        "tool.exe",
        "broken.docx",
    ]


@pytest.mark.parametrize(
    "name", ["../up.txt", "a/../../up.txt", "/etc/cron.d/up", "C:\\up.txt", "a\\..\\up.txt", "x" * 250]
)
def test_a_path_that_leads_out_of_the_archive_is_refused(name: str) -> None:
    assert code_of(zipped({"good.txt": "words", name: "words"}), "a.zip") == "unsafe_archive"


def test_a_link_in_an_archive_is_refused() -> None:
    assert code_of(zipped({"good.txt": "words"}, passwd="/etc/passwd"), "a.zip") == "unsafe_archive"


def test_archives_in_archives_are_opened_down_to_a_depth() -> None:
    data = zipped({"note.txt": "words"})
    for _ in range(2):
        data = zipped({"inner.zip": data})
    assert code_of(data, "a.zip") == "unsupported_type"


def test_a_bomb_in_an_archive_is_refused() -> None:
    assert code_of(zipped({"a.txt": "a" * 5_000_000}), "a.zip") == "zip_bomb"
    assert code_of(zipped({"a.zip": zipped({"a.txt": "a" * 5_000_000})}), "b.zip") == "zip_bomb"


def test_files_that_are_too_much_together_are_refused() -> None:
    data = zipped({f"{number}.txt": "word " * 30 for number in range(10)})
    with pytest.raises(Unreadable, match="more than 1000 characters together"):
        parse(data, "a.zip", ReadLimits(characters=1000))


def test_archives_without_files_or_without_readable_ones_say_so() -> None:
    assert code_of(zipped({}), "a.zip") == "empty"
    assert code_of(zipped({"a.exe": b"MZ"}), "a.zip") == "unsupported_type"


def test_names_in_an_old_encoding_are_read() -> None:
    name = "员工手册和差旅报销管理办法.txt"
    data = zipped({"x" * len(name.encode("gb18030")): json.dumps("words")})
    old = data.replace(b"x" * len(name.encode("gb18030")), name.encode("gb18030"))
    assert parse(old, "a.zip").blocks[0].section == name


def test_a_document_stored_whole_in_an_archive_does_not_make_it_one() -> None:
    """The names of a stored DOCX stand in the bytes of the archive around it."""
    inner = zipped({"word/document.xml": "<w:d xmlns:w='w'><w:p><w:r><w:t>Ten days.</w:t></w:r></w:p></w:d>"})
    outer = zipped({"a.docx": inner})
    assert [section for _, section, _ in placed(parse(outer, "a.zip"))] == ["a.docx", "a.docx"]
