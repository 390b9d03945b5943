"""The signs on a PDF page that a reader can see, and their lines in reading order.

Text that nobody sees (white, tiny, off the page, invisible) is dropped, unless a page has no other: then it
is what OCR laid under a scan. PDFium is not thread-safe and must run in the child.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ingest.read.layout import HYPHEN_AT_BREAK, Glyph, Line, lines_of

INVISIBLE_MODES = (3, 7)  # PDF 32000-1, table 106: neither filled nor stroked
SMALLEST_HEIGHT = 1.0  # points; nobody reads less
WHITE = 250  # of 255, in each colour
RENDERED_SCALE = 300 / 72  # pixels a point: what OCR wants
RENDERED_PIXELS = 4200  # of the longer side; a page may be metres long
OCR_SHARE = 4  # invisible signs to a visible one; so many mean a text layer under a scan
PDFIUM_HYPHEN = 2  # what it writes for a hyphen that parts a word at the end of a line
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


def read_page(pdf: Any, number: int) -> Page:
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


def rendered(pdf: Any, number: int) -> bytes:
    """The page as a grey picture in PGM, which needs no library to be written."""
    page = pdf[number]
    scale = min(RENDERED_SCALE, RENDERED_PIXELS / max(page.get_size()))
    bitmap = page.render(scale=scale, grayscale=True)
    data = bytes(bitmap.buffer)
    rows = (data[row * bitmap.stride : row * bitmap.stride + bitmap.width] for row in range(bitmap.height))
    picture = b"P5 %d %d 255\n" % (bitmap.width, bitmap.height) + b"".join(rows)
    bitmap.close()
    page.close()
    return picture


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
    after_space, spaced, lead = False, 0.0, 0
    for place in range(pdfium.FPDFText_CountChars(text_page)):
        code = pdfium.FPDFText_GetUnicode(text_page, place)
        if 0xD800 <= code < 0xDC00:
            lead = code  # the first half of a sign beyond 16 bits; the second follows
            continue
        if lead and 0xDC00 <= code < 0xE000:
            code = 0x10000 + ((lead - 0xD800) << 10) + (code - 0xDC00)
        lead = 0
        sign = HYPHEN_AT_BREAK if code == PDFIUM_HYPHEN else chr(code)
        pdfium.FPDFText_GetLooseCharBox(text_page, place, box)
        placed = (box.left, box.bottom, box.right, box.top)
        if code == 0 or sign.isspace():
            after_space |= code != 0
            is_drawn = code != 0 and not pdfium.FPDFText_IsGenerated(text_page, place)
            spaced += (placed[2] - placed[0]) * is_drawn  # of an upright line; others have no narrow cells
            continue
        quarter = round(pdfium.FPDFText_GetCharAngle(text_page, place) / (math.pi / 2)) % 4
        glyph = Glyph(sign, *_upright(placed, quarter), after_space, spaced)
        ink = _ink(pdfium, pdfium.FPDFText_GetTextObject(text_page, place), inks)
        is_hidden = ink.is_transparent or glyph.height < SMALLEST_HEIGHT or not _overlap(placed, page_box)
        yield Sign(glyph, placed, quarter, ink.is_invisible, is_hidden, ink.is_white)
        after_space, spaced = False, 0.0


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
