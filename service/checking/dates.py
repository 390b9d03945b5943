"""Dates and periods in Chinese and English: days, months, years, quarters, halves, decades."""

from __future__ import annotations

import re
from collections.abc import Sequence

from service.checking.numerals import ENGLISH_ORDINALS
from service.checking.reading import RANGE, ZH, Found, one_of, reader, whole_number
from service.checking.values import Date, Identifier, Ordinal

MONTHS = {
    name: number
    for number, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
         "september sept sep", "october oct", "november nov", "december dec"),
        1,
    )
    for name in names.split()
}  # fmt: skip
PARTS = {
    "start": "beginning start early 初 上旬",
    "middle": "middle mid 中旬",
    "end": "end late 底 末 下旬",
}
PART_OF = {word: part for part, words in PARTS.items() for word in words.split()}
MONTH = rf"(?P<month>{one_of(MONTHS)})\b(?:\.(?=,? ?\d))?"
LAST_MONTH = rf"(?P<last_month>{one_of(MONTHS)})\b(?:\.(?=,? ?\d))?"
YEAR = r"(?P<year>(?:19|20)\d{2})"
ZH_YEAR = r"(?P<year>\d{4}|[〇零一二三四五六七八九]{4}) ?年"
ZH_MONTH = rf"(?P<month>\d{{1,2}}|{ZH}{{1,2}}) ?月"
ZH_DAY = rf"(?:\d{{1,2}}|{ZH}{{1,3}})"
QUARTERS = {"一": 1, "二": 2, "三": 3, "四": 4, "first": 1, "second": 2, "third": 3, "fourth": 4}
NTH_OF_FOUR = r"(?P<nth>first|second|third|fourth|[1-4](?:st|nd|rd|th))"


def _date(found: re.Match[str]) -> Sequence[Found]:
    parts = found.groupdict()
    month, day = _month(parts.get("month")), whole_number(parts.get("day"))
    part = PART_OF.get(parts.get("part") or "", "")
    made = Date(whole_number(parts.get("year")), month, day, part)
    return [Found(made)] if _exists(made) else ()


def _span_of_days(found: re.Match[str]) -> Sequence[Found]:
    """3月5日至8日, 5 to 8 March 2024: both days have the month, or the year, that one of them has."""
    parts = found.groupdict()
    year, month, last_month = whole_number(parts["year"]), _month(parts["month"]), _month(parts["last_month"])
    first = Date(year, month or last_month, whole_number(parts["day"]))
    last = Date(year, last_month or month, whole_number(parts["last_day"]))
    if not (_exists(first) and _exists(last)):
        return ()
    between = found.start("range"), found.end("range")
    return [Found(first, span=(found.start(), between[0])), Found(last, span=(between[1], found.end()))]


def _month(written: str | None) -> int | None:
    return MONTHS[written] if written in MONTHS else whole_number(written)


def _exists(date: Date) -> bool:
    return (date.month is None or 1 <= date.month <= 12) and (date.day is None or 1 <= date.day <= 31)


def _day_and_month(found: re.Match[str]) -> Sequence[Found]:
    """05/13/2024: which is the month is known only where the other cannot be one."""
    one, other, year = int(found["one"]), int(found["other"]), int(found["year"])
    if one > 12 or other > 12 or one == other:
        made = Date(year, min(one, other), max(one, other))
        return [Found(made)] if _exists(made) else ()
    name = f"{found['one']}/{found['other']}"
    return [
        Found(Identifier(name), span=(found.start(), found.end("other"))),
        Found(Date(year), span=found.span("year")),
    ]


def _quarter(found: re.Match[str]) -> Sequence[Found]:
    parts = found.groupdict()
    nth = parts["nth"]
    number = QUARTERS.get(nth) or int(nth[0])
    part = f"q1-q{number}" if parts.get("first_ones") else f"q{number}"
    return [Found(Date(whole_number(parts.get("year") or parts.get("later_year")), part=part))]


def _half(found: re.Match[str]) -> Sequence[Found]:
    parts = found.groupdict()
    part = "h1" if parts["nth"] in {"1", "上", "first"} else "h2"
    return [Found(Date(whole_number(parts.get("year") or parts.get("later_year")), part=part))]


def _decade(found: re.Match[str]) -> Sequence[Found]:
    parts = found.groupdict()
    century, decade = whole_number(parts.get("century")), whole_number(parts["decade"]) or 0
    if century is None and decade < 100:
        century = 20 if decade >= 30 else 21
    return [Found(Date(decade if century is None else (century - 1) * 100 + decade, part="decade"))]


def _century(found: re.Match[str]) -> Sequence[Found]:
    written = found["nth"]
    return [Found(Ordinal(str(ENGLISH_ORDINALS.get(written) or whole_number(written)), "century"))]


def _fiscal_year(found: re.Match[str]) -> Sequence[Found]:
    return [Found(Identifier(f"fy{found['year']}"))]


