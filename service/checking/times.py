"""Times of day and days of the week in Chinese and English."""

from __future__ import annotations

import re
from collections.abc import Sequence

from service.checking.numerals import ENGLISH_ONES
from service.checking.reading import RANGE, ZH, Found, one_of, reader, whole_number
from service.checking.values import Time, Weekday

HALF_OF_DAY = "(?:(?P<half>上午|下午|晚上|夜里|早上|早晨|中午|凌晨|傍晚|晚|早) ?)?"
AFTER_NOON = frozenset("下晚夜傍中")  # the first sign of a half that begins at noon
NIGHT = frozenset("晚夜")
HOUR_WORD = one_of(word for word, hour in ENGLISH_ONES.items() if 1 <= hour <= 12)
MINUTES = {"半": 30, "一刻": 15, "三刻": 45}
# 三点五, but not 三点五分 or 三点十五
NO_POINT = r"(?!(?:[零〇一二三四五六七八九两]){1,8}(?![零〇一二三四五六七八九十两分刻]))"
NOT_OF_A_CLOCK = "(?![间候期間擊击]|建议|要求|意见|原因|理由|说明|内容|措施)"
WEEKDAYS = {"monday": 1, "tuesday": 2, "wednesday": 3, "thursday": 4, "friday": 5, "saturday": 6, "sunday": 7}
WEEKDAYS |= {"mon": 1, "tue": 2, "tues": 2, "wed": 3, "thu": 4, "thur": 4, "thurs": 4, "fri": 5}
WEEKDAYS |= {sign: day for day, sign in enumerate("一二三四五六日", 1)} | {"天": 7}
FULL_NAME = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
SHORT_NAME = r"(?:mon|tues?|wed|thu(?:rs?)?|fri)\b"
# Not the 周三 of 每周三次: what is counted follows.
NOT_COUNTED = "(?![次回天场趟班遍篇]|个(?!人)|小时|晚(?!上))"
ZH_WEEKDAY = f"(?:(?:周|週)[一二三四五六日]|(?:星期|礼拜)[一二三四五六日天]){NOT_COUNTED}"
WEEKDAY = rf"(?:\b(?:{FULL_NAME}|{SHORT_NAME})|{ZH_WEEKDAY})"


def _time(found: re.Match[str]) -> Sequence[Found]:
    parts = found.groupdict()
    hour, minute = _hour(parts["hour"]), _minute(parts)
    half = (parts.get("half") or "").lower()
    later = _half_hours(half, hour)
    if not (hour <= 24 and 0 <= minute < 60):
        return ()
    said = 60 * hour + minute
    open_half = not half and hour <= 12 and ":" not in found.group()
    return [Found(Time(said + 60 * later, said % 720 if half else None, open_half))]


def _hour(written: str) -> int:
    return ENGLISH_ONES[written] if written in ENGLISH_ONES else whole_number(written) or 0


def _minute(parts: dict[str, str | None]) -> int:
    return MINUTES.get(parts.get("quarters") or "", whole_number(parts.get("minute")) or 0)


def _half_hours(half: str, hour: int) -> int:
    """Hours to add for the half of the day that is named; twelve at night is midnight."""
    if not half or hour > 12:
        return 0
    if half[0] in NIGHT or half[0] == "a" or half == "凌晨":
        return {12: 12 if half[0] in NIGHT else -12}.get(hour, 12 if half[0] in NIGHT else 0)
    if half == "中午":
        return 12 if hour < 3 else 0
    return 12 if (half[0] == "p" or half[0] in AFTER_NOON) and hour < 12 else 0


def _named(found: re.Match[str]) -> Sequence[Found]:
    return [Found(Time(0 if found.group() in {"midnight", "午夜", "零点", "零时"} else 720))]


def _past(found: re.Match[str]) -> Sequence[Found]:
    minutes = {"half": 30, "quarter": 15}[found["part"]]
    sign = 1 if found["way"] == "past" else -1
    return [Found(Time((60 * _hour(found["hour"]) + sign * minutes) % 720, half_open=True))]


def _weekday(found: re.Match[str]) -> Sequence[Found]:
    first, last = _day(found["first"]), _day(found["last"] or found["first"])
    if first <= last:
        return [Found(Weekday(first, last))]
    return [
        Found(Weekday(first, first), span=found.span("first")),
        Found(Weekday(last, last), span=found.span("last")),
    ]


def _day(written: str) -> int:
    return WEEKDAYS.get(written) or WEEKDAYS[written[-1]]


TIMES = (
    # 2:30 pm, 2 p.m.
    reader(r"(?<![\d:.])(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))? ?(?P<half>[ap]\.?m)\b\.?", _time),
    # 14:30, 下午2:30
    reader(
        rf"{HALF_OF_DAY}(?<![\d:])(?P<hour>\d{{1,2}}):(?P<minute>\d{{2}})(?::\d{{2}})?(?![\d:])", _time, ":"
    ),
    reader(r"\b(?:noon|midday|midnight)\b|正午|午夜|零[点时](?![\d零〇一二三四五六七八九])", _named),
    # 下午两点半, 14时30分, 9点一刻
    reader(
        rf"{HALF_OF_DAY}(?<![\d.])(?P<hour>\d{{1,2}}|(?:二?十)?[一二两三四五六七八九]|二?十) ?[点點时時]"
        rf"{NO_POINT}{NOT_OF_A_CLOCK}(?:(?P<quarters>半|一刻|三刻)|(?P<minute>\d{{1,2}}|{ZH}{{1,3}}) ?分)?",
        _time,
        "点點时時",
    ),
    # half past eight, quarter to 9, nine o'clock
    reader(rf"\b(?P<part>half|quarter) (?P<way>past|to) (?P<hour>{HOUR_WORD}|\d{{1,2}})\b", _past),
    reader(rf"\b(?P<hour>{HOUR_WORD}|\d{{1,2}}) o['’]?clock\b", _time),
    # Monday to Friday, 周三
    reader(rf"(?P<first>{WEEKDAY})s?(?:{RANGE.replace('|and', '')}(?P<last>{WEEKDAY})s?)?", _weekday),
)
