"""PPTX to a document: a slide is a page; its title, text, tables and diagrams, then the speaker's notes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from ingest.corpus.errors import Unreadable
from ingest.corpus.types import Document
from ingest.read.canonical import Part, count_signs, display_name, document_of, lay_out, lists_joined
from ingest.read.detect import PPTX
from ingest.read.grid import row_text
from ingest.read.package import (
    Package,
    attribute,
    child,
    core_title,
    local_name,
    open_package,
    relation_id,
)

PRESENTATION = re.compile(r"ppt/presentation\.xml$")
TITLES = frozenset({"title", "ctrTitle"})
REPEATED = frozenset(
    {"dt", "ftr", "sldNum", "sldImg", "hdr"}
)  # placeholders that say the same on every slide
LISTS = frozenset({"", "body", "obj"})  # placeholders whose paragraphs have bullets
DEEPEST_INDENT = 8


@dataclass(frozen=True, slots=True)
class Slide:
    parts: tuple[Part, ...]
    is_hidden: bool
    has_chart: bool


def read_pptx(data: bytes, source_name: str) -> Document:
    """:raises Unreadable: corrupt_document, encrypted_document, zip_bomb, no_text_layer or garbled"""
    with open_package(data, source_name, "PPTX") as package:
        return _read(package)


def _read(package: Package) -> Document:
    main = next(filter(PRESENTATION.match, package.names), None)
    if main is None:
        raise package.corrupt("it has no presentation")
    relations = package.relations(main)
    ids = [relation_id(one) for one in package.root(main).iter() if local_name(one) == "sldId"]
    slides = [_slide(package, relations[one][1], page) for page, one in enumerate(ids, 1) if one in relations]
    shown = [part for slide in slides if not slide.is_hidden for part in slide.parts]
    text, blocks, removed = lay_out(lists_joined(shown))
    if not blocks:
        raise _no_text(package.source_name, len(slides))
    hidden = (part.text for slide in slides if slide.is_hidden for part in slide.parts)
    return document_of(
        text,
        blocks,
        titles=[core_title(package), *(part.text for part in shown if part.kind == "heading")],
        source_name=package.source_name,
        media_type=PPTX,
        pages=len(slides),
        left_out=removed.visible + sum(count_signs(one)[0] for one in hidden),
        warnings=(*removed.warnings, *_warnings(slides)),
    )


def _warnings(slides: list[Slide]) -> Iterator[str]:
    kinds = {
        "are hidden and were left out": [slide.is_hidden for slide in slides],
        "have no text": [not slide.parts for slide in slides],
        "have charts, whose figures were not read": [slide.has_chart for slide in slides],
    }
    for what, holds in kinds.items():
        numbers = [str(number) for number, held in enumerate(holds, 1) if held]
        if numbers:
            yield f"Slides that {what}: {', '.join(numbers)}."


def _no_text(source_name: str, slides: int) -> Unreadable:
    return Unreadable(
        "no_text_layer",
        f"{display_name(source_name)} has {slides} slides and no text on any of them.",
        why="They may hold pictures only.",
        next_step="Print it to PDF and have that read with OCR.",
    )


# --- a slide -----------------------------------------------------------------------------------


def _slide(package: Package, part: str, page: int) -> Slide:
    root, related = package.root(part), package.relations(part).values()
    shapes = [one for tree in root.iter() if local_name(tree) == "spTree" for one in _shapes(tree)]
    titles = [" ".join(_lines(one)) for one in shapes if _placeholder(one) in TITLES]
    title = " ".join(" ".join(titles).split())
    parts = [Part("heading", title, page, 1, title)] if title else []
    for one in shapes:
        parts += _parts(one, page, title)
    for kind, target in related:
        if kind == "diagramData":
            lines = _lines(package.root(target))
            parts += [Part("list", f"- {line}", page, section=title) for line in lines]
        elif kind == "notesSlide":
            parts += _notes(package.root(target), page, title)
    kinds = {kind for kind, _ in related}
    return Slide(
        tuple(part for part in parts if part.text.strip()),
        is_hidden=attribute(root, "show") in ("0", "false"),
        has_chart="chart" in kinds,
    )


def _notes(root: Element, page: int, title: str) -> Iterator[Part]:
    shapes = [one for tree in root.iter() if local_name(tree) == "spTree" for one in _shapes(tree)]
    for shape in shapes:
        if _placeholder(shape) not in REPEATED:
            yield from (Part("paragraph", line, page, section=title) for line in _lines(shape))


def _shapes(tree: Element) -> Iterator[Element]:
    """Shapes in the slide's order, those of groups among them, without hidden ones."""
    for one in tree:
        kind = local_name(one)
        if _is_hidden(one):
            continue
        if kind in ("grpSp", "AlternateContent", "Choice"):
            yield from _shapes(one)
        elif kind in ("sp", "graphicFrame"):
            yield one


def _is_hidden(shape: Element) -> bool:
    properties = next((one for one in shape if local_name(one).startswith("nv")), None)
    named = child(properties, "cNvPr")
    return named is not None and attribute(named, "hidden") in ("1", "true")


def _placeholder(shape: Element) -> str | None:
    """Its type, "" for the usual one; None for a shape that is no placeholder."""
    held = child(shape, "nvSpPr", "nvPr", "ph")
    return None if held is None else attribute(held, "type")


def _parts(shape: Element, page: int, title: str) -> Iterator[Part]:
    kind = _placeholder(shape)
    if kind in TITLES or kind in REPEATED:
        return
    table = next((one for one in shape.iter() if local_name(one) == "tbl"), None)
    if table is not None:
        yield Part("table", "\n".join(_rows(table)), page, section=title)
        return
    paragraphs = [one for one in shape.iter() if local_name(one) == "p"]
    is_list = kind in LISTS and len(paragraphs) > 1
    for paragraph in paragraphs:
        text = _text(paragraph)
        if is_list and text:
            yield Part("list", _indent(paragraph) + "- " + text, page, section=title)
        else:
            yield Part("paragraph", text, page, section=title)


def _rows(table: Element) -> Iterator[str]:
    for row in (one for one in table if local_name(one) == "tr"):
        yield row_text(" ".join(_lines(cell)) for cell in row if local_name(cell) == "tc")


def _lines(element: Element) -> Iterator[str]:
    """Paragraphs that hold something."""
    paragraphs = (one for one in element.iter() if local_name(one) == "p")
    yield from filter(None, map(_text, paragraphs))


def _text(paragraph: Element) -> str:
    runs = (one for one in paragraph.iter() if local_name(one) in ("t", "br", "tab"))
    return "".join({"br": " ", "tab": "\t"}.get(local_name(run), run.text or "") for run in runs).strip()


def _indent(paragraph: Element) -> str:
    properties = child(paragraph, "pPr")
    level = attribute(properties, "lvl") if properties is not None else ""
    return "  " * min(int(level), DEEPEST_INDENT) if level.isdecimal() else ""
