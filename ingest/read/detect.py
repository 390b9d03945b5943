"""What a file is: told from its bytes first, from its name only among kinds of text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import PurePath
from typing import Literal

from ingest.corpus.errors import Unreadable
from ingest.read.canonical import display_name

MediaType = Literal[
    "text/plain",
    "text/markdown",
    "text/html",
    "text/csv",
    "text/tab-separated-values",
    "application/json",
    "application/jsonl",
    "application/pdf",
    "application/epub+zip",
    "application/zip",
    "message/rfc822",
    "image/png",
    "image/jpeg",
    "image/tiff",
    "image/bmp",
    "image/webp",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
]
DOCX: MediaType = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
XLSX: MediaType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PPTX: MediaType = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
READ_HERE = "Upload text, Markdown, HTML, PDF, DOCX, PPTX, XLSX, CSV, JSON, EPUB, EML, or a ZIP of these."
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
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".tab": "text/tab-separated-values",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".ndjson": "application/jsonl",
    ".eml": "message/rfc822",
    ".mht": "message/rfc822",
    ".mhtml": "message/rfc822",
    ".pdf": "application/pdf",
    ".docx": DOCX,
    ".docm": DOCX,
    ".xlsx": XLSX,
    ".xlsm": XLSX,
    ".pptx": PPTX,
    ".pptm": PPTX,
    ".ppsx": PPTX,
    ".epub": "application/epub+zip",
    ".zip": "application/zip",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".bmp": "image/bmp",
    ".webp": "image/webp",
}
READ_AS_TEXT = frozenset({"application/json", "application/jsonl", "message/rfc822"})
ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")
LOCAL_ENTRY, CENTRAL_ENTRY, END_OF_ZIP = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
NAMES_LOOKED_AT = 10_000
BY_ENTRY: dict[bytes, MediaType] = {  # a part that every package of the kind has, by its name's beginning
    b"word/document": DOCX,
    b"xl/workbook.xml": XLSX,
    b"ppt/presentation": PPTX,
    b"META-INF/container.xml": "application/epub+zip",
}
IMAGES: dict[bytes, MediaType] = {
    b"\x89PNG": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"II*\x00": "image/tiff",
    b"MM\x00*": "image/tiff",
    b"BM": "image/bmp",
    b"RIFF": "image/webp",
}
PDF_MARK_WITHIN = 1024  # bytes; readers have always allowed junk before "%PDF-"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # Office files before 2007, and encrypted ones after
ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
HTML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]{0,200}\?>\s*)?<(?:!doctype\s+html|html)\b", re.IGNORECASE
)
BINARY_STARTS = {
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
    if data.startswith(ZIP_STARTS):
        return _zip_type(data, source_name)
    if image := _image_type(data, source_name):
        return image
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


def _image_type(data: bytes, source_name: str) -> MediaType | None:
    """An image under an image's name, or under none; under another format's name it is a mistake."""
    image = next((kind for start, kind in IMAGES.items() if data.startswith(start)), None)
    if image in ("image/bmp", "image/webp") and type_by_name(source_name) != image:
        return None  # "BM" may begin a word, "RIFF" a sound
    if image and PurePath(source_name).suffix and not (type_by_name(source_name) or "").startswith("image/"):
        raise _unsupported(source_name, "it is an image")
    return image


def _zip_type(data: bytes, source_name: str) -> MediaType:
    names = _entry_names(data)
    found = next(
        (kind for start, kind in BY_ENTRY.items() if any(name.startswith(start) for name in names)), None
    )
    promised = type_by_name(source_name)
    if found:
        return found
    if promised in BY_ENTRY.values():
        raise Unreadable(
            "corrupt_document",
            f"{display_name(source_name)} is a zip archive without what such a file holds inside.",
            why="It is damaged, cut short, or something else under that name.",
            next_step="Open it in its own program, save it again and upload that.",
        )
    if promised == "application/zip" or not PurePath(source_name).suffix:
        return "application/zip"
    raise _unsupported(source_name, "it is a zip archive of another kind")


def _entry_names(data: bytes) -> list[bytes]:
    """What the archive's directory lists, or what can be found of it where the directory is lost.

    Read from the bytes: `zipfile` makes an object of every entry, and this runs in the service's own process.
    """
    end = data.rfind(END_OF_ZIP)
    start = int.from_bytes(data[end + 16 : end + 20], "little") if end >= 0 else len(data)
    if data[start : start + 4] == CENTRAL_ENTRY:
        return list(islice(_names(data, CENTRAL_ENTRY, start, end, header=46, lengths=28), NAMES_LOOKED_AT))
    return list(islice(_names(data, LOCAL_ENTRY, 0, len(data), header=30, lengths=26), NAMES_LOOKED_AT))


def _names(data: bytes, mark: bytes, start: int, end: int, *, header: int, lengths: int) -> Iterator[bytes]:
    while (start := data.find(mark, start, end)) >= 0:
        length = int.from_bytes(data[start + lengths : start + lengths + 2], "little")
        yield data[start + header : start + header + length].replace(b"\\", b"/")
        start += header + length


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
    if not named.startswith("text/") and named not in READ_AS_TEXT:
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
        next_step=READ_HERE,
    )
