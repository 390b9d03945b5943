"""Editions of one document: which of them was in force at the time that a question asks about.

Two documents are editions of one when their titles differ only in years, numbers and the like. When each
holds is read from its opening: "In force from 1 March 2026", 自2026年4月1日起执行. Where an edition was in
force at the time asked about, and by default that is today, the others are left out; where none or all
were, or the question compares them, nothing is decided.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from itertools import chain

from ingest.corpus.types import StoredChunk
from service.checking.numbers import Fact, find_facts
from service.checking.values import Date, Number
from service.types import RankedChunk

YEARS = range(1900, 2100)

# What stands around a date, in the same sentence, that makes it the first or the last day.
BEGINS_BEFORE = re.compile(
    r"(?:\b(?:valid|in force|effective|appl(?:y|ies|icable)|takes? effect|came? into force|comes? into force)"
    r"(?: (?:as )?(?:from|of|since|on))?|\bedition of|\beffective date ?:?|\b(?:valid|in force) since"
    r"|(?:生效|施行|实施|执行|启用)(?:日期|时间)? ?[:：]?|(?:有效|执行|适用|施行)期[限间]? ?[:：]?"
    r"|适用于)\s*自?\s*$",
    re.IGNORECASE,
)
BEGINS_AFTER = re.compile(r"^\s*起?(?:正式)?(?:执行|施行|实施|生效|适用|启用)")
ENDS_BEFORE = re.compile(
    r"(?:\b(?:valid|in force|effective|applies|applicable) (?:until|till|through|up to)|\bexpire[sd]? on"
    r"|\bends? on|有效期?至|截止(?:日期)?[:：]?|失效日期[:：]?)\s*$",
    re.IGNORECASE,
)
GOES_ON_TO = re.compile(r"^\s*(?:to|until|till|through|up to|[-–—~至到])\s*$", re.IGNORECASE)
REPLACED_BEFORE = re.compile(
    r"\b(?:replaced|superseded|withdrawn)\b[^.]{0,60}?(?:on|from|as of)\s*$", re.IGNORECASE
)
REPLACED_AFTER = re.compile(r"^\s*(?:起)?[，,]?\s*(?:(?:由|被).{1,40}?(?:代替|取代|替代)|废止|停止执行|失效)")

COMPARES = re.compile(
    r"\b(?:differ(?:s|ent|ences?)?|compar\w+|both|chang(?:e[sd]?|ing) (?:from|between))\b"
    r"|区别|不同|对比|相比|比较|变化|两版",
    re.IGNORECASE,
)
ABOUT_THE_PAST = re.compile(
    r"\b(?:chang(?:e[sd]?|ing)|before|used to|previous(?:ly)?|former(?:ly)?|old(?:er)?|earlier|until now"
    r"|versions?|editions?)\b|变更|改动|以前|之前|过去|原来|原先|从前|旧版|老版|旧的|版本|修订|调整",
    re.IGNORECASE,
)
YEARS_AWAY = {
    re.compile(r"\blast year\b|\bthe year before\b|去年|上一年", re.IGNORECASE): -1,
    re.compile(r"\bnext year\b|明年|下一年", re.IGNORECASE): 1,
    re.compile(r"前年"): -2,
}
NOT_IN_A_NAME = re.compile(
    r"\d+|\b(?:version|edition|revision|rev|ver|issue|release|v|the|of|for|and|a|an)\b|第.{1,3}版|修订版?|[年度版本次号]"
    r"|[\W_]+",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Period:
    """Days, first and last included; None: open on that side."""

    first: date | None
    last: date | None

    def __str__(self) -> str:
        """An interval as ISO 8601 has it, an open side as "..": 2026-03-01/.."""
        return f"{self.first or '..'}/{self.last or '..'}"

    def meets(self, other: Period) -> bool:
        return _not_after(self.first, other.last) and _not_after(other.first, self.last)


def find_superseded(question: str, ranked: Sequence[RankedChunk], today: date) -> frozenset[str]:
    """Ids of the documents that were not in force at the time asked about, while another edition was."""
    groups = editions(one.stored for one in ranked)
    named = asked_periods(question, today) if groups else ()
    if not groups or COMPARES.search(question) or (ABOUT_THE_PAST.search(question) and not named):
        return frozenset()
    asked = named or (Period(today, today),)
    return frozenset(chain.from_iterable(_not_in_force(group, asked) for group in groups))


def editions(stored: Iterable[StoredChunk]) -> list[list[StoredChunk]]:
    """A passage of each document, those together that are editions of one; only where there are several."""
    groups: dict[tuple[str, str], dict[str, StoredChunk]] = defaultdict(dict)
    for one in stored:
        if name := name_of(one.title):
            groups[one.collection_id, name].setdefault(one.document_id, one)
    return [list(group.values()) for group in groups.values() if len(group) > 1]


def _not_in_force(group: Sequence[StoredChunk], asked: Sequence[Period]) -> Iterator[str]:
    """Ids of those editions that did not hold while another did; none if one does not say when it holds."""
    years = {str(time.first.year) for time in asked if time.first and time == _year(time.first.year)}
    named = [any(year in one.title for year in years) for one in group]
    periods = [period_of(one.opening) for one in group]
    if any(named):
        held = named  # "the 2026 price list" is the one that is called so
    elif None in periods:
        return
    else:
        held = [any(period.meets(time) for time in asked) for period in periods if period]
    if any(held):
        yield from (one.document_id for one, holds in zip(group, held, strict=True) if not holds)


def name_of(title: str) -> str:
    """What the titles of all editions have in common; empty if nothing is left."""
    return NOT_IN_A_NAME.sub("", title).casefold()


# --- when ----------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)  # the same few openings are read for question after question
def period_of(opening: str) -> Period | None:
    """When a document that begins so is in force; None if it does not say."""
    first = last = None
    begins_at = -1  # where the last first day ended
    for fact in find_facts(opening):
        day = _days(fact)
        if day is None:
            continue
        before, after = _around(opening, fact)
        begins = BEGINS_BEFORE.search(before) or BEGINS_AFTER.search(after)
        if begins_at >= 0 and GOES_ON_TO.match(opening[begins_at : fact.start]):
            last, begins_at = last or day.last, -1
        elif ENDS_BEFORE.search(before):
            last = last or day.last
        elif REPLACED_BEFORE.search(before) or REPLACED_AFTER.search(after):
            last = last or _day_before(day.first)
        elif begins and first is None:
            first, begins_at = day.first, fact.end
    return Period(first, last) if first or last else None


def asked_periods(question: str, today: date) -> tuple[Period, ...]:
    """The times that a question names: 2025, in January 2026, 去年; empty if none."""
    named = [day for fact in find_facts(question) if (day := _days(fact)) is not None]
    for words, years in YEARS_AWAY.items():
        if words.search(question):
            named.append(_year(today.year + years))
    return tuple(named)


def _around(text: str, fact: Fact) -> tuple[str, str]:
    """What stands before and after it in its sentence."""
    before = re.split(r"[。；;\n]|\. ", text[: fact.start])[-1]
    after = re.split(r"[。；;\n]|\. ", text[fact.end :])[0]
    return before, after


def _days(fact: Fact) -> Period | None:
    """The days of a date with its year, or of a bare year; None of anything else."""
    value = fact.value
    if isinstance(value, Number) and not value.unit and value.value in YEARS and not fact.incidental:
        return _year(int(value.value))
    if not isinstance(value, Date) or value.year is None or value.part == "decade":
        return None
    try:
        if value.month is None:
            return _year(value.year)
        first = date(value.year, value.month, value.day or 1)
        return Period(first, first if value.day else _last_of_month(first))
    except ValueError:  # 31 April, the year 0
        return None


def _year(year: int) -> Period:
    return Period(date(year, 1, 1), date(year, 12, 31))


def _last_of_month(first: date) -> date:
    return (first.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)


def _day_before(day: date | None) -> date | None:
    return day - timedelta(days=1) if day else None


def _not_after(first: date | None, last: date | None) -> bool:
    return first is None or last is None or first <= last
