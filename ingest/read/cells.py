"""A spreadsheet's number as its cell shows it: dates, percentages, and the words of its number format."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

BUILT_IN = {  # ECMA-376, 18.8.30: formats that a file names by number alone
    "9": "0%",
    "10": "0.00%",
    **{str(number): "yyyy-mm-dd" for number in (14, 15, 16, 17, *range(27, 32), *range(50, 59), 36)},
    **{str(number): "h:mm:ss" for number in (18, 19, 20, 21, 32, 33, 34, 35, 45, 46, 47)},
    "22": "yyyy-mm-dd h:mm",
}
DIGITS = re.compile(r"[0#?]")
CURRENCY = re.compile(r"\[\$([^\]-]*)[^\]]*\]")
CONDITION = re.compile(r"\[(?!h+\]|m+\]|s+\])[^\]]*\]", re.IGNORECASE)  # colours, conditions, locales
LITERAL = re.compile(r'"([^"]*)"|\\(.)|([ $¥€£])|[_*].')
DATE_LETTERS = re.compile(r"[ymdhs]", re.IGNORECASE)
TIME_LETTERS = re.compile(r"[hs]", re.IGNORECASE)
DAY_LETTERS = re.compile(r"[yd]|m{3,}", re.IGNORECASE)
FIRST_DAY = datetime(1899, 12, 30)  # day 0; 1900 counts as a leap year, hence not the 31st
FIRST_DAY_1904 = datetime(1904, 1, 1)
LAST_SERIAL = 2_958_466  # the day after 9999-12-31


def shown(value: str, code: str, from_1904: bool = False) -> str:
    """`value` as the file has it, shown by the number format `code`; thousands are not parted.

    Digits are never rounded away: what the cell shows shorter, stays as long as it is stored.
    """
    try:
        number = float(value)
    except ValueError:
        return value
    code = CONDITION.sub("", CURRENCY.sub(r'"\1"', code.split(";")[0]))
    bare = LITERAL.sub("", code)
    if DATE_LETTERS.search(bare) and bare.lower() != "general" and 0 <= number < LAST_SERIAL:
        return _date(number, bare, FIRST_DAY_1904 if from_1904 else FIRST_DAY)
    if "%" in bare:
        return _plain(number * 100) + "%"
    plain = value if value.lstrip("-").isdecimal() else _plain(number)
    before, after = _words(code)
    return f"{before}{plain}{after}"


def _plain(number: float) -> str:
    """Without the noise of binary fractions, and without an exponent as long as it can be read."""
    text = f"{number:.15g}"
    return text if "e" not in text else f"{number:.20f}".rstrip("0").rstrip(".") if abs(number) < 1 else text


def _words(code: str) -> tuple[str, str]:
    """What the format writes before and after the digits: a currency, a unit."""
    digits = list(DIGITS.finditer(LITERAL.sub(lambda found: "\x00" * len(found.group()), code)))
    if not digits:
        return "", ""
    outside = code[: digits[0].start()], code[digits[-1].end() :]
    before, after = ("".join(map("".join, LITERAL.findall(part))) for part in outside)
    return before, after


def _date(serial: float, code: str, first: datetime) -> str:
    moment = first + timedelta(seconds=round(serial * 86_400))
    has_time, has_day = TIME_LETTERS.search(code) is not None, DAY_LETTERS.search(code) is not None
    clock = f"{moment:%H:%M:%S}" if moment.second else f"{moment:%H:%M}"
    if has_time and not has_day:
        return clock if serial < 1 else f"{int(serial * 24)}:{moment:%M}"
    return f"{moment:%Y-%m-%d} {clock}" if has_time else f"{moment:%Y-%m-%d}"
