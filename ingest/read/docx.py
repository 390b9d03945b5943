"""DOCX to a document: the text as it stands now, with headings, lists, tables, text boxes and notes.

Read straight from the XML: python-docx was tried, and it passes over tracked insertions and text boxes and
cannot open the strict variant of the format. Names are compared without namespace, which makes both variants
alike. Tracked deletions, hidden runs, field codes and comments are left out; nothing is ever fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from io import BytesIO
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser
from zipfile import BadZipFile, ZipFile

from ingest.corpus.errors import Unreadable
from ingest.corpus.types import Document
from ingest.read.canonical import Part, display_name, document_of, lay_out, lists_joined
from ingest.read.detect import DOCX

UNPACKED_BYTES = 200_000_000
UNPACKED_RATIO = 100  # unpacked to packed; text in XML reaches about 20
SMALL_PART = 1_000_000  # bytes; below this a high ratio does no harm
MAIN_PART = re.compile(r"word/document\d*\.xml$")
NOTES = re.compile(r"word/(?:footnotes|endnotes)\d*\.xml$")
MARGINS = re.compile(r"word/(?:header|footer)\d*\.xml$")
HEADING_NAME = re.compile(r"heading (\d)|(title)$", re.IGNORECASE)
UNSEEN = frozenset(
    {"del", "moveFrom", "instrText", "delText", "rPr", "pPr", "tblPr", "trPr", "tcPr", "Fallback"}
)
WRITTEN_AS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
CELL_BORDER = " | "


def read_docx(data: bytes, source_name: str) -> Document:
    """The document's text as Word would show it.

    :raises Unreadable: corrupt_document, encrypted_document, zip_bomb, no_text_layer or garbled
    """
    try:
        with ZipFile(BytesIO(data)) as archive:
            return _read(archive, source_name)
    except (BadZipFile, ParseError, EOFError) as error:
        raise _corrupt(source_name, f"it is damaged or cut short ({error})") from error


def _read(archive: ZipFile, source_name: str) -> Document:
    _require_modest_size(archive, source_name)
    names = archive.namelist()
    main = next(filter(MAIN_PART.match, names), None)
    if main is None:
        raise _corrupt(source_name, "it has no main part")
    levels = _heading_levels(archive, source_name)
    body = _root(archive, main, source_name)
    parts = [*_parts(body, levels)]
    for name in filter(NOTES.match, names):
        parts += _parts(_root(archive, name, source_name), levels)
    margins = (_parts(_root(archive, name, source_name), levels) for name in filter(MARGINS.match, names))
    # A header stands on every page, in up to three variants; it is worth one place, after the text.
    parts += {part.text: part for margin in margins for part in margin}.values()
    text, blocks, removed = lay_out(lists_joined(parts))
    embedded = any(_name(element) == "altChunk" for element in body.iter())
    if not blocks:
        raise _no_text(source_name, embedded)
    return document_of(
        text,
        blocks,
        titles=[_core_title(archive, source_name), *(part.text for part in parts if part.kind == "heading")],
        source_name=source_name,
        media_type=DOCX,
        warnings=(
            *removed.warnings,
            *(["A document embedded in this one was not read."] if embedded else []),
        ),
    )


# --- the archive -------------------------------------------------------------------------------


def _require_modest_size(archive: ZipFile, source_name: str) -> None:
    """Judged by the sizes that the archive declares; `zipfile` holds every part to its own."""
    if any(entry.flag_bits & 1 for entry in archive.infolist()):
        raise Unreadable(
            "encrypted_document",
            f"{display_name(source_name)} is protected by a password.",
            next_step="Save a copy without the password and upload that.",
        )
    unpacked = sum(entry.file_size for entry in archive.infolist())
    dense = [
        entry
        for entry in archive.infolist()
        if entry.file_size > max(SMALL_PART, UNPACKED_RATIO * entry.compress_size)
    ]
    if unpacked > UNPACKED_BYTES or dense:
        raise Unreadable(
            "zip_bomb",
            f"{display_name(source_name)} unpacks to {unpacked} bytes, {len(dense)} of its parts to over "
            f"{UNPACKED_RATIO} times their size.",
            why=f"More than {UNPACKED_BYTES} bytes, or such a ratio, is no text that people wrote.",
            next_step="Open it in a word processor, save it again and upload that.",
        )


def _root(archive: ZipFile, name: str, source_name: str) -> Element:
    parser = XMLParser(target=_PlainXml(source_name))
    parser.feed(archive.read(name))
    root: Element = parser.close()
    return root


class _PlainXml(TreeBuilder):
    """XML without a document type: Word writes none, and bombs and stolen files are made of entities."""

    def __init__(self, source_name: str) -> None:
        super().__init__()
        self._source_name = source_name

    def doctype(self, *_: object) -> None:
        raise _corrupt(self._source_name, "it declares a document type, which Word files never do")


def _corrupt(source_name: str, why: str) -> Unreadable:
    return Unreadable(
        "corrupt_document",
        f"{display_name(source_name)} cannot be read as DOCX: {why}.",
        next_step="Open it in a word processor, save it again and upload that.",
    )


def _no_text(source_name: str, embedded: bool) -> Unreadable:
    return Unreadable(
        "no_text_layer",
        f"{display_name(source_name)} holds no text of its own.",
        why="It wraps another document, which is not read." if embedded else "It may hold pictures only.",
        next_step="Open it in a word processor and save it again, or run OCR on it first.",
    )


def _core_title(archive: ZipFile, source_name: str) -> str:
    if "docProps/core.xml" not in archive.namelist():
        return ""
    core = _root(archive, "docProps/core.xml", source_name)
    return next((element.text or "" for element in core if _name(element) == "title"), "")


def _heading_levels(archive: ZipFile, source_name: str) -> dict[str, int]:
    """Style id to heading level, by the style's name, which Word keeps in English in every language."""
    if "word/styles.xml" not in archive.namelist():
        return {}
    levels = {}
    for style in _root(archive, "word/styles.xml", source_name):
        named = _child(style, "name")
        found = HEADING_NAME.match(_value(named)) if named is not None else None
        if found:
            levels[_attribute(style, "styleId")] = int(found.group(1) or 1)
    return levels


