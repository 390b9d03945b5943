"""What a language model writes, read while it is written: pieces of text to drafted statements.

Two forms: JSON after `statements_schema`, and prose with citations. However the text was cut into pieces, a
reader yields the same statements, then the same error. The text is hostile: what is not exactly the form is
refused. Knows nothing of HTTP, and of evidence only which markers there are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from ingest.corpus.errors import ModelBadOutput
from service.checking.cite import parse_draft, parse_settled, parse_statement, says_something
from service.types import DraftStatement

MOST_STATEMENTS = 32  # of one answer
LONGEST_STRETCH = 16_000  # characters of one JSON statement; each may be written as an escape of twelve
UNANSWERABLE = "UNANSWERABLE"  # what the prompts have a model write in prose that has no answer
READ_ANEW = 128  # prose is read from its start each time that it grew by this part: else quadratic work
LONGEST_HEAD = 200  # characters before the first JSON statement
# What a model thinks aloud is no part of its answer, also where the engine does not keep the two apart.
THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)|</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
TAG_BEGUN = re.compile(r"</?[a-z]{0,8}\Z", re.IGNORECASE)
FENCE = re.compile(r"(?:`{3,}|~{3,})[\w+-]*")

# A statement is an object of strings and flat arrays, so that it can be found without reading it.
BLANK = r"[ \t\r\n]*+"
STRING = r'"(?:[^"\\]|\\.)*+"'
OTHER = r'[^"{}\[\]]'
STATEMENT = rf"\{{(?:{OTHER}|{STRING}|\[(?:{OTHER}|{STRING})*+\])*+\}}"
HEAD = re.compile(
    rf'{BLANK}\{{{BLANK}"answerable"{BLANK}:{BLANK}(?P<answerable>true|false){BLANK},'
    rf'{BLANK}"statements"{BLANK}:{BLANK}\['
)
FIRST = re.compile(rf"{BLANK}(?:(?P<statement>{STATEMENT})|\])", re.DOTALL)
NEXT = re.compile(rf"{BLANK}(?:,{BLANK}(?P<statement>{STATEMENT})|\])", re.DOTALL)
TAIL = re.compile(rf"{BLANK}\}}{BLANK}")


class DraftReader(Protocol):
    """One draft that is being written."""

    def feed(self, piece: str) -> Iterator[DraftStatement]:
        """The statements that this piece completes.

        :raises ModelBadOutput: once the text cannot be of the form any more.
        """

    def finish(self, cut_off: bool) -> Iterator[DraftStatement]:
        """Those that only the end completes; none if the text was cut off.

        :raises ModelBadOutput: if the text is not whole, and was not cut off either.
        """


def statements_schema(markers: Sequence[str]) -> dict[str, Any]:
    """The JSON schema of an answer that may cite these, its parts in the order in which they are read."""
    statement = {
        "type": "object",
        "properties": {
            # First, for a model keeps better to a passage that it has just named.
            "citations": {
                "type": "array",
                "items": {"type": "string", "enum": list(markers)},
                "minItems": 1,
                "maxItems": len(markers),
            },
            "text": {"type": "string", "minLength": 1},
        },
        "required": ["citations", "text"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {
            "answerable": {"type": "boolean"},
            "statements": {"type": "array", "items": statement, "maxItems": MOST_STATEMENTS},
        },
        "required": ["answerable", "statements"],
        "additionalProperties": False,
    }


@dataclass(slots=True)
class StatementsReader:
    """Reads JSON after `statements_schema`; an answer that says of itself to be none states nothing."""

    markers: Collection[str]
    unread: str = ""
    awaited: re.Pattern[str] = HEAD
    answerable: bool = True

    def feed(self, piece: str) -> Iterator[DraftStatement]:
        self.unread += piece
        while self.awaited is not TAIL and (found := self.awaited.match(self.unread[: self._longest])):
            self.unread = self.unread[found.end() :]
            statement = self._take(found.groupdict())
            if statement is not None and self.answerable:
                yield statement
        if len(self.unread) >= self._longest:
            _refuse("It is not the JSON that was asked for.")

    def finish(self, cut_off: bool) -> Iterator[DraftStatement]:
        if not cut_off and not (self.awaited is TAIL and TAIL.fullmatch(self.unread)):
            _refuse("It is not the JSON that was asked for, or not all of it.")
        yield from ()

    @property
    def _longest(self) -> int:
        return LONGEST_HEAD if self.awaited is HEAD else LONGEST_STRETCH

    def _take(self, found: dict[str, str | None]) -> DraftStatement | None:
        if self.awaited is HEAD:
            self.answerable = found["answerable"] == "true"
            self.awaited = FIRST
            return None
        written = found["statement"]
        self.awaited = TAIL if written is None else NEXT
        return None if written is None else read_statement(written, self.markers)


@dataclass(slots=True)
class ProseReader:
    """Reads sentences with citations, as `parse_draft` reads the whole but for thoughts.

    UNANSWERABLE states nothing, and no more does a rule or the fence around code.
    """

    text: str = ""
    read: int = 0  # characters of it
    given: int = 0  # statements

    def feed(self, piece: str) -> Iterator[DraftStatement]:
        self.text += piece
        if len(self.text) - self.read > self.read // READ_ANEW:
            self.read = len(self.text)
            yield from self._further(parse_settled(TAG_BEGUN.sub("", THOUGHT.sub("\n\n", self.text))))

    def finish(self, cut_off: bool) -> Iterator[DraftStatement]:
        if not cut_off:
            yield from self._further(parse_draft(THOUGHT.sub("\n\n", self.text)))

    def _further(self, statements: Sequence[DraftStatement]) -> Iterator[DraftStatement]:
        further, self.given = statements[self.given :], max(self.given, len(statements))
        yield from (one for one in further if _states(one.text))


def _states(text: str) -> bool:
    """Whether a sentence is a statement, true or false."""
    if FENCE.fullmatch(text) or not says_something(text):
        return False
    return re.sub(r"[\W_]+", "", text).upper() != UNANSWERABLE


def read_statement(written: str, markers: Collection[str]) -> DraftStatement | None:
    """One JSON statement; None if its text holds nothing but citations.

    :raises ModelBadOutput: for anything but a text and one or more of these markers.
    """
    try:
        read = json.loads(
            written,
            object_pairs_hook=_without_twins,
            parse_int=_no_number,
            parse_float=_no_number,
            parse_constant=_no_number,
        )
    except ValueError as error:
        raise _bad_output("One of its statements is no JSON.") from error
    text, citations = read.get("text"), read.get("citations")
    if read.keys() != {"text", "citations"} or not isinstance(text, str) or not isinstance(citations, list):
        _refuse("A statement must have a text and citations, and nothing else.")
    if not text.strip() or _has_half_pairs(text):
        _refuse("The text of a statement is blank, or holds half a character.")
    if not citations or any(not isinstance(one, str) or one not in markers for one in citations):
        _refuse("A statement cites nothing, or what there is not.")
    statement = parse_statement(text, citations)
    return statement if statement.text else None


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) != len(pairs):
        _refuse("A statement has two parts of one name.")
    return read


def _no_number(_written: str) -> NoReturn:
    _refuse("A statement holds a number where a text belongs.")


def _has_half_pairs(text: str) -> bool:
    """Half a surrogate pair is no character, and cannot be stored or sent."""
    return any("\ud800" <= sign <= "\udfff" for sign in text)


def _refuse(why: str) -> NoReturn:
    raise _bad_output(why)


def _bad_output(why: str) -> ModelBadOutput:
    return ModelBadOutput(
        "What the language model wrote cannot be read.", why=why, next_step="Ask again, or ask otherwise."
    )
