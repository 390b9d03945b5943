"""What the readers of numbers, dates and times share: their form, and the pieces of their patterns.

A text comes to them folded: in lower case and half width, sign by sign.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from service.checking.numerals import CHINESE_DIGITS, CHINESE_SCALES, chinese_value
from service.checking.values import Value


@dataclass(frozen=True, slots=True)
class Found:
    value: Value
    incidental: bool = False  # it often states no number
    span: tuple[int, int] | None = None  # where it stands; None: all that was matched


Read = Callable[[re.Match[str]], Sequence[Found]]  # () where it is something else, for the next to try


@dataclass(frozen=True, slots=True)
class Reader:
    pattern: re.Pattern[str]
    read: Read
    needs: frozenset[str]  # signs of which a text has one, or nothing to read; none: any text will do


def reader(pattern: str, read: Read, needs: str = "") -> Reader:
    return Reader(re.compile(pattern), read, frozenset(needs))


def one_of(forms: Iterable[str]) -> str:
    """A pattern for any of these, the longest first."""
    return "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))


ZH_DIGIT = f"[{''.join(CHINESE_DIGITS)}]"
ZH = f"[{''.join(CHINESE_DIGITS)}{''.join(CHINESE_SCALES)}]"
RANGE = r"\s?(?:[-–—~至到]|to\b|and\b)\s?"


def whole_number(written: str | None) -> int | None:
    """Digits or a Chinese numeral; None for nothing."""
    if not written:
        return None
    return int(written) if written.isdecimal() else chinese_value(written)