# What says more comes first.
DATES = (
    # FY2023, fiscal year 2023, 2023财年
    reader(r"(?<![a-z0-9])(?:fy ?|fiscal (?:year )?)(?P<year>\d{4})(?![a-z0-9])", _fiscal_year),
    reader(r"(?<!\d)(?P<year>\d{4}) ?年?度? ?(?:财年|财政年度|会计年度)", _fiscal_year, "财会"),
    # 2024年第三季度, 三季度, 前三季度
    reader(rf"(?:(?<!\d){ZH_YEAR} ?)?(?P<first_ones>前)? ?第? ?(?P<nth>[一二三四1-4]) ?季度", _quarter, "季"),
    # Q3 2024, 2024 Q3, third quarter of 2024
    reader(rf"(?<![a-z0-9]){YEAR}[ -]?q(?P<nth>[1-4])(?![a-z0-9])", _quarter, "q"),
    reader(rf"(?<![a-z0-9])q(?P<nth>[1-4])(?:[ /-]?(?:of )?{YEAR})?(?![a-z0-9])", _quarter, "q"),
    reader(
        rf"\b(?:(?P<later_year>(?:19|20)\d{{2}}) )?{NTH_OF_FOUR}[ -]quarter\b"
        rf"(?:(?: of)?(?: the)?(?: fiscal)?(?: year)? {YEAR}\b)?",
        _quarter,
        "q",
    ),
    # 2024年上半年, H1 2024, first half of 2024
    reader(rf"(?:(?<!\d){ZH_YEAR} ?)?(?P<nth>[上下])半年", _half, "半"),
    reader(
        rf"(?<![a-z0-9])(?:{YEAR} ?)?h(?P<nth>[12])(?: (?P<later_year>(?:19|20)\d{{2}}))?(?![a-z0-9])",
        _half,
        "h",
    ),
    reader(
        rf"\b(?P<nth>first|second) half of (?:the year\b(?: {YEAR})?|(?P<later_year>(?:19|20)\d{{2}})\b)",
        _half,
    ),
    # 20世纪90年代, the 1990s, 21st century
    reader(
        r"(?:(?P<century>\d{1,2}|[一二]?十[一二三四五六七八九]?)世纪|上世纪)?"
        r"(?P<decade>(?:\d\d)?[1-9]0|[二三四五六七八九]十)年代",
        _decade,
        "代",
    ),
    reader(r"(?<![\d-])(?P<decade>(?:1[5-9]|20)\d0)['’]?s\b", _decade),
    reader(r"(?P<nth>\d{1,2}|[一二]?十[一二三四五六七八九]?)世纪", _century, "世"),
    reader(
        rf"\b(?P<nth>{one_of(ENGLISH_ORDINALS)}|\d{{1,2}}(?=st|nd|rd|th))(?:st|nd|rd|th)? century\b", _century
    ),
    # 2024-03-05, 2024.3.5, 2024/3/5, 05/13/2024
    reader(r"(?<!\d)(?P<year>\d{4})(?P<sep>[-/.])(?P<month>\d{1,2})(?P=sep)(?P<day>\d{1,2})(?![\d-])", _date),
    reader(
        r"(?<![\d/.-])(?P<one>\d{1,2})(?P<sep>[/.-])(?P<other>\d{1,2})(?P=sep)(?P<year>(?:19|20)\d{2})(?![\d-])",
        _day_and_month,
    ),
    # 2024年3月5日至8日, 3月5日-4月8日
    reader(
        rf"(?:(?<!\d){ZH_YEAR} ?)?(?<![\d.]){ZH_MONTH} ?(?P<day>{ZH_DAY}) ?[日号號]?"
        r"(?P<range>\s?[-–—~至到]\s?)"
        rf"(?:(?P<last_month>\d{{1,2}}|{ZH}{{1,2}}) ?月 ?)?(?P<last_day>{ZH_DAY}) ?[日号號]",
        _span_of_days,
        "月",
    ),
    # 2024年底, 2024年3月5日, 二〇二四年三月, 2024年
    reader(rf"(?<!\d){ZH_YEAR} ?(?P<part>[底末初])(?!期)", _date, "年"),
    reader(
        rf"(?<!\d){ZH_YEAR}(?: ?{ZH_MONTH}(?: ?(?P<day>{ZH_DAY}) ?[日号號]|(?P<part>[底末初]|[上中下]旬))?)?",
        _date,
        "年",
    ),
    # 每月15日, 3月5日, 十二月底
    reader(rf"[每当本次下上该] ?月 ?(?P<day>{ZH_DAY}) ?[日号號]", _date, "月"),
    reader(
        r"(?<![\d.])(?P<month>\d{1,2}|十[一二]?|[一二三四五六七八九]) ?月"
        rf"(?: ?(?P<day>{ZH_DAY}) ?[日号號]|(?P<part>[底末初]|[上中下]旬))?",
        _date,
        "月",
    ),
    # 5 to 8 March 2024, 28 February - 3 March, March 5-8, 2024
    reader(
        rf"(?<![\d.])(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: {MONTH})?(?P<range>{RANGE})(?:the )?"
        rf"(?P<last_day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {LAST_MONTH}(?:,? (?P<year>\d{{4}})\b)?",
        _span_of_days,
    ),
    reader(
        rf"\b{MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?P<range>{RANGE})(?:{LAST_MONTH} )?"
        r"(?P<last_day>\d{1,2})(?:st|nd|rd|th)?\b(?![,.]?\d)(?:,? (?P<year>\d{4})\b)?",
        _span_of_days,
    ),
    # the end of 2023, early March 2024
    reader(rf"\b(?:the )?(?P<part>end|beginning|start|middle) of (?:{MONTH} )?{YEAR}\b", _date),
    reader(rf"\b(?P<part>early|mid|late)[ -](?:{MONTH} )?{YEAR}\b", _date),
    # 5 March 2024, 5th of March
    reader(
        rf"(?<![\d.])(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {MONTH}(?:,? (?P<year>\d{{4}})\b)?", _date
    ),
    # March 5, 2024, Mar. 5th
    reader(rf"\b{MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?![,.]?\d)(?:,? (?P<year>\d{{4}})\b)?", _date),
    # March 2024, 2024-03
    reader(rf"\b{MONTH},? (?P<year>\d{{4}})\b", _date),
    reader(rf"(?<![\d-]){YEAR}-(?P<month>0[1-9]|1[0-2])(?![\d-])", _date),
)
