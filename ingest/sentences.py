"""Where the sentences of a text begin and end, for Chinese and English.

Knows nothing of documents: it sees one text, in which a blank line, a heading, a list item, a table row and a
short line end a sentence whatever its punctuation.
"""

from __future__ import annotations

import re
from unicodedata import east_asian_width

CLOSERS = "\"'”’)）]］】》〉」』»"
# A run of terminators with the quotes and brackets that close after it, or a line's end.
CANDIDATE = re.compile(rf"(?P<stop>[。！？｡!?…]+|\.+)[{re.escape(CLOSERS)}]*|\n")
LAST_WORD = re.compile(r"[A-Za-z.]+$")
ENUMERATION = re.compile(r"[(（]?(?:[A-Za-z]?\d{1,3}|[A-Za-z]|[ivx]{1,5})(?:\.\d{1,3})*$")
NEXT_LINE_STARTS_ANEW = re.compile(
    r"[ \t]*(?:\n|#{1,6} |\||[-*+•·●] |\d{1,3}[.)、] ?|[(（]?[一二三四五六七八九十]{1,3}[)）、])"
)
STANDS_ALONE = re.compile(r"[ \t]*(?:#{1,6} |\|)")  # a heading or a table row never runs on

NEVER_LAST = frozenset(
    {"mr", "mrs", "ms", "dr", "prof", "st", "vs", "e.g", "i.e", "cf", "co", "al", "approx", "dept"}
)
ONLY_BEFORE_NUMBER = frozenset(
    {"no", "nos", "fig", "figs", "sec", "art", "ch", "eq", "p", "pp", "vol", "ver", "v"}
)
LONGEST_WORD = 12  # characters looked at before a full stop; longer words are no abbreviations
WRAP_COLUMNS = 60  # texts are wrapped at 70 to 80 columns; a line shorter than this was ended on purpose
LONGEST_LINE_LOOKED_AT = 2 * WRAP_COLUMNS


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of each sentence in code points, in order, white space trimmed.

    The spans do not overlap, and every character that is not white space lies in one of them. Time is linear.
    """
    spans: list[tuple[int, int]] = []
    start = line_start = 0
    for candidate in CANDIDATE.finditer(text):
        if candidate["stop"] is None:
            ends = _line_ends_sentence(text, line_start, candidate.start())
            line_start = candidate.end()
        else:
            ends = _stop_ends_sentence(text, start, candidate)
        if ends:
            _append_trimmed(spans, text, start, candidate.end())
            start = candidate.end()
    _append_trimmed(spans, text, start, len(text))
    return spans


def _append_trimmed(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        spans.append((start, end))


def _line_ends_sentence(text: str, line_start: int, newline: int) -> bool:
    if STANDS_ALONE.match(text, line_start) or NEXT_LINE_STARTS_ANEW.match(text, newline + 1):
        return True
    if text[newline + 1 : newline + 2].islower():
        return False
    return _columns(text[line_start : min(newline, line_start + LONGEST_LINE_LOOKED_AT)]) < WRAP_COLUMNS


def _columns(line: str) -> int:
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in line)


def _stop_ends_sentence(text: str, start: int, candidate: re.Match[str]) -> bool:
    stop, after = candidate["stop"], candidate.end()
    if set(stop) & set("。！？｡"):
        return True
    if after < len(text) and not text[after].isspace():
        # "3.5", "a.b.com", "?x=1", "他……走了": inside a sentence, except "Really?真的" in mixed text.
        return stop[-1] in "!?" and ord(text[after]) > 0x2E7F
    if stop[-1] in "!?":
        return True
    if _next_visible(text, after).islower():
        return False
    return stop != "." or not _is_abbreviation(text, start, candidate.start(), after)


def _next_visible(text: str, position: int) -> str:
    """The next character on this line; empty at its end."""
    while position < len(text) and text[position] in " \t":
        position += 1
    return text[position : position + 1]


def _is_abbreviation(text: str, start: int, dot: int, after: int) -> bool:
    before = text[max(start, dot - LONGEST_WORD) : dot]
    if dot - start <= LONGEST_WORD and ENUMERATION.fullmatch(before.strip()):
        return True
    found = LAST_WORD.search(before)
    if found is None:
        return False
    word = found.group()
    if word.lower() in ONLY_BEFORE_NUMBER:
        return _next_visible(text, after).isdigit()
    is_initial = len(word) == 1 and word.isupper() and word != "I"
    is_dotted_name = "." in word.strip(".") and word.isupper()  # "U.S."
    return word.lower() in NEVER_LAST or is_initial or is_dotted_name
