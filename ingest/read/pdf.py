"""PDF to a document: visible text with its pages, laid out by where the glyphs stand.

PDFium is not thread-safe and must run in the child. Nothing is rendered but pages without text where OCR is
enabled, so images cost nothing.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ingest.corpus.errors import Unreadable
from ingest.corpus.types import Block, Document
from ingest.read.canonical import Part, count_signs, display_name, document_of, lay_out, require_sense
from ingest.read.grid import CELL_BORDER
from ingest.read.ocr import ENABLE, Ocr, ocr_warning, recognise
from ingest.read.paragraphs import parts_of
from ingest.read.pdf_page import Page, read_page, rendered

UNREADABLE_PAGES = 1 / 3  # of all pages; more that do not open mean a broken file
ERROR_PASSWORD = 4  # FPDF_ERR_PASSWORD
MAY_COPY = 1 << 4  # PDF 32000-1, table 22: bit 5
STREAM = re.compile(rb"stream\r?\n")
STREAM_SAMPLE = 64 * 2**20  # bytes unpacked while looking for damage, all streams together
LONGEST_TITLE = 120  # characters
TITLE_WITHIN = 5000  # characters from the beginning
LETTERS = re.compile(r"[^\W\d_]{2}")


@dataclass(frozen=True, slots=True)
class Scans:
    """What OCR read on pages without text."""

    parts: tuple[Part, ...] = ()
    warnings: tuple[str, ...] = ()


def read_pdf(
    data: bytes,
    source_name: str,
    max_pages: int = 2000,
    passwords: Sequence[str] = (),
    ocr: Ocr | None = None,
) -> Document:
    """The document's visible text, with the page of each block; `passwords` are tried where it needs one.

    :raises Unreadable: too_many_pages, encrypted_document, corrupt_document, no_text_layer or garbled
    """
    pdf = _opened(data, source_name, passwords)
    count = len(pdf)
    if count > max_pages:
        raise Unreadable(
            "too_many_pages",
            f"{display_name(source_name)} has {count} pages, more than the {max_pages} allowed.",
            next_step="Upload it in parts, or raise the limit.",
        )
    pages = [read_page(pdf, number) for number in range(count)]
    if sum(page.failed for page in pages) > UNREADABLE_PAGES * count or not pages:
        raise _corrupt(source_name, f"{sum(page.failed for page in pages)} of its {count} pages do not open")
    parts = list(parts_of([page.lines for page in pages]))
    scans = _scans(pdf, pages, source_name, ocr) if ocr else Scans()
    in_order = sorted((*parts, *scans.parts), key=lambda part: part.page or 0)
    text, blocks, removed = lay_out(in_order)
    if not blocks:
        raise _no_text(source_name, count, ocr)
    require_sense(text, source_name)
    return document_of(
        text,
        blocks,
        titles=_titles(pdf.get_metadata_value("Title"), text, blocks),
        source_name=source_name,
        media_type="application/pdf",
        pages=count,
        left_out=removed.visible + _left_out(pages, parts),
        warnings=(
            *_warnings(pages, {part.page for part in scans.parts}),
            *scans.warnings,
            *_permission(pdf),
            *_damage(data),
            *removed.warnings,
        ),
    )


def _opened(data: bytes, source_name: str, passwords: Sequence[str]) -> Any:
    # Loaded here so that a child that reads another format starts without it.
    import pypdfium2

    code = None
    for password in (None, *passwords):
        try:
            return pypdfium2.PdfDocument(data, password=password)
        except pypdfium2.PdfiumError as error:
            code = getattr(error, "err_code", None)
            if code != ERROR_PASSWORD:
                break
    raise _not_opened(source_name, code, bool(passwords))


def _scans(pdf: Any, pages: Sequence[Page], source_name: str, ocr: Ocr) -> Scans:
    blank = [number for number, page in enumerate(pages, 1) if not page.lines and not page.failed]
    read = {number: recognise(rendered(pdf, number - 1), source_name, ocr) for number in blank}
    found = {number: page for number, page in read.items() if page.paragraphs}
    if not found:
        return Scans()
    parts = (Part("paragraph", text, number) for number, page in found.items() for text in page.paragraphs)
    sure = sum(page.confidence for page in found.values()) / len(found)
    return Scans(tuple(parts), (ocr_warning(f"Pages {', '.join(map(str, found))} were", sure),))


def _left_out(pages: Sequence[Page], parts: Sequence[Part]) -> int:
    """Hidden signs, and running heads but for their first page; what parts cells is not the file's own."""
    read = sum(count_signs(cell)[0] for page in pages for line in page.lines for cell in line.cells)
    kept = sum(count_signs(part.text.replace(CELL_BORDER, ""))[0] for part in parts)
    return sum(page.hidden for page in pages) + max(0, read - kept)


