"""DOCX to a document: the text as it stands now, with headings, lists, tables, text boxes and notes.

Read straight from the XML: python-docx was tried, and it passes over tracked insertions and text boxes and
cannot open the strict variant of the format. Names are compared without namespace, which makes both variants
alike. Tracked deletions, hidden runs, field codes and comments are left out; nothing is ever fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element

from ingest.corpus.errors import Unreadable
from ingest.corpus.types import Document
from ingest.read.canonical import Part, display_name, document_of, lay_out, lists_joined
from ingest.read.detect import DOCX
from ingest.read.grid import row_text
from ingest.read.package import Package, attribute, child, core_title, local_name, open_package

MAIN_PART = re.compile(r"word/document\d*\.xml$")
NOTES = re.compile(r"word/(?:footnotes|endnotes)\d*\.xml$")
MARGINS = re.compile(r"word/(?:header|footer)\d*\.xml$")
HEADING_NAME = re.compile(r"heading (\d)|(title)$", re.IGNORECASE)
UNSEEN = frozenset(
    {"del", "moveFrom", "instrText", "delText", "rPr", "pPr", "tblPr", "trPr", "tcPr", "Fallback"}
)
WRITTEN_AS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}


def read_docx(data: bytes, source_name: str) -> Document:
    """The document's text as Word would show it.

    :raises Unreadable: corrupt_document, encrypted_document, zip_bomb, no_text_layer or garbled
    """
    with open_package(data, source_name, "DOCX") as package:
        return _read(package)


def _read(package: Package) -> Document:
    source_name, names = package.source_name, package.names
    main = next(filter(MAIN_PART.match, names), None)
    if main is None:
        raise package.corrupt("it has no main part")
    levels = _heading_levels(package)
    body = package.root(main)
    notes = [package.root(name) for name in filter(NOTES.match, names)]
    margins = [package.root(name) for name in filter(MARGINS.match, names)]
    parts = [part for root in (body, *notes) for part in _parts(root, levels)]
    # A header stands on every page, in up to three variants; it is worth one place, after the text.
    parts += {part.text: part for margin in margins for part in _parts(margin, levels)}.values()
    text, blocks, removed = lay_out(lists_joined(parts))
    embedded = any(local_name(element) == "altChunk" for element in body.iter())
    if not blocks:
        raise _no_text(source_name, embedded)
    return document_of(
        text,
        blocks,
        titles=[core_title(package), *(part.text for part in parts if part.kind == "heading")],
        source_name=source_name,
        media_type=DOCX,
        left_out=removed.visible + sum(map(_left_out, (body, *notes))),
        warnings=(
            *removed.warnings,
            *(["A document embedded in this one was not read."] if embedded else []),
        ),
    )


# --- beside the text ---------------------------------------------------------------------------


def _no_text(source_name: str, embedded: bool) -> Unreadable:
    return Unreadable(
        "no_text_layer",
        f"{display_name(source_name)} holds no text of its own.",
        why="It wraps another document, which is not read." if embedded else "It may hold pictures only.",
        next_step="Open it in a word processor and save it again, or run OCR on it first.",
    )


def _heading_levels(package: Package) -> dict[str, int]:
    """Style id to heading level, by the style's name, which Word keeps in English in every language."""
    if "word/styles.xml" not in package.names:
        return {}
    levels = {}
    for style in package.root("word/styles.xml"):
        named = child(style, "name")
        found = HEADING_NAME.match(_value(named)) if named is not None else None
        if found:
            levels[attribute(style, "styleId")] = int(found.group(1) or 1)
    return levels


# --- the text ----------------------------------------------------------------------------------


def _parts(element: Element, levels: Mapping[str, int]) -> Iterator[Part]:
    """Paragraphs and tables below `element`, in order; a text box comes after the paragraph that holds it."""
    for one in _seen(element):
        name = local_name(one)
        if name == "p":
            yield _paragraph(one, levels)
            yield from (part for box in _boxes(one) for part in _parts(box, levels))
        elif name == "tbl":
            yield Part("table", "\n".join(_rows(one, levels)))
        else:
            yield from _parts(one, levels)


def _seen(element: Element) -> Iterator[Element]:
    """Children that a reader sees. Of alternative contents the first is the one that Word shows."""
    children = (one for one in element if local_name(one) not in UNSEEN)
    if local_name(element) == "AlternateContent":
        yield from [*children][:1]
    else:
        yield from children


def _rows(table: Element, levels: Mapping[str, int]) -> Iterator[str]:
    for row in _descendants(table, "tr"):
        cells = (" ".join(part.text for part in _parts(cell, levels)) for cell in _descendants(row, "tc"))
        yield row_text(cells)


def _descendants(element: Element, name: str) -> Iterator[Element]:
    """The nearest elements of that name: those of a table within a cell are not this table's."""
    for one in _seen(element):
        if local_name(one) == name:
            yield one
        elif local_name(one) not in ("tbl", "p"):
            yield from _descendants(one, name)


def _boxes(element: Element) -> Iterator[Element]:
    for one in _seen(element):
        if local_name(one) == "txbxContent":
            yield one
        else:
            yield from _boxes(one)


def _paragraph(paragraph: Element, levels: Mapping[str, int]) -> Part:
    text = "".join(_text(paragraph)).strip()
    properties = child(paragraph, "pPr")
    level = _level(properties, levels)
    if level:
        return Part("heading", " ".join(text.split()), level=level)
    if text and properties is not None and child(properties, "numPr") is not None:
        return Part("list", "- " + text)
    return Part("paragraph", text)


def _level(properties: Element | None, levels: Mapping[str, int]) -> int:
    if properties is None:
        return 0
    outline, style = child(properties, "outlineLvl"), child(properties, "pStyle")
    if outline is not None and _value(outline).isdecimal() and int(_value(outline)) < 9:
        return int(_value(outline)) + 1
    return levels.get(_value(style), 0) if style is not None else 0


def _text(element: Element) -> Iterator[str]:
    for one in _seen(element):
        name = local_name(one)
        if name == "t":
            yield one.text or ""
        elif name in WRITTEN_AS:
            yield WRITTEN_AS[name]
        elif name != "txbxContent" and not (name == "r" and _is_hidden(one)):
            yield from _text(one)


def _left_out(root: Element) -> int:
    """Visible characters of what was deleted or is hidden; a text box is written twice and counts once."""
    twice = {id(one) for box in root.iter() if local_name(box) == "Fallback" for one in box.iter()}
    runs = [one for one in root.iter() if local_name(one) == "r" and id(one) not in twice]
    hidden = [run for run in runs if _is_hidden(run)]
    deleted = [run for run in runs if child(run, "delText") is not None]
    texts = (
        one.text or "" for run in {*hidden, *deleted} for one in run if local_name(one) in ("t", "delText")
    )
    return sum(len("".join(text.split())) for text in texts)


def _is_hidden(run: Element) -> bool:
    properties = child(run, "rPr")
    vanish = None if properties is None else child(properties, "vanish")
    return vanish is not None and _value(vanish) not in ("0", "false", "off")


def _value(element: Element) -> str:
    return attribute(element, "val")
