"""Stretches of a set's documents that both models read, by slice.

Of plain text files only: what must be parsed first would make figures depend on the parser.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from service.evaluation.sets.cases import CaseDocument, CaseSet

LANGUAGES = ("en", "zh")  # that every model must be measured in
SUBJECTS = ("code", "mathematics")  # domains that are slices of their own, where a set has them
LONG_CONTEXT = "long context"
SLICES = (*LANGUAGES, *SUBJECTS, LONG_CONTEXT)
PLAIN = (".md", ".txt", ".py")
EXCERPT_BYTES = 600  # some 150 tokens; UTF-8, so that a Chinese excerpt says about as much as an English one
LONG_BYTES = 16_384  # read before the excerpt, some 4,000 tokens, for it to be of a long context


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What is after `scored_from` code points counts; what is before is only read."""

    document: str
    slice: str
    text: str
    scored_from: int = 0


def excerpts_of(case_set: CaseSet, most_bytes: int = EXCERPT_BYTES) -> tuple[Excerpt, ...]:
    """The beginning of each plain document, and what follows a long context in each that is long enough."""
    return tuple(
        one for document in case_set.documents for one in _excerpts(document, most_bytes) if one.text.strip()
    )


def _excerpts(document: CaseDocument, most_bytes: int) -> Iterator[Excerpt]:
    text = _plain_text(document)
    part = document.domain if document.domain in SUBJECTS else document.language
    yield Excerpt(document.name, part, _first(text, most_bytes))
    before = _first(text, LONG_BYTES)
    rest = _first(text[len(before) :], most_bytes)
    if len(rest.encode()) > most_bytes // 2:
        yield Excerpt(document.name, LONG_CONTEXT, before + rest, scored_from=len(before))


def _plain_text(document: CaseDocument) -> str:
    """Empty if it is of another format, or no UTF-8."""
    if not document.name.endswith(PLAIN):
        return ""
    try:
        return document.original.decode("utf-8")
    except UnicodeDecodeError:
        return ""


def _first(text: str, most_bytes: int) -> str:
    """As much of the beginning as fits, in whole characters."""
    return text.encode()[:most_bytes].decode("utf-8", "ignore")