def _titles(named: str, text: str, blocks: Sequence[Block]) -> Iterator[str]:
    """The metadata's title comes first only if the text has it too: programs fill it with file names.

    Else it is the largest thing on the first page, or what stands first where that is "1. Purpose".
    """
    if len(named) > 1 and "".join(named.split()) in "".join(text[:TITLE_WITHIN].split()):
        yield named
    headings = [text[b.start : b.end] for b in blocks if b.kind == "heading" and b.page == 1]
    yield from (heading for heading in headings[:1] if not heading[0].isdigit())
    opening = text[blocks[0].start : blocks[0].end]
    if blocks[0].kind != "table" and LETTERS.search(opening) and len(opening) <= LONGEST_TITLE:
        yield opening
    yield from (*headings, named)


def _not_opened(source_name: str, code: int | None, tried: bool) -> Unreadable:
    if code == ERROR_PASSWORD:
        return Unreadable(
            "encrypted_document",
            f"{display_name(source_name)} is protected by a password.",
            why="None of CITEWARD_PDF_PASSWORDS opens it." if tried else "It cannot be read without it.",
            next_step="Upload a copy without the password, or add the password to CITEWARD_PDF_PASSWORDS.",
        )
    return _corrupt(source_name, "it is damaged or cut short")


def _corrupt(source_name: str, why: str) -> Unreadable:
    return Unreadable(
        "corrupt_document",
        f"{display_name(source_name)} cannot be read as PDF: {why}.",
        next_step="Open it in a PDF program, print it to a new PDF and upload that.",
    )


def _no_text(source_name: str, pages: int, ocr: Ocr | None) -> Unreadable:
    return Unreadable(
        "no_text_layer",
        f"{display_name(source_name)} has {pages} pages and no text on any of them.",
        why="OCR found no word on them." if ocr else "It was scanned, or its text is drawn as pictures.",
        next_step="Upload a sharper scan." if ocr else ENABLE,
    )


def _permission(pdf: Any) -> Iterator[str]:
    import pypdfium2.raw as pdfium

    if not pdfium.FPDF_GetDocPermissions(pdf.raw) & MAY_COPY:
        yield "Whoever made the file forbids copying from it; it was read, and quotes from it can be shown."


def _warnings(pages: Sequence[Page], recognised: set[int | None]) -> Iterator[str]:
    kinds = {
        "do not open and are missing": [page.failed for page in pages],
        "have no text": [
            not page.lines and not page.failed and number not in recognised
            for number, page in enumerate(pages, 1)
        ],
        "hold hidden text, which was dropped": [page.hidden > 0 for page in pages],
        "are read from an invisible text layer, as OCR makes": [page.from_ocr for page in pages],
    }
    for what, holds in kinds.items():
        numbers = [str(number) for number, held in enumerate(holds, 1) if held]
        if numbers:
            yield f"Pages that {what}: {', '.join(numbers)}."


def _damage(data: bytes) -> Iterator[str]:
    """Streams that do not unpack as their checksum says. PDFium passes over them without a word."""
    if b"/Encrypt" in data:
        return
    room, damaged = STREAM_SAMPLE, 0
    for mark in STREAM.finditer(data):
        unpacked, is_damaged = _unpack(data, mark.end(), room)
        room -= unpacked
        damaged += is_damaged
        if room <= 0:
            break
    if damaged:
        yield f"{damaged} parts of the file are damaged; text on some pages may be incomplete or wrong."


def _unpack(data: bytes, start: int, room: int) -> tuple[int, bool]:
    """Bytes unpacked from the stream at `start`, and whether it is damaged; (0, False) if not deflated."""
    head = data[start : start + 2]
    end = data.find(b"endstream", start)
    if len(head) < 2 or head[0] & 0x0F != 8 or int.from_bytes(head, "big") % 31 or end < 0:
        return 0, False
    unpacker = zlib.decompressobj()
    try:
        return len(unpacker.decompress(data[start:end], room)), False
    except zlib.error:
        return 0, True
