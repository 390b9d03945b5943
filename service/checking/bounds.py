"""What a text says of a figure beside its value: that it is the least or the most, or left out itself.

"at least 5" and "5 or more" are one bound; "more than 5" is another, which leaves the five out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from service.checking.numbers import Fact
from service.checking.values import Date, Time

# Bound -> how it is written before the figure, before a date or time alone, and behind either.
BEFORE = {
    ">=": r"\b(?:at (?:least|a minimum)|(?:not|no) (?:less|fewer|younger|shorter|earlier) than|minimum of)"
    r"|至少|最少|最低|起码|[不未](?:得|能|可|应)?(?:少于|低于|小于|短于|早于)|(?<![不未])满",
    "<=": r"\b(?:at (?:the )?most|(?:not|no) (?:more|older|longer|later|greater|higher) than|maximum of|up to"
    r"|not(?: to)? exceed(?:ing)?|within)"
    r"|至多|最多|最高|最长|[不未](?:得|能|可|应)?(?:超过|多于|高于|大于|长于|晚于|迟于)",
    ">": r"\b(?:more than|over|above|exceed(?:s|ed|ing)?|(?:great|old|long|high)er than|in excess of|after)"
    r"|(?<![不未得能可应])(?:超过|多于|高于|大于|长于|晚于|逾|超出)",
    "<": r"\b(?:less than|under|below|fewer than|(?:young|short|low)er than|before|prior to)"
    r"|(?<![不未得能可应])(?:少于|低于|小于|短于|早于)|[不未]满|不到|不足|未达",
}
BEFORE_DATE = {">=": r"\b(?:from|since)|自|从", "<=": r"\b(?:by|until)|截至"}
BEHIND = {
    ">=": r"(?:,? ?(?:or|and) (?:more|above|over|older|longer|later|up)\b)| at least\b"
    r"|[及或]?其?以上|起(?![草来])",
    "<=": r"(?:,? ?(?:or|and) (?:less|fewer|below|under|younger|earlier)\b)| at most\b|[及或]?其?以下"
    r"|[以之]内|内(?![部容地存蒙])",
    ">": r"[之以]?后(?![面勤备])",
    "<": r"[之以]?前(?![面台提往])",
}
# Between the words and the figure: 至少提前5天, at least the first 5.
GAP = r"[^\S\n]?(?:[\u4e00-\u9fff]{0,3}|(?:about |the |a further |another )?)"
NEAR = 32  # signs before the figure that are looked at


def _read_before(words: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
    return {kind: re.compile(rf"(?P<words>{one}){GAP}\Z", re.IGNORECASE) for kind, one in words.items()}


READ_BEFORE = _read_before(BEFORE)
READ_BEFORE_DATE = _read_before(
    {kind: "|".join(filter(None, (one, BEFORE_DATE.get(kind)))) for kind, one in BEFORE.items()}
)
READ_BEHIND = {kind: re.compile(rf"\s?(?:{words})", re.IGNORECASE) for kind, words in BEHIND.items()}


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound together with its figure: text[start:end]."""

    kind: str  # ">=", "<=", ">" or "<"; "": none
    start: int
    end: int


def find_bound(text: str, fact: Fact) -> Bound:
    """What bounds this fact of the text; the words nearest to it count."""
    head = text[max(0, fact.start - NEAR) : fact.start]
    readers = READ_BEFORE_DATE if isinstance(fact.value, Date | Time) else READ_BEFORE
    before = [(found, kind) for kind, read in readers.items() if (found := read.search(head))]
    if before:
        # The words that end nearest to the figure, of these the longest: "not more than" before "more than".
        found, kind = max(before, key=lambda one: (one[0].end("words"), -one[0].start("words")))
        return Bound(kind, fact.start - len(head) + found.start("words"), fact.end)
    for kind, read in READ_BEHIND.items():
        behind = read.match(text, fact.end)
        if behind:
            return Bound(kind, fact.start, behind.end())
    return Bound("", fact.start, fact.end)


def agree(one: Bound, other: Bound, fact: Fact) -> bool:
    """Whether two bounds of one figure are the same; of dates and times, whether they lie on one side."""
    if not (one.kind and other.kind) or one.kind == other.kind:
        return True
    return isinstance(fact.value, Date | Time) and one.kind[0] == other.kind[0]
