"""What a file is: told from its bytes first, from its name only among kinds of text."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Literal

from ingest.corpus.errors import Unreadable
from ingest.read.canonical import display_name

MediaType = Literal[
    "text/plain",
    "text/markdown",
    "text/html",
    "application/pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
]
DOCX: MediaType = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
BY_SUFFIX: dict[str, MediaType] = {
    "": "text/plain",
    ".txt": "text/plain",
    ".text": "text/plain",
    ".log": "text/plain",
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "text/html",
    ".pdf": "application/pdf",
    ".docx": DOCX,
}
PDF_MARK_WITHIN = 1024  # bytes; readers have always allowed junk before "%PDF-"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # Office files before 2007, and encrypted ones after
ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
HTML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]{0,200}\?>\s*)?<(?:!doctype\s+html|html)\b", re.IGNORECASE
)
BINARY_STARTS = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"RIFF": "a sound, image or video",
    b"\x1f\x8b": "a gzip archive",
    b"7z\xbc\xaf": "a 7z archive",
    b"Rar!": "a RAR archive",
    b"\x7fELF": "a program",
    b"MZ": "a program",
}


def media_type_of(data: bytes, source_name: str) -> MediaType:
    """:raises Unreadable: "empty", "encrypted_document", "corrupt_document" or "unsupported_type" """
    if not data:
        raise Unreadable(
            "empty", f"{display_name(source_name)} has 0 bytes.", next_step="Upload a file that holds text."
        )
    if b"%PDF-" in data[:PDF_MARK_WITHIN]:
        return "application/pdf"
    if data.startswith(b"PK\x03\x04"):
        return _zip_type(data, source_name)
    if data.startswith(OLE):
        raise _ole_error(data, source_name)
    for start, what in BINARY_STARTS.items():
        if data.startswith(start):
            raise _unsupported(source_name, f"it is {what}")
    if HTML_START.match(data):
        return "text/html"
    return _text_type(source_name)


def type_by_name(source_name: str) -> MediaType | None:
    """What the name's suffix promises; None for a suffix that this version does not read."""
    return BY_SUFFIX.get(PurePath(source_name).suffix.lower())


def _zip_type(data: bytes, source_name: str) -> MediaType:
    # The zip names its parts in clear text, whatever compresses them.
    if b"word/document" in data or b"word\\document" in data:
        return DOCX
    if type_by_name(source_name) == DOCX:
        raise Unreadable(
            "corrupt_document",
            f"{display_name(source_name)} is a zip archive without a Word document inside.",
            why="It is damaged, cut short, or something else under the name of a DOCX.",
            next_step="Open it in a word processor, save it again and upload that.",
        )
    raise _unsupported(source_name, "it is a zip archive")


def _ole_error(data: bytes, source_name: str) -> Unreadable:
    if ENCRYPTED_PACKAGE in data:
        return Unreadable(
            "encrypted_document",
            f"{display_name(source_name)} is protected by a password.",
            why="Its text cannot be read without it.",
            next_step="Save a copy without the password and upload that.",
        )
    return _unsupported(source_name, "it is an Office file from before 2007")


def _text_type(source_name: str) -> MediaType:
    suffix = PurePath(source_name).suffix.lower()
    named = type_by_name(source_name)
    if named is None:
        raise _unsupported(source_name, f"files named {suffix} are not read")
    if not named.startswith("text/"):
        raise Unreadable(
            "corrupt_document",
            f"{display_name(source_name)} is named {suffix}, but its content is none.",
            why="It is damaged, or something else under that name.",
            next_step=f"Open it in a program for {suffix} files, save it again and upload that.",
        )
    return named


def _unsupported(source_name: str, why: str) -> Unreadable:
    return Unreadable(
        "unsupported_type",
        f"{display_name(source_name)} cannot be read: {why}.",
        next_step="Upload text, Markdown, HTML, PDF or DOCX.",
    )
