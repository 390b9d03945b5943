"""Zip packages of XML, as Office programs and e-books make them, opened with care.

Sizes are judged before anything is unpacked, document types are refused, and nothing is fetched or written.
Names of elements are compared without namespace, which makes the strict and the usual variants alike.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from urllib.parse import unquote
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser
from zipfile import BadZipFile, ZipFile

from ingest.corpus.errors import Unreadable
from ingest.read.canonical import display_name

UNPACKED_BYTES = 200_000_000
UNPACKED_RATIO = 100  # unpacked to packed; text in XML reaches about 20
SMALL_PART = 1_000_000  # bytes; below this a high ratio does no harm
READ_AT_ONCE = 2**20  # bytes of a part that is read as a stream


@dataclass(frozen=True, slots=True)
class Package:
    """An open package and what its messages call it."""

    archive: ZipFile
    source_name: str
    kind: str  # "DOCX"

    @property
    def names(self) -> list[str]:
        return self.archive.namelist()

    def root(self, name: str) -> Element:
        """The part's XML. :raises Unreadable: corrupt_document where it declares a document type"""
        parser = XMLParser(target=_PlainXml(self))
        parser.feed(self.archive.read(name))
        root: Element = parser.close()
        return root

    def each(self, name: str, *tags: str) -> Iterator[Element]:
        """Elements of these names as they end, one at a time and then emptied: for parts of any length."""
        builder = _PlainXml(self, frozenset(tags))
        parser = XMLParser(target=builder)
        with self.archive.open(name) as part:
            while data := part.read(READ_AT_ONCE):
                parser.feed(data)
                for element in builder.taken():
                    yield element
                    element.clear()
        parser.close()
        yield from builder.taken()

    def relations(self, part: str) -> dict[str, tuple[str, str]]:
        """Id to (type's last word, part's name) of what `part` refers to within the package."""
        folder, name = posixpath.split(part)
        listed = posixpath.join(folder, "_rels", name + ".rels")
        if listed not in self.names:
            return {}
        return {
            attribute(one, "Id"): (
                attribute(one, "Type").rpartition("/")[2],
                inside(folder, attribute(one, "Target")),
            )
            for one in self.root(listed)
            if attribute(one, "TargetMode") != "External"
        }

    def corrupt(self, why: str) -> Unreadable:
        return corrupt(self.source_name, self.kind, why)


def corrupt(source_name: str, kind: str, why: str) -> Unreadable:
    return Unreadable(
        "corrupt_document",
        f"{display_name(source_name)} cannot be read as {kind}: {why}.",
        next_step="Open it in its own program, save it again and upload that.",
    )


def core_title(package: Package) -> str:
    """The title among an Office file's properties, or ""."""
    if "docProps/core.xml" not in package.names:
        return ""
    core = package.root("docProps/core.xml")
    return next((element.text or "" for element in core if local_name(element) == "title"), "")


class _PlainXml(TreeBuilder):
    """XML without a document type: Office writes none, and bombs and stolen files are made of entities."""

    def __init__(self, package: Package, taken: frozenset[str] = frozenset()) -> None:
        super().__init__()
        self._package = package
        self._wanted = taken
        self._is_wanted: dict[str, bool] = {}  # by full name: looked up for every element
        self._ended: list[Element] = []

    def doctype(self, *_: object) -> None:
        raise self._package.corrupt("it declares a document type, which such files never do")

    def end(self, tag: str) -> Element:
        element = super().end(tag)
        if tag not in self._is_wanted:
            self._is_wanted[tag] = local_name(element) in self._wanted
        if self._is_wanted[tag]:
            self._ended.append(element)
        return element

    def taken(self) -> list[Element]:
        ended, self._ended = self._ended, []
        return ended


@contextmanager
def open_package(data: bytes, source_name: str, kind: str) -> Iterator[Package]:
    """:raises Unreadable: corrupt_document (while it is open too), encrypted_document, zip_bomb"""
    try:
        with ZipFile(BytesIO(data)) as archive:
            require_modest_size(archive, source_name)
            yield Package(archive, source_name, kind)
    except (BadZipFile, ParseError, EOFError) as error:
        raise corrupt(source_name, kind, f"it is damaged or cut short ({error})") from error


def require_modest_size(archive: ZipFile, source_name: str) -> None:
    """Judged by the sizes that the archive declares; `zipfile` holds every part to its own.

    :raises Unreadable: encrypted_document or zip_bomb
    """
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
            next_step="Open it in its own program, save it again and upload that.",
        )


# --- elements ----------------------------------------------------------------------------------


def local_name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def child(element: Element | None, *names: str) -> Element | None:
    """The first child of the first name, its first child of the second, and so on."""
    for name in names:
        if element is None:
            return None
        element = next((one for one in element if local_name(one) == name), None)
    return element


def inside(folder: str, target: str) -> str:
    """The name in the package of what `target` means for a part in `folder`."""
    return posixpath.normpath(posixpath.join("/", folder, unquote(target))).lstrip("/")


def attribute(element: Element, name: str) -> str:
    return next((value for key, value in element.items() if key.rpartition("}")[2] == name), "")


def relation_id(element: Element) -> str:
    """`r:id`, which stands beside an `id` of another meaning."""
    return next((value for key, value in element.items() if key.endswith("}id")), "")
