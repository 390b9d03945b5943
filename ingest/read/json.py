"""JSON and JSONL to a document: a record is a block of lines "name: value", its place its section.

Numbers stand as they are written: nothing is rounded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from ingest.corpus.errors import Unreadable
from ingest.corpus.types import Document
from ingest.read.canonical import Part, clean, display_name, document_of, lay_out
from ingest.read.detect import MediaType
from ingest.read.encoding import Decoded, decode

BAD_LINES_TOLD = 20


def read_json(data: bytes, source_name: str) -> Document:
    """:raises Unreadable: "corrupt_document" where it is no JSON, else as `read_text`"""
    decoded = decode(data, source_name)
    try:
        value = _value(decoded.text)
    except (ValueError, RecursionError) as error:
        raise _corrupt(source_name, str(error)) from error
    return _document(list(_parts(value, "", "")), decoded, source_name, "application/json")


def read_jsonl(data: bytes, source_name: str) -> Document:
    """A record a line; lines that are none are left out with a warning.

    :raises Unreadable: "corrupt_document" where no line is JSON, else as `read_text`
    """
    decoded = decode(data, source_name)
    parts: list[Part] = []
    bad: list[int] = []
    for number, line in enumerate(decoded.text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            parts += _parts(_value(line), "", f"line {number}")
        except (ValueError, RecursionError):
            bad.append(number)
    if bad and not parts:
        raise _corrupt(source_name, f"none of its {len(bad)} lines is")
    return _document(parts, decoded, source_name, "application/jsonl", *_told(bad))


def _document(
    parts: list[Part], decoded: Decoded, source_name: str, media_type: MediaType, *warnings: str
) -> Document:
    text, blocks, removed = lay_out(parts)
    return document_of(
        text,
        blocks,
        titles=[],
        source_name=source_name,
        media_type=media_type,
        left_out=removed.visible,
        warnings=(*decoded.warnings, *removed.warnings, *warnings),
    )


def _value(text: str) -> object:
    # Numbers as text: 1.10 must not become 1.1, and a number of a million digits need not be computed.
    value: object = json.loads(clean(text)[0], parse_int=str, parse_float=str)
    return value


def _parts(value: object, name: str, section: str) -> Iterator[Part]:
    """Scalars of one object together; each object within a list is a record of its own."""
    lines = "\n".join(_lines(value, name))
    yield Part("paragraph", lines, section=section)
    for path, record in _records(value, name):
        yield from _parts(record, "", " > ".join(filter(None, (section, path))))


def _lines(value: object, name: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _lines(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list):
        scalars = [_scalar(one) for one in value if not isinstance(one, dict | list)]
        if any(scalars):
            yield f"{name}: {', '.join(scalars)}" if name else "\n".join(scalars)
    elif value is not None and value != "":
        yield f"{name}: {_scalar(value)}" if name else _scalar(value)


def _records(value: object, name: str) -> Iterator[tuple[str, object]]:
    """(path, value) of the objects and lists that lie in lists, from the outermost in."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _records(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list):
        for place, one in enumerate(value):
            if isinstance(one, dict | list):
                yield f"{name}[{place}]", one


def _scalar(value: object) -> str:
    names = {True: "true", False: "false", None: ""}
    return names[value] if value is None or isinstance(value, bool) else str(value)


def _told(bad: list[int]) -> Iterator[str]:
    if bad:
        more = ", …" if len(bad) > BAD_LINES_TOLD else ""
        numbers = ", ".join(map(str, bad[:BAD_LINES_TOLD]))
        yield f"{len(bad)} lines are no JSON and were left out: {numbers}{more}."


def _corrupt(source_name: str, why: str) -> Unreadable:
    return Unreadable(
        "corrupt_document",
        f"{display_name(source_name)} is no JSON: {why}.",
        next_step="Export it again, or upload it as .txt to have it read as it stands.",
    )