# --- the text ----------------------------------------------------------------------------------


def _parts(element: Element, levels: Mapping[str, int]) -> Iterator[Part]:
    """Paragraphs and tables below `element`, in order; a text box comes after the paragraph that holds it."""
    for child in _seen(element):
        name = _name(child)
        if name == "p":
            yield _paragraph(child, levels)
            yield from (part for box in _boxes(child) for part in _parts(box, levels))
        elif name == "tbl":
            yield Part("table", "\n".join(_rows(child, levels)))
        else:
            yield from _parts(child, levels)


def _seen(element: Element) -> Iterator[Element]:
    """Children that a reader sees. Of alternative contents the first is the one that Word shows."""
    children = (child for child in element if _name(child) not in UNSEEN)
    if _name(element) == "AlternateContent":
        yield from [*children][:1]
    else:
        yield from children


def _rows(table: Element, levels: Mapping[str, int]) -> Iterator[str]:
    for row in _descendants(table, "tr"):
        cells = (" ".join(part.text for part in _parts(cell, levels)) for cell in _descendants(row, "tc"))
        yield CELL_BORDER.join(" ".join(cell.split()) for cell in cells)


def _descendants(element: Element, name: str) -> Iterator[Element]:
    """The nearest elements of that name: those of a table within a cell are not this table's."""
    for child in _seen(element):
        if _name(child) == name:
            yield child
        elif _name(child) not in ("tbl", "p"):
            yield from _descendants(child, name)


def _boxes(element: Element) -> Iterator[Element]:
    for child in _seen(element):
        if _name(child) == "txbxContent":
            yield child
        else:
            yield from _boxes(child)


def _paragraph(paragraph: Element, levels: Mapping[str, int]) -> Part:
    text = "".join(_text(paragraph)).strip()
    properties = _child(paragraph, "pPr")
    level = _level(properties, levels)
    if level:
        return Part("heading", " ".join(text.split()), level=level)
    if text and properties is not None and _child(properties, "numPr") is not None:
        return Part("list", "- " + text)
    return Part("paragraph", text)


def _level(properties: Element | None, levels: Mapping[str, int]) -> int:
    if properties is None:
        return 0
    outline, style = _child(properties, "outlineLvl"), _child(properties, "pStyle")
    if outline is not None and _value(outline).isdecimal() and int(_value(outline)) < 9:
        return int(_value(outline)) + 1
    return levels.get(_value(style), 0) if style is not None else 0


def _text(element: Element) -> Iterator[str]:
    for child in _seen(element):
        name = _name(child)
        if name == "t":
            yield child.text or ""
        elif name in WRITTEN_AS:
            yield WRITTEN_AS[name]
        elif name != "txbxContent" and not (name == "r" and _is_hidden(child)):
            yield from _text(child)


def _is_hidden(run: Element) -> bool:
    properties = _child(run, "rPr")
    vanish = None if properties is None else _child(properties, "vanish")
    return vanish is not None and _value(vanish) not in ("0", "false", "off")


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _child(element: Element, name: str) -> Element | None:
    return next((child for child in element if _name(child) == name), None)


def _attribute(element: Element, name: str) -> str:
    return next((value for key, value in element.items() if key.rpartition("}")[2] == name), "")


def _value(element: Element) -> str:
    return _attribute(element, "val")
