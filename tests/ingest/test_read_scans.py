"""Scans are read where OCR is enabled and say what to do where it is not; passwords open what needs them."""

from __future__ import annotations

import shutil
from io import BytesIO

import pypdfium2
import pytest
from PIL import Image
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from ingest.corpus.errors import Unreadable
from ingest.read.child import measure_read
from ingest.read.ocr import PROGRAMS
from ingest.read.parse import ReadOptions, parse
from ingest.read.pdf_page import rendered
from tests.ingest.test_read_pdf import pdf_of, shown

WORDS = "The safe is opened by Mila at nine."
OCR = ReadOptions(ocr_languages="eng")
needs_tesseract = pytest.mark.skipif(
    shutil.which("tesseract", path=PROGRAMS) is None, reason="tesseract is not installed"
)


@pytest.fixture(scope="module")
def picture() -> bytes:
    """A page with WORDS on it, as PNG."""
    pdf = pypdfium2.PdfDocument(pdf_of(shown(WORDS, 60, 700, 18)))
    with Image.open(BytesIO(rendered(pdf, 0))) as page:
        buffer = BytesIO()
        page.save(buffer, "PNG")
    pdf.close()
    return buffer.getvalue()


@pytest.fixture(scope="module")
def scan(picture: bytes) -> bytes:
    """A PDF of two pages: one is the picture, one has text."""
    buffer = BytesIO()
    canvas = Canvas(buffer, pagesize=(595, 842))
    canvas.drawImage(ImageReader(BytesIO(picture)), 0, 0, 595, 842)
    canvas.showPage()
    canvas.drawString(60, 700, "The second page has a text layer.")
    canvas.save()
    return buffer.getvalue()


@needs_tesseract
def test_a_picture_is_read_by_ocr_within_the_limits_of_the_child(picture: bytes) -> None:
    report = measure_read(picture, "a.png", options=OCR)
    assert report.document is not None, report.reason
    assert report.document.text == WORDS
    assert "read by OCR" in report.document.warnings[0]


@needs_tesseract
def test_only_pages_without_text_are_recognised_and_each_keeps_its_number(scan: bytes) -> None:
    document = parse(scan, "a.pdf", options=OCR)
    assert [(block.page, document.text[block.start : block.end]) for block in document.blocks] == [
        (1, WORDS),
        (2, "The second page has a text layer."),
    ]
    assert document.warnings[0].startswith("Pages 1 were read by OCR")


def test_without_ocr_pages_without_text_are_named(scan: bytes) -> None:
    assert parse(scan, "a.pdf").warnings == ("Pages that have no text: 1.",)


def code_and_words(data: bytes, name: str, options: ReadOptions) -> tuple[str, str]:
    with pytest.raises(Unreadable) as error:
        parse(data, name, options=options)
    return error.value.code, str(error.value)


def test_without_ocr_a_picture_fails_and_says_how_to_enable_it(picture: bytes) -> None:
    code, words = code_and_words(picture, "a.png", ReadOptions())
    assert code == "no_text_layer"
    assert "CITEWARD_OCR_LANGUAGES" in words


@needs_tesseract
@pytest.mark.parametrize(
    ("languages", "cut", "code", "says"),
    [("xyz", None, "no_text_layer", "tesseract has no xyz"), ("eng", 200, "corrupt_document", "cannot read")],
)
def test_what_ocr_cannot_do_has_a_reason(
    picture: bytes, languages: str, cut: int | None, code: str, says: str
) -> None:
    failed = code_and_words(picture[:cut], "a.png", ReadOptions(languages))
    assert failed[0] == code
    assert says in failed[1]


def locked(user: str, **allowed: int) -> bytes:
    buffer = BytesIO()
    canvas = Canvas(buffer, encrypt=StandardEncryption(user, "owner", **allowed))
    canvas.drawString(60, 700, WORDS)
    canvas.save()
    return buffer.getvalue()


def test_a_password_that_is_set_opens_a_pdf_and_others_do_not() -> None:
    data = locked("tea")
    assert parse(data, "a.pdf", options=ReadOptions(passwords=("milk", "tea"))).text == WORDS
    for passwords, says in (((), "cannot be read without it"), (("milk",), "None of CITEWARD_PDF_PASSWORDS")):
        code, words = code_and_words(data, "a.pdf", ReadOptions(passwords=passwords))
        assert code == "encrypted_document"
        assert says in words
        assert "milk" not in words


def test_a_pdf_that_only_forbids_copying_is_read_with_a_warning() -> None:
    document = parse(locked("", canCopy=0), "a.pdf")
    assert document.text == WORDS
    assert "forbids copying" in document.warnings[0]
    assert parse(locked("", canCopy=1), "a.pdf").warnings == ()
