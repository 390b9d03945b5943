"""Numbers with their units in Chinese and English: digits and words, scales, shares, halves, money."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from service.checking.numerals import (
    CHINESE_DIGITS,
    CHINESE_SCALES,
    ENGLISH_ONES,
    ENGLISH_ORDINALS,
    ENGLISH_TENS,
    chinese_decimal,
    english_value,
    scale_value,
)
from service.checking.reading import RANGE, ZH, ZH_DIGIT, Found, one_of, reader
from service.checking.units import COUNT, CURRENCY_SIGNS, UNITS
from service.checking.values import Number

HALF = Decimal("0.5")
LATIN_UNIT = one_of(unit for unit in UNITS if unit[-1].isascii() and unit[-1].isalpha())
OTHER_UNIT = one_of(unit for unit in UNITS if not (unit[-1].isascii() and unit[-1].isalpha()))
UNIT = rf"(?:(?:{LATIN_UNIT})(?![a-z0-9²³])|{OTHER_UNIT})"
HALVED = "年 个月 天 日 周 星期 个星期 小时 个小时 钟头 公斤 斤 公里 千米 米 里 吨"  # what 半 stands before
SIGN = one_of(CURRENCY_SIGNS)
# Blanks between thousands, but not from one column of a table to the next.
SPACED = r"(?<!\d )\d{1,3}(?: \d{3})+(?! ?\d)(?:\.\d+)?"
DIGITS = rf"(?:\d{{1,3}}(?:,\d{{3}})+(?!\d)(?:\.\d+)?|{SPACED}|\d+(?:\.\d+)?)"
SCALE = r"(?:[十百千万萬]?[万萬亿億]|[十百千]|(?:thousand|million|billion|trillion|dozen|mn|bn|k)(?![a-z]))"
AND_HALF = r"(?P<and_half> and a half|个半(?=[小钟月星]))?"  # of what comes behind
HALF_MORE = r"(?P<half>半(?![数价径途夜成决岁票折])| and a half\b)?"  # of what stands before
# In "5-10 days" the 5 has the unit and the scale of the 10.
AFTER_DIGITS = (
    rf"(?:\s?(?P<scale>{SCALE}))?{AND_HALF}(?:[\s-]?(?P<unit>{UNIT}){HALF_MORE}"
    rf"|(?={RANGE}{DIGITS}(?:\s?(?P<later_scale>{SCALE}))?(?:[\s-]?(?P<later_unit>{UNIT}))?))?"
)
NUMERAL = rf"{ZH}{{1,16}}(?:点{ZH_DIGIT}{{1,8}})?"
BIG = "(?:hundred|dozen|thousand|million|billion|trillion)"
SMALL = (
    rf"(?:(?:{one_of(ENGLISH_TENS)})(?:[ -](?:{'|'.join(list(ENGLISH_ONES)[1:10])}))?|{one_of(ENGLISH_ONES)})"
)
ENGLISH_NUMBER = (
    rf"(?:{SMALL}|(?:half )?an? (?={BIG}))(?: and a half)?(?:[ -]?{BIG}(?:(?: and)?[ -]{SMALL})?){{0,4}}"
)
DIGIT_OR_NUMERAL = rf"(?:(?<![\d.])\d{{1,12}}(?:\.\d{{1,12}})?|{NUMERAL})"
SHARES = {word: nth for word, nth in ENGLISH_ORDINALS.items() if 3 <= nth <= 10} | {"quarter": 4}
DURATION = "(?:second|minute|hour|day|week|fortnight|month|year|decade)"


def _digits(found: re.Match[str]) -> Sequence[Found]:
    scale = found["scale"] or found["later_scale"] or ""
    value = Decimal(re.sub("[, ]", "", found["digits"])) * scale_value(scale)
    if found["money"]:
        value *= 10**9 if found["money"].strip() == "b" else 10**6
    if found["and_half"]:
        value += HALF * scale_value(scale)
    if found["half"]:
        value += HALF
    value = -value if found["minus"] else value
    return [Found(_in_unit(value, found["unit"] or found["later_unit"], found["sign"]))]


def _chinese(found: re.Match[str]) -> Sequence[Found]:
    numeral, unit = found["numeral"], found["unit"] or found["later_unit"] or ""
    composed = len(numeral) > 1 and any(sign in CHINESE_SCALES for sign in numeral)
    if numeral[0] in "百千万萬亿億" or not (unit or composed or "点" in numeral):
        return ()
    value = chinese_decimal(numeral) + (HALF if found["half"] or found["and_half"] else 0)
    number = _in_unit(-value if found["minus"] else value, unit, None)
    return [Found(number, incidental=number == Number(Decimal(1), COUNT))]


def _english(found: re.Match[str]) -> Sequence[Found]:
    unit = found["unit"] or found["later_unit"]
    value = english_value(found["words"]) + (HALF if found["half"] else 0)
    number = _in_unit(value, unit, None)
    return [Found(number, incidental=not unit and number.value == 1)]


def _half_unit(found: re.Match[str]) -> Sequence[Found]:
    return [Found(_in_unit(HALF, found["unit"], None))]


def _quarter_hour(_found: re.Match[str]) -> Sequence[Found]:
    return [Found(_in_unit(Decimal(15), "minutes", None))]


def _one_and_half(found: re.Match[str]) -> Sequence[Found]:
    return [Found(_in_unit(1 + HALF, found["unit"], None))]


def _one(found: re.Match[str]) -> Sequence[Found]:
    start, end = found.span("one")
    return [Found(_in_unit(Decimal(1), found["unit"], None), incidental=True, span=(start, end))]


def _share(part: Decimal, whole: Decimal) -> Sequence[Found]:
    return [Found(Number((100 * part / whole).normalize(), "%", (part / whole).normalize()))] if whole else ()


def _zh_share(found: re.Match[str]) -> Sequence[Found]:
    whole, part = _decimal(found["whole"]), _decimal(found["part"])
    if whole in {100, 1000, 10_000}:
        return [Found(Number((100 * part / whole).normalize(), "%", part))]
    return _share(part, whole)


def _en_share(found: re.Match[str]) -> Sequence[Found]:
    part = Decimal(1) if found["part"] in {"a", "an"} else english_value(found["part"])
    return _share(part, Decimal(SHARES[found["whole"]]))


def _slash_share(found: re.Match[str]) -> Sequence[Found]:
    part, whole = int(found["part"]), int(found["whole"])
    return _share(Decimal(part), Decimal(whole)) if 0 < part < whole else ()


def _one_half(_found: re.Match[str]) -> Sequence[Found]:
    return _share(Decimal(1), Decimal(2))


def _tenths(found: re.Match[str]) -> Sequence[Found]:
    value = 10 * _decimal(found["n"]) + (_decimal(found["more"]) if found["more"] else 0)
    return [Found(Number(value.normalize(), "%"))] if value <= 100 else ()


def _discount(found: re.Match[str]) -> Sequence[Found]:
    """八折 and 八五折 are what is left to pay: 20 % and 15 % off."""
    written = found["n"]
    left = _decimal(written)
    left = left if len(written) == 2 and "." not in written else 10 * left
    return [Found(Number((100 - left).normalize(), "%"))] if 0 < left < 100 else ()


def _twice(_found: re.Match[str]) -> Sequence[Found]:
    return [Found(Number(Decimal(2), "times"))]


def _both(found: re.Match[str]) -> Sequence[Found]:
    return [Found(Number(Decimal(2 if found.group() == "俩" else 3), COUNT))]


def _decimal(written: str) -> Decimal:
    return Decimal(written) if written[0].isdecimal() else chinese_decimal(written)


def _in_unit(value: Decimal, unit: str | None, sign: str | None) -> Number:
    if sign:
        return Number(value.normalize(), CURRENCY_SIGNS[sign.strip()])
    if not unit:
        return Number(value.normalize())
    name, factor = UNITS[" ".join(unit.replace("-", " ").split())]
    return Number((value * factor).normalize(), name, value)


SHARE_READERS = (
    # 百分之十二, 千分之三, 三分之二
    reader(rf"(?P<whole>{DIGIT_OR_NUMERAL}|[百千万]) ?分之 ?(?P<part>{DIGIT_OR_NUMERAL})", _zh_share, "分"),
    # 三成, 八折
    reader(
        r"(?<![\d一二三四五六七八九十])(?P<n>[1-9]|[一二三四五六七八九十])成(?P<more>[一二三四五六七八九])?"
        r"(?!员(?!工)|为|立|功|本|果|长|熟|分|都|交|年|绩|人|就|品|型|份|套|语|见|效|行|天|家)",
        _tenths,
        "成",
    ),
    reader(r"(?P<n>\d(?:\.\d)?|[1-9]\d|[一二三四五六七八九]{1,2})折(?![叠算旧线])", _discount, "折"),
    # two thirds of, half of, 2/3
    reader(
        rf"\b(?P<part>an?|one|two|three|four|five|six|seven|eight|nine)[ -](?P<whole>{one_of(SHARES)})s?"
        rf"(?= of\b(?! (?:an? )?(?:{DURATION}|\d)))",
        _en_share,
    ),
    reader(r"\ba quarter (?:of an )?hour\b", _quarter_hour),
    reader(
        r"(?<!first )(?<!second )(?<!other )\bhalf "
        rf"(?:of (?!an? (?:{DURATION}))|(?=(?:the|its|their|our|all)\b))"
        r"|一半|半数",
        _one_half,
    ),
    reader(r"(?<![\d/.a-z])(?P<part>\d)/(?P<whole>\d|10)(?![\d/a-z])", _slash_share, "/"),
)  # fmt: skip

# After all others.
AMOUNTS = (
    *SHARE_READERS,
    *(
        reader(
            rf"(?P<sign>(?:{SIGN}) ?)?(?P<minus>(?<![\w\0)%])[-−]|零下|\bminus )?"
            rf"(?<![\d.])(?P<digits>{DIGITS})(?(sign)(?P<money> ?[mb](?![a-z0-9]))?){AFTER_DIGITS}",
            _digits,
        ),
        reader(rf"(?<![一个上下前后大多\d])半(?P<unit>{one_of(HALVED.split())})(?!度)", _half_unit, "半"),
        reader(r"俩|仨", _both, "俩仨"),
        reader(
            rf"(?<![哪某同另])(?P<minus>零下|负)?(?P<numeral>{NUMERAL})(?P<and_half>个半(?=[小钟月星]))?"
            rf"(?:(?P<unit>{OTHER_UNIT}){HALF_MORE}|(?={RANGE}{ZH}{{1,8}}(?P<later_unit>{OTHER_UNIT})))?",
            _chinese,
            "".join((*CHINESE_DIGITS, *CHINESE_SCALES)),
        ),
        # half an hour, a year and a half, within a week, twice
        reader(
            rf"\bhalf(?: of)?[ -](?:an? )?(?P<unit>{DURATION}|kilo(?:gram|metre|meter)|kg|km|mile)\b",
            _half_unit,
        ),
        reader(rf"\ban? (?P<unit>{DURATION}) and a half\b", _one_and_half),
        reader(
            r"\b(?:within|for|after|in|of|takes?|lasts?|least|most|than|about|every) "
            rf"(?P<one>an? (?P<unit>{DURATION}))\b(?! half)",
            _one,
        ),
        reader(r"\btwice\b", _twice),
        reader(
            rf"\b(?P<words>{ENGLISH_NUMBER})\b(?:[ -](?P<unit>(?:{LATIN_UNIT})\b|%){HALF_MORE}"
            rf"|(?={RANGE}{SMALL}[ -](?P<later_unit>(?:{LATIN_UNIT})\b)))?",
            _english,
        ),
    ),
)
