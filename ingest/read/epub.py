"""EPUB to a document: its chapters in reading order, each read as the HTML that it is."""

from __future__ import annotations

import posixpath
from xml.etree.ElementTree import Element

from ingest.corpus.errors import Unreadable
from ingest.corpus.types import Document
from ingest.read.canonical import Part, display_name, document_of, lay_out
from ingest.read.html import html_parts
from ingest.read.package import Package, attribute, child, inside, local_name, open_package

CONTAINER = "META-INF/container.xml"
ENCRYPTION = "META-INF/encryption.xml"
CHAPTERS = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml"})
FONT_CIPHERS = (
    "http://www.idpf.org/2008/embedding",
    "http://ns.adobe.com/pdf/enc#RC",
)  # of fonts, not of words


def read_epub(data: bytes, source_name: str) -> Document:
    """:raises Unreadable: corrupt_document, encrypted_document, zip_bomb, empty or garbled"""
    with open_package(data, source_name, "EPUB") as package:
        return _read(package)


def _read(package: Package) -> Document:
    _require_open(package)
    if CONTAINER not in package.names:
        raise package.corrupt("it has no container")
    roots = [one for one in package.root(CONTAINER).iter() if local_name(one) == "rootfile"]
    main = attribute(roots[0], "full-path") if roots else ""
    if main not in package.names:
        raise package.corrupt("it lists no book")
    book = package.root(main)
    parts: list[Part] = []
    missing, left_out = 0, 0
    for name in _spine(book, posixpath.dirname(main)):
        if name in package.names:
            read = html_parts(package.archive.read(name), name)
            parts += read.parts
            left_out += read.left_out
        else:
            missing += 1
    text, blocks, removed = lay_out(parts)
    return document_of(
        text,
        blocks,
        titles=[_title(book), *(part.text for part in parts if part.kind == "heading")],
        source_name=package.source_name,
        media_type="application/epub+zip",
        left_out=removed.visible + left_out,
        warnings=(
            *removed.warnings,
            *([f"{missing} chapters are missing from the file."] if missing else []),
        ),
    )


def _require_open(package: Package) -> None:
    if ENCRYPTION not in package.names:
        return
    methods = [one for one in package.root(ENCRYPTION).iter() if local_name(one) == "EncryptionMethod"]
    if any(attribute(one, "Algorithm") not in FONT_CIPHERS for one in methods):
        raise Unreadable(
            "encrypted_document",
            f"{display_name(package.source_name)} is protected by its publisher.",
            why="Its chapters are encrypted.",
            next_step="Upload a copy without protection.",
        )


def _spine(book: Element, folder: str) -> list[str]:
    """Names of the chapters, in reading order."""
    listed = {
        attribute(one, "id"): attribute(one, "href")
        for one in child(book, "manifest") or ()
        if attribute(one, "media-type") in CHAPTERS
    }
    order = [attribute(one, "idref") for one in child(book, "spine") or ()]
    return [inside(folder, listed[one].partition("#")[0]) for one in order if one in listed]


def _title(book: Element) -> str:
    return next((one.text or "" for one in child(book, "metadata") or () if local_name(one) == "title"), "")
