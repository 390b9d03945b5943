"""The grammar of a citation: drafts to statements with their markers, statements back to text.

Knows nothing of evidence: whether C7 exists is for `check` to say.

| written | is |
|---|---|
| `[C1]` `［C1］` `【C1】` | a citation |
| `[C1][C2]` `[C1] [C2]` | two |
| `[C1, C2]` `[C1,C2]` `[C1，C2]` `[C1、C2]` | two; at most 32 in one bracket, one space at a comma |
| `[C1, C1]` | one, counted once |
| `[C9999]` | a citation; more digits are reported |
| `[c1]` `[ C1 ]` `[C 1]` `[C-1]` `[Ｃ1]` `[C٣]` `[С1]` | reported: another letter, digit or a space |
| `[C0]` `[C01]` `[C]` `[Cn]` `[C一]` | reported: no number of an evidence |
| `[C1-C3]` `[C1–3]` `[C1;C2]` `[C1 C2]` `[C1, 2]` | reported: ranges and other lists; never expanded |
| `[C1】` `[[C1]]` `[C1]]` `[C1` `C1]` `(C1)` `（C1）` `{C1}` `<C1>` | reported: other or missing brackets |
| `[C1, p. 3]` `[see C1]` `[C1](http://…)` | reported: a citation and something else |
| `[ID:7]` `[doc 2]` `[^1]` `[Summary of …]` `【3†…】` | reported: a citation of some other system |
| `国发[2024]15号` `[1, 2, 3]` `[1]` `xref 1` `(ID: 2)` `C1` | prose: stays byte for byte |

A citation belongs to the sentence that it stands in or follows, also when it follows the full stop; at the
head of a line that goes on, to the sentence after it. Reported forms stay in the text. All takes linear time.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ingest.sentences import sentence_spans
from service.types import DraftStatement, Statement

BRACKETS = "[]［］【】"
BLANKS = " \t\u00a0\u202f\u3000"
OPENING, CLOSING = r"[\[［【]", r"[\]］】]"
NUMBERED = r"C[1-9][0-9]{0,3}"
LISTED = rf"{NUMBERED}(?: ?[,，、] ?{NUMBERED}){{0,31}}"
# Not within a second bracket, and not the text of a link.
CITATION = rf"(?<!{OPENING})(?:\[{LISTED}\]|［{LISTED}］|【{LISTED}】)(?!\(|{CLOSING})"
CITATIONS = re.compile(
    rf"(?P<gap>[{BLANKS}]{{0,8}})(?P<citations>{CITATION}(?:[{BLANKS}]{{0,8}}{CITATION})*)"
)
MARKER = re.compile(NUMBERED)
CLINGS_TO_WORD = re.compile(r"\s|$|[.,;:!?)。，；：！？、）」』”’…]")

LETTER_C = "CcＣｃСсⅭⅽ"  # Latin, full-width, Cyrillic, Roman numeral
LOOKS_CITED = re.compile(
    rf"(?P<group>{OPENING}{{1,2}}[^\[\]［］【】\n]{{0,400}}{CLOSING}{{1,2}})"
    rf"|(?P<unclosed>{OPENING}\s?[{LETTER_C}]\d{{1,9}})"
    rf"|(?P<unopened>(?<![A-Za-z0-9_-])[{LETTER_C}]\d{{1,9}}\s?{CLOSING})"
    rf"|(?P<other_brackets>[(（{{<‹《]\s?C\d{{1,9}}(?:\s?[,，、;；–-]\s?C?\d{{1,9}}){{0,31}}\s?[)）}}>›》])"
)
# The end of a text that may still become one of these.
OPEN = re.compile(
    rf"(?:{OPENING}{{1,2}}[^\[\]［］【】\n]{{0,400}}{CLOSING}{{0,2}}"
    rf"|{OPENING}\s?[{LETTER_C}]?\d{{0,9}}|[(（{{<‹《]\s?(?:C[\dC\s,，、;；–-]{{0,400}})?)\Z"
)
FOREIGN = (
    "(?:id|citation|cite|source|src|doc|document|ref|reference|chunk|evidence|passage|"
    "来源|引用|文档|文献|证据|资料)"
)
NEAR = re.compile(
    r"(?<![a-z0-9_])(?<![a-z0-9][-/.])c[\s_#:.–-]?\d"  # wherever in the bracket
    r"|^c(?:[nx?]|[一二三四五六七八九十]{1,3})?$"
    rf"|^{FOREIGN}s?\s?[:#]?\s?\d"
    r"|^summary of\b|^\^\d|^\d{1,4}(?::\d{1,4})?†"
)

INERT_MARKER = re.compile(r"‹C\d[\dC,，、 ]{0,200}›")  # as `without_forged_markers` leaves one
STOPS = re.compile(r"[。！？｡!?….]+$")
STANDS_ON_ITS_OWN_LINE = re.compile(r"#{1,6} |\||[-*+•] |\d{1,3}[.)、] ?")


def parse_draft(text: str) -> tuple[DraftStatement, ...]:
    """The statements of a draft in order, each with its markers once each, and with what only looks like one.

    A statement's text is a slice of the draft without its citations. A draft that holds nothing but citations
    states nothing.
    """
    words, cited_at = _take_out_citations(text)
    return _statements(words, cited_at, sentence_spans(words))


def parse_settled(text: str) -> tuple[DraftStatement, ...]:
    """The first statements of a draft that is still being written: those that no rest of it can change.

    Not the last one, which may go on or be cited after its full stop, and none that holds what may become a
    citation or something that looks like one.
    """
    words, cited_at = _take_out_citations(_before_open_bracket(text))
    spans = sentence_spans(words)
    settled = len(_before_open_bracket(words))
    statements = _statements(words, cited_at, spans)[:-1]
    return tuple(one for one, (_, end) in zip(statements, spans, strict=False) if end <= settled)


def parse_statement(text: str, citations: Sequence[str]) -> DraftStatement:
    """One statement, however many sentences it has; a citation within it counts beside those given."""
    words, cited_at = _take_out_citations(text)
    markers = [*citations, *(marker for _, within in cited_at for marker in within)]
    malformed = tuple(written for _, written in _near_misses(words))
    return DraftStatement(words.strip(), tuple(dict.fromkeys(markers)), malformed)


def _before_open_bracket(text: str) -> str:
    """The text before what a further sign may make a citation, or something that looks like one.

    Blanks at its end go too: a citation after them takes them away, and "- " is a list's item, "-" is none.
    """
    found = OPEN.search(text)
    return text[: found.start()].rstrip(BLANKS) if found else text.rstrip(BLANKS)


def _statements(
    words: str, cited_at: Sequence[tuple[int, list[str]]], spans: Sequence[tuple[int, int]]
) -> tuple[DraftStatement, ...]:
    starts = [start for start, _ in spans]
    citations: list[list[str]] = [[] for _ in spans]
    malformed: list[list[str]] = [[] for _ in spans]
    for position, markers in cited_at if spans else ():
        citations[_cited_sentence(words, position, starts)].extend(markers)
    for position, written in _near_misses(words):
        malformed[bisect_right(starts, position) - 1].append(written)
    return tuple(
        DraftStatement(words[start:end], tuple(dict.fromkeys(markers)), tuple(wrong))
        for (start, end), markers, wrong in zip(spans, citations, malformed, strict=True)
    )


def render(statements: Sequence[DraftStatement | Statement], include_citations: bool = True) -> str:
    """The answer's text: a marker stands before the full stop; a statement without one is a paragraph.

    What looks like a citation within a statement's text is shown as ‹C9›: only we write markers.
    """
    texts = [_with_citations(each, include_citations) for each in statements]
    between = [_separator(before.text, after.text) for before, after in pairwise(statements)]
    return "".join(text + gap for text, gap in zip(texts, [*between, ""], strict=False))


def without_forged_markers(text: str) -> str:
    """The text with what reads as one of our markers shown as ‹C9›, which no page and no grammar follows."""
    return LOOKS_CITED.sub(
        lambda found: _defused(found.group()) if _is_forged(found) else found.group(), text
    )


def says_something(text: str) -> bool:
    """Whether an inert text holds a letter or a digit outside of what was one of our markers."""
    return any(sign.isalnum() for sign in INERT_MARKER.sub("", text))


def _take_out_citations(text: str) -> tuple[str, list[tuple[int, list[str]]]]:
    """The text without citations, and where in it each stood."""
    parts: list[str] = []
    cited_at: list[tuple[int, list[str]]] = []
    length = cursor = 0
    last = "\n"  # the sign before the citation
    for found in CITATIONS.finditer(text):
        clings = CLINGS_TO_WORD.match(text, found.end()) is not None
        stays = text[cursor : found.start("gap") if clings else found.start("citations")]
        parts.append(stays)
        length += len(stays)
        last = stays[-1:] or last
        cited_at.append((length, MARKER.findall(found["citations"])))
        cursor = _after_spaces(text, found.end()) if last == "\n" else found.end()
    return "".join(parts) + text[cursor:], cited_at


def _after_spaces(text: str, position: int) -> int:
    while position < len(text) and text[position] in BLANKS:
        position += 1
    return position


def _cited_sentence(words: str, position: int, starts: Sequence[int]) -> int:
    heads_a_line = position == 0 or words[position - 1] == "\n"
    if heads_a_line and words[position : position + 1].strip():
        return bisect_right(starts, position) - 1
    return max(bisect_left(starts, position) - 1, 0)


def _near_misses(words: str) -> Iterator[tuple[int, str]]:
    for found in LOOKS_CITED.finditer(words):
        if found.lastgroup != "group" or _is_near(found):
            link = "(" if words.startswith("(", found.end()) else ""
            yield found.start(), found.group() + link


def _is_forged(found: re.Match[str]) -> bool:
    """Round brackets stay: "the C standard (C11)" is prose in a document, and no page follows them."""
    return _is_near(found) if found.lastgroup == "group" else found.lastgroup != "other_brackets"


def _is_near(found: re.Match[str]) -> bool:
    return NEAR.search(_folded(found.group().strip(BRACKETS))) is not None


def _folded(content: str) -> str:
    """Lower case, compatibility forms resolved, unseen signs gone, Cyrillic es as a Latin c."""
    visible = "".join(sign for sign in content if unicodedata.category(sign) != "Cf")
    return unicodedata.normalize("NFKC", visible).casefold().replace("с", "c").strip()


def _defused(written: str) -> str:
    return f"‹{written.strip(BRACKETS)}›"


def _with_citations(statement: DraftStatement | Statement, include_citations: bool) -> str:
    text = without_forged_markers(statement.text)
    if not include_citations or not statement.citations:
        return text
    stops = STOPS.search(text)
    end = stops.start() if stops else len(text)
    markers = "".join(f"[{marker}]" for marker in statement.citations)
    gap = "" if end and _is_wide(text[end - 1]) else " "
    return f"{text[:end]}{gap}{markers}{text[end:]}"


def _separator(before: str, after: str) -> str:
    if STANDS_ON_ITS_OWN_LINE.match(after) or " | " in after:
        return "\n"
    if not STOPS.search(before):
        return "\n\n"  # a single line end could be the wrapping of a long line
    return "" if _is_wide(before[-1]) and _is_wide(after[:1]) else " "


def _is_wide(sign: str) -> bool:
    return bool(sign) and unicodedata.east_asian_width(sign) in "WF"
