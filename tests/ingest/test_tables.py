"""A long table in any format: whoever finds a row finds its header with it, and no row is cut."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO

import docx
import pytest
from openpyxl import Workbook
from pptx import Presentation
from pptx.util import Inches
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

from ingest.corpus.types import Chunk, Document
from ingest.read.parse import parse
from ingest.split import split
from tests.fakes import WordTokenizer

Rows = list[list[str]]
HEADER = ["Item", "Hall", "Price in EUR", "Keeper"]
ROWS = [[f"Part {n}", f"Hall {n % 7}", f"{n * 3}.50", f"Keeper {chr(65 + n % 26)}"] for n in range(1, 61)]
HAN = ["物料", "仓库", "单价（元）", "保管人"]
HAN_ROWS = [[f"零件{n}号", f"第{n % 7}库", f"{n * 3}.50", f"保管员{n}"] for n in range(1, 61)]


def as_docx(rows: Rows) -> bytes:
    document = docx.Document()
    document.add_paragraph("What is stored.")
    table = document.add_table(rows=len(rows), cols=len(rows[0]))
    for row, texts in zip(table.rows, rows, strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text
    buffer = BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def as_html(rows: Rows) -> bytes:
    lines = ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
    return f"<!doctype html><table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>".encode()


def as_markdown(rows: Rows) -> bytes:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]]).encode()


def as_xlsx(rows: Rows) -> bytes:
    book = Workbook()
    for row in rows:
        book.active.append(row)
    buffer = BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def as_csv(rows: Rows) -> bytes:
    return "\n".join(",".join(row) for row in rows).encode()


def as_pptx(rows: Rows) -> bytes:
    deck = Presentation()
    shapes = deck.slides.add_slide(deck.slide_layouts[6]).shapes
    table = shapes.add_table(len(rows), len(rows[0]), Inches(1), Inches(1), Inches(8), Inches(5)).table
    for place, row in enumerate(rows):
        for column, text in enumerate(row):
            table.cell(place, column).text = text
    buffer = BytesIO()
    deck.save(buffer)
    return buffer.getvalue()


def as_pdf(rows: Rows, repeat: int = 0, folio: bool = True, **style: object) -> bytes:
    """Over several pages; `repeat` header rows on each, and a page number below if `folio`."""
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    table = Table(rows, repeatRows=repeat, **style)  # type: ignore[arg-type]
    table.setStyle(TableStyle([("FONT", (0, 0), (-1, -1), "STSong-Light", 10)]))
    buffer = BytesIO()

    def number(canvas: object, page: object) -> None:
        if folio:
            canvas.drawString(290, 20, f"- {page.page} -")  # type: ignore[attr-defined]

    story = [Paragraph("What is stored", getSampleStyleSheet()["Title"]), Spacer(1, 12), table]
    SimpleDocTemplate(buffer, pagesize=A4).build(story, onFirstPage=number, onLaterPages=number)
    return buffer.getvalue()


FORMATS: dict[str, Callable[[Rows], bytes]] = {
    "a.docx": as_docx,
    "a.html": as_html,
    "a.md": as_markdown,
    "a.xlsx": as_xlsx,
    "a.csv": as_csv,
    "a.pptx": as_pptx,
    "a.pdf": as_pdf,
    "repeated.pdf": lambda rows: as_pdf(rows, repeat=1),
    "bare.pdf": lambda rows: as_pdf(rows, folio=False),
}


def chunks_of(document: Document, tokens: int = 120) -> tuple[Chunk, ...]:
    return split(document, WordTokenizer(), tokens)


@pytest.mark.parametrize("rows", [[HEADER, *ROWS], [HAN, *HAN_ROWS]], ids=["en", "zh"])
@pytest.mark.parametrize("name", FORMATS)
def test_each_row_of_a_long_table_is_found_whole_and_with_its_header(name: str, rows: Rows) -> None:
    document = parse(FORMATS[name](rows), name)
    chunks = chunks_of(document)
    for row in rows[1:]:
        line = " | ".join(row)
        (chunk,) = [one for one in chunks if line in one.text]
        header = " | ".join(rows[0])
        assert header in f"{chunk.context}\n{chunk.text}", chunk


def test_a_long_table_in_a_pdf_keeps_its_pages() -> None:
    document = parse(as_pdf([HEADER, *ROWS, *ROWS]), "a.pdf")
    assert {block.page for block in document.blocks if block.kind == "table"} == {1, 2, 3, 4}
    assert [document.text.count(f"Part {number} |") for number in (1, 30, 60)] == [2, 2, 2]


def test_a_cell_of_several_lines_is_one_and_an_empty_one_stays() -> None:
    style = getSampleStyleSheet()["BodyText"]
    words = "Has to be kept dry, away from light, and may not be stacked higher than three boxes"
    rows = [[f"Part {n}", Paragraph(words, style) if n % 3 else "", f"{n}.50"] for n in range(1, 9)]
    data = as_pdf([["Item", "Rule", "EUR"], *rows], colWidths=[80, 120, 60])  # type: ignore[list-item]
    document = parse(data, "a.pdf")
    (table,) = [document.text[one.start : one.end] for one in document.blocks if one.kind == "table"]
    assert table.split("\n") == [
        "Item | Rule | EUR",
        *(f"Part {n} | {words if n % 3 else ''} | {n}.50" for n in range(1, 9)),
    ]


def test_a_second_table_on_the_next_page_has_its_own_header() -> None:
    first = [HEADER, *ROWS[:20]]
    second = [["Town", "Distance"], *[[f"Town {chr(65 + n)}", f"{n} km"] for n in range(20)]]
    buffer = BytesIO()
    SimpleDocTemplate(buffer, pagesize=A4).build([Table(first), PageBreak(), Table(second)])
    document = parse(buffer.getvalue(), "a.pdf")
    assert [block.header for block in document.blocks if block.kind == "table"] == [None, None]


def test_the_paragraph_after_a_table_stays_outside_it() -> None:
    style = getSampleStyleSheet()["BodyText"]
    after = "Prices hold until the end of the year, and whoever orders more than ten gets five percent less."
    buffer = BytesIO()
    SimpleDocTemplate(buffer, pagesize=A4).build([Table([HEADER, *ROWS[:5]]), Paragraph(after, style)])
    document = parse(buffer.getvalue(), "a.pdf")
    kinds = [(block.kind, document.text[block.start : block.end]) for block in document.blocks]
    assert kinds[-1] == ("paragraph", after)
    assert kinds[0][0] == "table"
