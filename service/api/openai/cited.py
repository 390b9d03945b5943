"""A checked answer in pieces, a statement each, with the places in its text where something is cited."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from service.checking.cite import NUMBERED, render
from service.types import Answer, Citation, Statement

WRITTEN = re.compile(rf"\[({NUMBERED})\]")  # by us alone: whatever else reads so is shown as ‹C1›


@dataclass(frozen=True, slots=True)
class UrlCitation:
    """A marker in the text and what it opens. Offsets are code points of the whole text, end excluded."""

    start_index: int
    end_index: int
    url: str
    title: str

    def flat(self) -> dict[str, Any]:
        """As the Responses API has it."""
        return {"type": "url_citation", **asdict(self)}

    def nested(self) -> dict[str, Any]:
        """As Chat Completions has it."""
        return {"type": "url_citation", "url_citation": asdict(self)}


@dataclass(frozen=True, slots=True)
class Piece:
    """What one statement adds to the text before it."""

    text: str
    citations: tuple[UrlCitation, ...]


def cited_in(answer: Answer) -> list[UrlCitation]:
    """Of the whole text."""
    return [one for piece in pieces(answer.statements, answer.citations) for one in piece.citations]


def pieces(statements: Sequence[Statement], citations: Sequence[Citation]) -> Iterator[Piece]:
    """Of a whole answer; joined, they are its text."""
    for number in range(1, len(statements) + 1):
        yield last_piece(statements[:number], citations)


def last_piece(statements: Sequence[Statement], citations: Sequence[Citation]) -> Piece:
    """Of the last statement, the others having been said before it."""
    start = len(render(statements[:-1]))
    text = render(statements)[start:]
    known = {one.marker: one for one in citations}
    return Piece(text, tuple(_cited(text, start, statements[-1], known)))


def _cited(
    text: str, start: int, statement: Statement, known: Mapping[str, Citation]
) -> Iterator[UrlCitation]:
    for written in WRITTEN.finditer(text):
        citation = known.get(written.group(1))
        if citation is not None:
            yield UrlCitation(
                start + written.start(), start + written.end(), _url(citation, statement), citation.title
            )


def _url(citation: Citation, statement: Statement) -> str:
    """Of the stretch that supports this very statement: a citation's own spans all that cite it."""
    spans = [one for one in statement.verdict.spans if one.marker == citation.marker]
    if not spans:
        return citation.url
    address = citation.url.partition("#")[0]
    return f"{address}#char={min(one.start for one in spans)},{max(one.end for one in spans)}"
