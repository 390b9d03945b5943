"""Which reader reads which format, and what one file may cost. Runs in the child."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from ingest.corpus.errors import Unreadable
from ingest.corpus.types import Document
from ingest.read.canonical import display_name
from ingest.read.csv import read_csv, read_tsv
from ingest.read.detect import DOCX, PPTX, READ_HERE, XLSX, MediaType, media_type_of, type_by_name
from ingest.read.docx import read_docx
from ingest.read.eml import read_eml
from ingest.read.epub import read_epub
from ingest.read.html import read_html
from ingest.read.image import read_image
from ingest.read.json import read_json, read_jsonl
from ingest.read.markdown import read_markdown
from ingest.read.ocr import Ocr
from ingest.read.pdf import read_pdf
from ingest.read.pptx import read_pptx
from ingest.read.text import read_text
from ingest.read.xlsx import read_xlsx
from ingest.read.zip import read_zip

DEEPEST = 2  # files within files: a mail in a ZIP may have an attachment


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """What one file may cost."""

    memory_bytes: int = 2**30  # address space of the child
    seconds: float = 60.0  # wall clock and, rounded up, processor time
    pages: int = 2000
    file_bytes: int = 50 * 2**20
    characters: int = 20_000_000  # of the canonical text


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What an operator allows beyond plain reading."""

    ocr_languages: str = ""  # as tesseract names them, "chi_sim+eng"; empty: pictures are not read
    passwords: tuple[str, ...] = ()  # tried on encrypted PDFs

    @property
    def ocr(self) -> Ocr | None:
        return Ocr(self.ocr_languages) if self.ocr_languages else None


DEFAULT_LIMITS = ReadLimits()
DEFAULT_OPTIONS = ReadOptions()
READERS: dict[MediaType, Callable[[bytes, str], Document]] = {
    "text/plain": read_text,
    "text/markdown": read_markdown,
    "text/html": read_html,
    "text/csv": read_csv,
    "text/tab-separated-values": read_tsv,
    "application/json": read_json,
    "application/jsonl": read_jsonl,
    "application/epub+zip": read_epub,
    DOCX: read_docx,
    XLSX: read_xlsx,
    PPTX: read_pptx,
}


def parse(
    data: bytes,
    source_name: str,
    limits: ReadLimits = DEFAULT_LIMITS,
    options: ReadOptions = DEFAULT_OPTIONS,
    depth: int = 0,
) -> Document:
    """The document, parsed in this very process; `depth` counts the files that this one lies in.

    :raises Unreadable: and whatever the format's library raises on a broken file
    """
    media_type = media_type_of(data, source_name)
    document = _read_as(media_type, data, source_name, limits, options, depth)
    if len(document.text) > limits.characters:
        raise Unreadable(
            "too_large",
            f"{display_name(source_name)} has {len(document.text)} characters, over {limits.characters}.",
            next_step="Upload it in parts, or raise the limit.",
        )
    promised = type_by_name(source_name)
    if promised in (media_type, None) or promised == "text/plain":
        return document
    return replace(
        document, warnings=(*document.warnings, f"The name says {promised}, the content is {media_type}.")
    )


def _read_as(
    media_type: MediaType,
    data: bytes,
    source_name: str,
    limits: ReadLimits,
    options: ReadOptions,
    depth: int,
) -> Document:
    read_member = partial(parse, limits=limits, options=options, depth=depth + 1)
    if media_type == "application/pdf":
        return read_pdf(data, source_name, limits.pages, options.passwords, options.ocr)
    if media_type.startswith("image/"):
        return read_image(data, source_name, media_type, options.ocr)
    if media_type == "message/rfc822":
        return read_eml(data, source_name, read_member if depth < DEEPEST else None)
    if media_type == "application/zip":
        _require_shallow(source_name, depth)
        return read_zip(data, source_name, read_member, limits.characters)
    return READERS[media_type](data, source_name)


def _require_shallow(source_name: str, depth: int) -> None:
    if depth >= DEEPEST:
        raise Unreadable(
            "unsupported_type",
            f"{display_name(source_name)} is an archive that lies {depth} files deep.",
            why=f"Archives are opened down to {DEEPEST} files deep: some hold themselves.",
            next_step=READ_HERE,
        )
