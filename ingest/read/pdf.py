"""PDF to a document: visible text with its pages, laid out by where the glyphs stand.

The only module that knows PDFium, which is not thread-safe and must run in the child. Nothing is rendered, so
images cost nothing. Text that a reader cannot see (white, tiny, off the page, invisible) is dropped with a
warning, unless it is all that a page has: then it is what OCR laid under a scan.
"""

from __future__ import annotations

import ctypes
import math
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ingest.corpus.errors import Unreadable
from ingest.corpus.types import Block, Document
from ingest.read.canonical import display_name, document_of, lay_out, require_sense
from ingest.read.layout import HYPHEN_AT_BREAK, Glyph, Line, lines_of, parts_of

INVISIBLE_MODES = (3, 7)  # PDF 32000-1, table 106: neither filled nor stroked
SMALLEST_HEIGHT = 1.0  # points; nobody reads less
WHITE = 250  # of 255, in each colour
OCR_SHARE = 4  # invisible signs to a visible one; so many mean a text layer under a scan
UNREADABLE_PAGES = 1 / 3  # of all pages; more that do not open mean a broken file
PDFIUM_HYPHEN = 2  # what it writes for a hyphen that parts a word at the end of a line
ERROR_PASSWORD = 4  # FPDF_ERR_PASSWORD
STREAM = re.compile(rb"stream\r?\n")
STREAM_SAMPLE = 64 * 2**20  # bytes unpacked while looking for damage, all streams together
LONGEST_TITLE = 120  # characters
TITLE_WITHIN = 5000  # characters from the beginning
LETTERS = re.compile(r"[^\W\d_]{2}")
HAN = re.compile("[\u3400-\u9fff\U00020000-\U000323af]")

Box = tuple[float, float, float, float]  # left, bottom, right, top in points


@dataclass(frozen=True, slots=True)
class Sign:
    """A glyph as PDFium gives it, with what tells whether it can be seen."""

    glyph: Glyph  # turned upright
    box: Box  # as it lies on the page
    quarter: int  # of a turn that its line is turned by
    is_invisible: bool  # drawn in an invisible mode, as OCR layers are
    is_hidden: bool  # tiny, transparent, or off the page
    is_white: bool


@dataclass(frozen=True, slots=True)
class Page:
    lines: tuple[Line, ...]
    hidden: int = 0  # signs that were dropped
    from_ocr: bool = False
    failed: bool = False


def read_pdf(data: bytes, source_name: str, max_pages: int = 2000) -> Document:
    """The document's visible text, with the page of each block.

    :raises Unreadable: too_many_pages, encrypted_document, corrupt_document, no_text_layer or garbled
    """
    # Loaded here so that a child that reads another format starts without it.
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise _not_opened(source_name, getattr(error, "err_code", None)) from error
    count = len(pdf)
    if count > max_pages:
        raise Unreadable(
            "too_many_pages",
            f"{display_name(source_name)} has {count} pages, more than the {max_pages} allowed.",
            next_step="Upload it in parts, or raise the limit.",
        )
    pages = [_read_page(pdf, number) for number in range(count)]
    if sum(page.failed for page in pages) > UNREADABLE_PAGES * count or not pages:
        raise _corrupt(source_name, f"{sum(page.failed for page in pages)} of its {count} pages do not open")
    text, blocks, removed = lay_out(parts_of([page.lines for page in pages]))
    if not blocks:
        raise _no_text(source_name, count)
    require_sense(text, source_name)
    return document_of(
        text,
        blocks,
        titles=_titles(pdf.get_metadata_value("Title"), text, blocks),
        source_name=source_name,
        media_type="application/pdf",
        pages=count,
        warnings=(*_warnings(pages), *_damage(data), *removed.warnings),
    )


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


