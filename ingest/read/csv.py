"""CSV and TSV to a document: one table, a line a row, whatever parts its cells."""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from itertools import islice

from ingest.corpus.types import Document
from ingest.read.canonical import clean, document_of, lay_out
from ingest.read.detect import MediaType
from ingest.read.encoding import decode
from ingest.read.grid import sheet_parts

SEPARATORS = (",", ";", "\t", "|")
SAMPLE_ROWS = 50


def read_csv(data: bytes, source_name: str) -> Document:
    """:raises Unreadable: "empty", "garbled", or "unsupported_type" where the bytes are no text"""
    return _read(data, source_name, "text/csv", SEPARATORS)


def read_tsv(data: bytes, source_name: str) -> Document:
    """:raises Unreadable: as `read_csv`"""
    return _read(data, source_name, "text/tab-separated-values", ("\t",))


def _read(data: bytes, source_name: str, media_type: MediaType, separators: tuple[str, ...]) -> Document:
    decoded = decode(data, source_name)
    source, removed = clean(decoded.text)
    rows = [row for row in _rows(source, _separator(source, separators)) if any(cell.strip() for cell in row)]
    text, blocks, _ = lay_out(sheet_parts(rows))
    widths = Counter(map(len, rows))
    return document_of(
        text,
        blocks,
        titles=[],
        source_name=source_name,
        media_type=media_type,
        left_out=removed.visible,
        warnings=(*decoded.warnings, *removed.warnings, *_uneven(rows, widths)),
    )


def _rows(source: str, separator: str) -> Iterator[list[str]]:
    csv.field_size_limit(sys.maxsize)  # the text as a whole has a limit of its own
    yield from csv.reader(StringIO(source, newline=""), delimiter=separator)


def _separator(source: str, separators: tuple[str, ...]) -> str:
    """The one that gives most rows the same number of cells, more than one."""

    def agreement(separator: str) -> tuple[int, int]:
        rows = islice(_rows(source, separator), SAMPLE_ROWS)
        widths = Counter(len(row) for row in rows if len(row) > 1)
        width, count = max(widths.items(), key=lambda pair: (pair[1], pair[0]), default=(0, 0))
        return count, width

    return max(separators, key=agreement)


def _uneven(rows: list[list[str]], widths: Counter[int]) -> Iterator[str]:
    longer = sum(count for width, count in widths.items() if rows and width > len(rows[0]) > 1)
    if longer:
        yield f"{longer} rows have more cells than the header has; what is beyond it has no name."
