"""Numbers, dates, times and identifiers in Chinese and English, in a form in which equal things are equal.

`３，０００元`, `3000元` and `三千元` are one fact; so are `2024年3月5日`, `2024-03-05` and `March 5, 2024`,
or `1.5 km` and `1500 米`. Currencies are kept apart.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from service.checking.numerals import (
    CHINESE_DIGITS,
    CHINESE_SCALES,
    ENGLISH_ONES,
    ENGLISH_ORDINALS,
    ENGLISH_TENS,
    chinese_value,
    english_value,
    scale_value,
)
from service.checking.units import COUNT, CURRENCY_SIGNS, UNITS


@dataclass(frozen=True, slots=True)
class Number:
    value: Decimal  # in `unit`
    unit: str = ""  # "": none, or none that is known
    as_written: Decimal | None = field(default=None, compare=False)  # before it was brought to `unit`

    def says(self, other: Number) -> bool:
        """Equal in one unit; where either has no known unit, equal as written."""
        if self.unit and other.unit:
            return self == other
        return (self.as_written or self.value) == (other.as_written or other.value)


@dataclass(frozen=True, slots=True)
class Date:
    year: int | None
    month: int | None = None
    day: int | None = None


@dataclass(frozen=True, slots=True)
class Time:
    minutes: int  # since midnight


@dataclass(frozen=True, slots=True)
class Identifier:
    name: str  # PRD-2041, v2.1, FY2023, in lower case


@dataclass(frozen=True, slots=True)
class Fact:
    """What stands at text[start:end]."""

    value: Number | Date | Time | Identifier
    written: str
    start: int
    end: int
    incidental: bool = False  # "one", "first", 一个, the number of a list item: often states no number


def find_facts(text: str) -> tuple[Fact, ...]:
    """All facts, in order, not overlapping; offsets are code points of `text`. Linear in its length."""
    facts: list[Fact] = []
    rest = _fold(text)
    for pattern, read in READERS:

        def take(found: re.Match[str], read: Callable[[re.Match[str]], Found | None] = read) -> str:
            made = read(found)
            if made is None:
                return found.group()
            start, end = found.span()
            incidental = made.incidental or _numbers_an_item(text, start, end)
            facts.append(Fact(made.value, text[start:end], start, end, incidental))
            return "\0" * (end - start)

        rest = pattern.sub(take, rest)
    return tuple(sorted(facts, key=lambda fact: fact.start))


def is_stated(fact: Fact, others: Sequence[Fact]) -> bool:
    """Whether one of the others says the same or, for a date, the same and more."""
    return any(_says(other.value, fact.value) for other in others)


def nearest_stated(fact: Fact, others: Sequence[Fact]) -> Fact | None:
    """What the others say instead: a fact of the same kind and unit, or none."""
    for other in others:
        if isinstance(fact.value, Number) and isinstance(other.value, Number):
            if fact.value.unit == other.value.unit:
                return other
        elif type(fact.value) is type(other.value):
            return other
    return None


def _says(other: Number | Date | Time | Identifier, wanted: Number | Date | Time | Identifier) -> bool:
    match other, wanted:
        case Number(), Number():
            return other.says(wanted)
        case Date(), Date():
            pairs = ((other.year, wanted.year), (other.month, wanted.month), (other.day, wanted.day))
            return all(there == here for there, here in pairs if here is not None)
        case Date(year=year), Number(value=value, unit=""):
            return value == year
        case Number(value=value, unit=""), Date(year=year, month=None):
            return value == year
        case _:
            return other == wanted


# --- reading -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Found:
    value: Number | Date | Time | Identifier
    incidental: bool = False


def _longest_first(forms: Iterable[str]) -> str:
    return "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))


def _ends_in_latin(unit: str) -> bool:
    return unit[-1].isascii() and unit[-1].isalpha()


MONTHS = {
    name: number
    for number, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
         "september sept sep", "october oct", "november nov", "december dec"),
        1,
    )
    for name in names.split()
}  # fmt: skip
MONTH = rf"(?P<month>{_longest_first(MONTHS)})\b\.?"
ZH = f"[{''.join(CHINESE_DIGITS)}{''.join(CHINESE_SCALES)}]"
HALF_OF_DAY = "(?:(?P<half>上午|下午|晚上|早上|中午|凌晨|傍晚|晚) ?)?"
LATIN_UNIT = _longest_first(filter(_ends_in_latin, UNITS))
OTHER_UNIT = _longest_first(unit for unit in UNITS if not _ends_in_latin(unit))
UNIT = rf"(?:{OTHER_UNIT}|(?:{LATIN_UNIT})(?![a-z0-9]))"
SIGN = _longest_first(CURRENCY_SIGNS)
DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?)"
SCALE = r"(?:[十百千万萬]?[万萬亿億]|[十百千]|(?:thousand|million|billion|trillion|mn|bn|k)(?![a-z]))"
RANGE = r"\s?(?:[-–—~至到]|to\b|and\b)\s?"
# In "5-10 days" the 5 has the unit and the scale of the 10.
AFTER_DIGITS = (
    rf"(?:\s?(?P<scale>{SCALE}))?(?:[\s-]?(?P<unit>{UNIT})"
    rf"|(?={RANGE}{DIGITS}(?:\s?(?P<later_scale>{SCALE}))?(?:[\s-]?(?P<later_unit>{UNIT}))?))?"
)
ENGLISH_WORD = _longest_first((*ENGLISH_ONES, *ENGLISH_TENS))
ENGLISH_NUMBER = (
    rf"(?:{ENGLISH_WORD})(?:[ -](?:and )?(?:{ENGLISH_WORD}|hundred|thousand|million|billion)){{0,8}}"
)


def _date(found: re.Match[str]) -> Found | None:
    parts = found.groupdict()
    month, day = _month(parts.get("month")), _value(parts.get("day"))
    if not (month is None or 1 <= month <= 12) or not (day is None or 1 <= day <= 31):
        return None
    return Found(Date(_value(parts.get("year")), month, day))


def _month(written: str | None) -> int | None:
    return MONTHS[written] if written in MONTHS else _value(written)


def _value(written: str | None) -> int | None:
    if not written:
        return None
    return int(written) if written.isdecimal() else chinese_value(written)


def _time(found: re.Match[str]) -> Found | None:
    parts = found.groupdict()
    hour, minute = _value(parts["hour"]) or 0, _value(parts.get("minute")) or 0
    half = (parts.get("half") or "").lower()
    if half and (half[0] == "p" or half in {"下午", "晚上", "晚", "傍晚"}) and hour < 12:
        hour += 12
    if half and half[0] == "a" and hour == 12:
        hour = 0
    if parts.get("thirty"):
        minute = 30
    return Found(Time(60 * hour + minute)) if hour <= 24 and minute < 60 else None


def _identifier(found: re.Match[str]) -> Found:
    return Found(Identifier(found.group()))


def _percent(found: re.Match[str]) -> Found:
    written = found["number"]
    value = Decimal(written) if written[0].isdecimal() else Decimal(chinese_value(written))
    return Found(Number(value, "%"))


def _digits(found: re.Match[str]) -> Found:
    scale = found["scale"] or found["later_scale"] or ""
    value = Decimal(found["digits"].replace(",", "")) * scale_value(scale)
    return Found(
        _in_unit(-value if found["minus"] else value, found["unit"] or found["later_unit"], found["sign"])
    )


def _chinese(found: re.Match[str]) -> Found | None:
    numeral, unit = found["numeral"], found["unit"] or ""
    composed = (
        len(numeral) > 1
        and any(sign in CHINESE_SCALES for sign in numeral)
        and numeral[0] not in "百千万萬亿億"
    )
    if not (found["ordinal"] or unit or composed) or numeral[0] in "百千万萬亿億":
        return None
    number = _in_unit(Decimal(chinese_value(numeral)), unit, None)
    return Found(
        number, incidental=number == Number(Decimal(1), COUNT) or bool(found["ordinal"] and numeral == "一")
    )


def _english(found: re.Match[str]) -> Found:
    unit = found["unit"]
    number = _in_unit(Decimal(english_value(found["words"])), unit, None)
    return Found(number, incidental=not unit and number.value == 1)


def _ordinal(found: re.Match[str]) -> Found:
    return Found(Number(Decimal(english_value(found.group()))), incidental=True)


def _in_unit(value: Decimal, unit: str | None, sign: str | None) -> Number:
    if sign:
        return Number(value.normalize(), CURRENCY_SIGNS[sign.strip()])
    if not unit:
        return Number(value.normalize())
    name, factor = UNITS[" ".join(unit.replace("-", " ").split())]
    return Number((value * factor).normalize(), name, value)


# The first that matches a stretch has it, so what is more than a number comes before numbers.
READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Found | None]], ...] = tuple(
    (re.compile(pattern), read)
    for pattern, read in (
        # 2024-03-05, 2024.3.5, 2024/3/5
        (r"(?<!\d)(?P<year>\d{4})(?P<sep>[-/.])(?P<month>\d{1,2})(?P=sep)(?P<day>\d{1,2})(?![\d-])", _date),
        # 2024年3月5日, 二〇二四年三月, 2024年
        (
            r"(?<!\d)(?P<year>\d{4}|[〇零一二三四五六七八九]{4}) ?年"
            rf"(?: ?(?P<month>\d{{1,2}}|{ZH}{{1,2}}) ?月(?: ?(?P<day>\d{{1,2}}|{ZH}{{1,3}}) ?[日号號])?)?",
            _date,
        ),
        # 3月5日, 十二月
        (
            r"(?<![\d.])(?P<month>\d{1,2}|十[一二]?|[一二三四五六七八九]) ?月"
            rf"(?: ?(?P<day>\d{{1,2}}|{ZH}{{1,3}}) ?[日号號])?",
            _date,
        ),
        # 5 March 2024, 5th of March
        (rf"(?<![\d.])(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {MONTH}(?:,? (?P<year>\d{{4}})\b)?", _date),
        # March 5, 2024, Mar. 5th
        (rf"\b{MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?![,.]?\d)(?:,? (?P<year>\d{{4}})\b)?", _date),
        # March 2024, 2024-03
        (rf"\b{MONTH},? (?P<year>\d{{4}})\b", _date),
        (r"(?<![\d-])(?P<year>(?:19|20)\d{2})-(?P<month>0[1-9]|1[0-2])(?![\d-])", _date),
        # 2:30 pm, 2 p.m.
        (r"(?<![\d:.])(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))? ?(?P<half>[ap]\.?m)\b\.?", _time),
        # 14:30, 下午2:30
        (rf"{HALF_OF_DAY}(?<![\d:])(?P<hour>\d{{1,2}}):(?P<minute>\d{{2}})(?::\d{{2}})?(?![\d:])", _time),
        # 下午两点半, 14时30分
        (
            rf"{HALF_OF_DAY}(?<![\d.])(?P<hour>\d{{1,2}}|(?:二?十)?[一二两三四五六七八九]|二?十) ?[点點时時]"
            rf"(?![间候期間擊击])(?:(?P<thirty>半)|(?P<minute>\d{{1,2}}|{ZH}{{1,3}}) ?分)?",
            _time,
        ),
        # 010-1234-5678, 2.4.1
        (
            r"(?<![a-z0-9])\d{2,4}(?:-\d{2,8}){2,4}(?![a-z0-9])|(?<![a-z0-9.])\d+(?:\.\d+){2,6}(?![a-z0-9])",
            _identifier,
        ),
        # PRD-2041, v2.1, FY2023; not USD5, not m2
        (
            rf"(?<![a-z0-9])(?!(?:{SIGN})\d)(?!k?m[23](?![a-z0-9]))"
            r"[a-z][a-z_]{0,30}[-_.#/]?\d[a-z0-9]{0,30}(?:[-_./][a-z0-9]{1,30}){0,6}",
            _identifier,
        ),
        (rf"百分之 ?(?P<number>\d+(?:\.\d+)?|{ZH}{{1,8}})", _percent),
        (
            rf"(?P<sign>(?:{SIGN}) ?)?(?P<minus>(?<![\w\0)%])[-−])?"
            rf"(?<![\d.])(?P<digits>{DIGITS}){AFTER_DIGITS}",
            _digits,
        ),
        (rf"(?<![哪某同另])(?P<ordinal>第)?(?P<numeral>{ZH}{{1,16}})(?P<unit>{OTHER_UNIT})?", _chinese),
        (rf"\b(?P<words>{ENGLISH_NUMBER})\b(?:[ -](?P<unit>(?:{LATIN_UNIT})\b|%))?", _english),
        (rf"\b(?:{_longest_first(ENGLISH_ORDINALS)})\b", _ordinal),
    )
)


def _fold(text: str) -> str:
    """Lower case and half width, sign by sign, so that offsets stay; ① and ² stay what they are."""
    return text.translate({ord(sign): folded for sign in set(text) if (folded := _fold_sign(sign)) != sign})


def _fold_sign(sign: str) -> str:
    if unicodedata.category(sign) == "No":
        return sign
    folded = unicodedata.normalize("NFKC", sign).lower()
    return folded if len(folded) == 1 else sign


def _numbers_an_item(text: str, start: int, end: int) -> bool:
    """Whether this is the "1." or "（一）" at the head of a line."""
    heads = not text[max(0, start - 8) : start].split("\n")[-1].strip(" \t#-*•(（")
    return heads and re.match(r"[.)、）](?!\d)", text[end : end + 2]) is not None