def _not_opened(source_name: str, code: int | None) -> Unreadable:
    if code == ERROR_PASSWORD:
        return Unreadable(
            "encrypted_document",
            f"{display_name(source_name)} is protected by a password.",
            why="Its text cannot be read without it.",
            next_step="Save a copy without the password and upload that.",
        )
    return _corrupt(source_name, "it is damaged or cut short")


def _corrupt(source_name: str, why: str) -> Unreadable:
    return Unreadable(
        "corrupt_document",
        f"{display_name(source_name)} cannot be read as PDF: {why}.",
        next_step="Open it in a PDF program, print it to a new PDF and upload that.",
    )


def _no_text(source_name: str, pages: int) -> Unreadable:
    return Unreadable(
        "no_text_layer",
        f"{display_name(source_name)} has {pages} pages and no text on any of them.",
        why="It was scanned, or its text is drawn as pictures.",
        next_step="Run OCR on it, so that it gets a text layer, and upload it again.",
    )


def _warnings(pages: Sequence[Page]) -> Iterator[str]:
    kinds = {
        "do not open and are missing": [page.failed for page in pages],
        "have no text": [not page.lines and not page.failed for page in pages],
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


# --- a page ------------------------------------------------------------------------------------


def _read_page(pdf: Any, number: int) -> Page:
    import pypdfium2

    try:
        page = pdf[number]
        text_page = page.get_textpage()
    except pypdfium2.PdfiumError:
        return Page((), failed=True)
    signs = list(_signs(text_page.raw, page.get_cropbox()))
    visible, from_ocr = _visible(signs, page)
    text_page.close()
    page.close()
    return Page(tuple(_lines(visible)), len(signs) - len(visible), from_ocr)


def _lines(signs: Iterable[Sign]) -> Iterator[Line]:
    """Lines of the direction that most signs have, first; notes set at another angle stay apart from them."""
    by_quarter: dict[int, list[Glyph]] = defaultdict(list)
    for sign in signs:
        by_quarter[sign.quarter].append(sign.glyph)
    for glyphs in sorted(by_quarter.values(), key=len, reverse=True):
        yield from lines_of(_closed_up(glyphs))


def _closed_up(glyphs: Sequence[Glyph]) -> list[Glyph]:
    """Without the spaces of letter-spaced Chinese, where most neighbours have one between them."""
    neighbours = [
        place
        for place in range(1, len(glyphs))
        if HAN.match(glyphs[place].sign) and HAN.match(glyphs[place - 1].sign)
    ]
    spaced = {place for place in neighbours if glyphs[place].after_space}
    if len(spaced) <= len(neighbours) / 2:
        return list(glyphs)
    return [
        replace(glyph, after_space=False) if place in spaced else glyph for place, glyph in enumerate(glyphs)
    ]


def _visible(signs: Sequence[Sign], page: Any) -> tuple[list[Sign], bool]:
    shown = [sign for sign in signs if not sign.is_hidden]
    plain = [sign for sign in shown if not sign.is_invisible]
    from_ocr = len(shown) - len(plain) > OCR_SHARE * len(plain)
    candidates = shown if from_ocr else plain
    if not any(sign.is_white for sign in candidates):
        return candidates, from_ocr
    backdrops = list(_backdrops(page))
    return [sign for sign in candidates if not sign.is_white or _lies_on(sign, backdrops)], from_ocr


def _lies_on(sign: Sign, backdrops: Iterable[Box]) -> bool:
    x, y = (sign.box[0] + sign.box[2]) / 2, (sign.box[1] + sign.box[3]) / 2
    return any(left < x < right and bottom < y < top for left, bottom, right, top in backdrops)


def _backdrops(page: Any) -> Iterator[Box]:
    """Boxes of what white text can be seen on: pictures, shadings, and shapes filled with a colour."""
    import pypdfium2.raw as pdfium

    for item in page.get_objects(max_depth=1):
        is_shape = item.type == pdfium.FPDF_PAGEOBJ_PATH
        if item.type in (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_SHADING) or (
            is_shape and _is_filled(item.raw)
        ):
            yield item.get_bounds()


def _is_filled(shape: Any) -> bool:
    import pypdfium2.raw as pdfium

    mode, stroke = ctypes.c_int(), ctypes.c_int()
    pdfium.FPDFPath_GetDrawMode(shape, mode, stroke)
    return mode.value != pdfium.FPDF_FILLMODE_NONE and not _is_white(_fill(pdfium, shape))


def _fill(pdfium: Any, item: Any) -> tuple[int, int, int, int]:
    """Red, green, blue, opacity, each 0 to 255."""
    colour = [ctypes.c_uint(0) for _ in range(3)] + [ctypes.c_uint(255)]
    pdfium.FPDFPageObj_GetFillColor(item, *colour)
    red, green, blue, opacity = (part.value for part in colour)
    return red, green, blue, opacity


def _is_white(colour: tuple[int, int, int, int]) -> bool:
    return min(colour[:3]) >= WHITE


@dataclass(frozen=True, slots=True)
class Ink:
    """How a stretch of text is drawn."""

    is_invisible: bool
    is_white: bool
    is_transparent: bool


def _signs(text_page: Any, page_box: Box) -> Iterator[Sign]:
    """Every sign that is not white space, in the order of the file."""
    import pypdfium2.raw as pdfium

    box, inks = pdfium.FS_RECTF(), dict[int, Ink]()
    after_space, lead = False, 0
    for place in range(pdfium.FPDFText_CountChars(text_page)):
        code = pdfium.FPDFText_GetUnicode(text_page, place)
        if 0xD800 <= code < 0xDC00:
            lead = code  # the first half of a sign beyond 16 bits; the second follows
            continue
        if lead and 0xDC00 <= code < 0xE000:
            code = 0x10000 + ((lead - 0xD800) << 10) + (code - 0xDC00)
        lead = 0
        sign = HYPHEN_AT_BREAK if code == PDFIUM_HYPHEN else chr(code)
        if code == 0 or sign.isspace():
            after_space |= code != 0
            continue
        pdfium.FPDFText_GetLooseCharBox(text_page, place, box)
        placed = (box.left, box.bottom, box.right, box.top)
        quarter = round(pdfium.FPDFText_GetCharAngle(text_page, place) / (math.pi / 2)) % 4
        glyph = Glyph(sign, *_upright(placed, quarter), after_space)
        ink = _ink(pdfium, pdfium.FPDFText_GetTextObject(text_page, place), inks)
        is_hidden = ink.is_transparent or glyph.height < SMALLEST_HEIGHT or not _overlap(placed, page_box)
        yield Sign(glyph, placed, quarter, ink.is_invisible, is_hidden, ink.is_white)
        after_space = False


def _upright(box: Box, quarter: int) -> Box:
    """(left, right, bottom, top) after turning back by quarters of a turn; PDFium counts them clockwise."""
    left, bottom, right, top = box
    if quarter == 1:
        return -top, -bottom, left, right
    if quarter == 2:
        return -right, -left, -top, -bottom
    if quarter == 3:
        return bottom, top, -right, -left
    return left, right, bottom, top


def _overlap(box: Box, page_box: Box) -> bool:
    return box[0] < page_box[2] and box[2] > page_box[0] and box[1] < page_box[3] and box[3] > page_box[1]


def _ink(pdfium: Any, text_object: Any, known: dict[int, Ink]) -> Ink:
    """Asked once for each text object, since signs of one object share it."""
    if not text_object:
        return Ink(is_invisible=False, is_white=False, is_transparent=False)
    address = ctypes.addressof(text_object.contents)
    if address not in known:
        colour = _fill(pdfium, text_object)
        mode = pdfium.FPDFTextObj_GetTextRenderMode(text_object)
        known[address] = Ink(mode in INVISIBLE_MODES, _is_white(colour), colour[3] == 0)
    return known[address]
