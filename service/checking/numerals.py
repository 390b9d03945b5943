"""Words for numbers to their values: Chinese numerals and English number words."""

from __future__ import annotations

import re
from decimal import Decimal

ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
ENGLISH_ONES = {word: value for value, word in enumerate(ONES.split())}
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
ENGLISH_TENS = {word: 10 * value for value, word in enumerate(TENS.split(), 2)}
NTH = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
ENGLISH_ORDINALS = {word: value for value, word in enumerate(NTH.split(), 1)}
ENGLISH_SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
ENGLISH_SCALES |= {"k": 10**3, "mn": 10**6, "bn": 10**9, "dozen": 12}
CHINESE_DIGITS = {sign: value for value, sign in enumerate("零一二三四五六七八九")} | {
    "〇": 0,
    "两": 2,
    "兩": 2,
}
CHINESE_SCALES = {"十": 10, "百": 100, "千": 10**3, "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}


# Numerals as on cheques, sign for sign.
FORMAL = str.maketrans("壹贰貳叁肆伍陆陸柒捌玖拾佰仟", "一二二三四五六六七八九十百千")


def chinese_decimal(numeral: str) -> Decimal:
    """三点五 is 3.5; without 点 as `chinese_value`."""
    whole, point, part = numeral.partition("点")
    if not point:
        return Decimal(chinese_value(whole))
    return Decimal(f"{chinese_value(whole)}.{''.join(str(CHINESE_DIGITS[sign]) for sign in part)}")


def chinese_value(numeral: str) -> int:
    """二〇二四 is 2024, 一万二千 is 12000, 十五 is 15, 三亿 is 300000000, 两万五 is 25000."""
    if not any(sign in CHINESE_SCALES for sign in numeral):
        return int("".join(str(CHINESE_DIGITS[sign]) for sign in numeral))
    total = section = digit = 0
    for sign in numeral:
        scale = CHINESE_SCALES.get(sign)
        if scale is None:
            digit = CHINESE_DIGITS[sign]
        elif scale < 10**4:
            section, digit = section + (digit or 1) * scale, 0
        elif scale == 10**4:
            total, section, digit = total + (section + digit or 1) * scale, 0, 0
        else:
            total, section, digit = (total + section + digit or 1) * scale, 0, 0
    return total + section + digit * _unsaid_scale(numeral)


def _unsaid_scale(numeral: str) -> int:
    """What the last digit counts: tenths of the scale right before it, from a hundred on."""
    before = CHINESE_SCALES.get(numeral[-2:-1], 1)
    return before // 10 if before > 10 else 1


def english_value(words: str) -> Decimal:
    """ "two hundred and five" is 205, "one and a half million" is 1500000, "third" is 3."""
    values = ENGLISH_ONES | ENGLISH_TENS | ENGLISH_ORDINALS
    total, section = Decimal(0), Decimal(0)
    for word in re.findall("[a-z]+", words):
        if word == "half":
            section += Decimal("0.5")
        elif word in {"hundred", "dozen"}:
            section = (section or Decimal(1)) * ENGLISH_SCALES[word]
        elif word in ENGLISH_SCALES:
            total, section = total + (section or Decimal(1)) * ENGLISH_SCALES[word], Decimal(0)
        else:
            section += values.get(word, 0)  # "a", "an", "and" say nothing
    return total + section


def scale_value(written: str) -> Decimal:
    """What a scale after digits multiplies by: 万 10⁴, 百万 10⁶, million 10⁶; "" is 1."""
    if not written:
        return Decimal(1)
    if written in ENGLISH_SCALES:
        return Decimal(ENGLISH_SCALES[written])
    product = 1
    for sign in written:
        product *= CHINESE_SCALES[sign]
    return Decimal(product)
