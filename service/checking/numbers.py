"""Numbers, dates, times and identifiers in Chinese and English, in a form in which equal things are equal.

`３，０００元`, `3000元` and `三千元` are one fact; so are `2024年3月5日`, `2024-03-05` and `March 5, 2024`,
or `1.5 km` and `1500 米`. Currencies are kept apart.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from service.checking.amounts import AMOUNTS
from service.checking.dates import DATES
from service.checking.numerals import FORMAL
from service.checking.ordinals import DOCUMENTS, ORDINALS
from service.checking.reading import Found, Read
from service.checking.times import TIMES
from service.checking.values import Number, Value, says

# The first that matches a stretch has it, so what is more than a number comes before numbers.
READERS = (*DOCUMENTS, *DATES, *TIMES, *ORDINALS, *AMOUNTS)
# 伍 and 陆 are names and words too: 队伍, 大陆.
ON_CHEQUES = re.compile(
    "(?:[壹贰貳叁肆柒捌玖]|[伍陆陸](?=[拾佰仟万萬亿億元]))[拾佰仟万萬亿億零壹贰貳叁肆伍陆陸柒捌玖]*"
)
TOGETHER = re.compile(r"(?:,? ?and |,? ?|又|零)\Z")  # between 1小时 and 30分钟


@dataclass(frozen=True, slots=True)
class Fact:
    """What stands at text[start:end]."""

    value: Value
    written: str
    start: int
    end: int
    incidental: bool = False  # "one", "first", 一个, the number of a list item: often states no number


def find_facts(text: str) -> tuple[Fact, ...]:
    """All facts, in order, not overlapping; offsets are code points of `text`. Linear in its length."""
    facts: list[Fact] = []
    rest = _fold(text)
    signs = frozenset(rest)
    for reader in READERS:
        if reader.needs and signs.isdisjoint(reader.needs):
            continue

        def take(found: re.Match[str], read: Read = reader.read) -> str:
            made = read(found)
            facts.extend(_as_fact(one, found, text) for one in made)
            return "\0" * (found.end() - found.start()) if made else found.group()

        rest = reader.pattern.sub(take, rest)
    return tuple(_joined(sorted(facts, key=lambda fact: fact.start), text))


def is_stated(fact: Fact, others: Sequence[Fact]) -> bool:
    """Whether one of the others says the same or, for a date, the same and more."""
    return any(says(other.value, fact.value) for other in others)


def nearest_stated(fact: Fact, others: Sequence[Fact]) -> Fact | None:
    """What the others say instead: a fact of the same kind and unit, or none."""
    for other in others:
        if isinstance(fact.value, Number) and isinstance(other.value, Number):
            if fact.value.unit == other.value.unit:
                return other
        elif type(fact.value) is type(other.value):
            return other
    return None


def _as_fact(made: Found, found: re.Match[str], text: str) -> Fact:
    start, end = made.span or found.span()
    written = text[start:end]
    start, end = start + len(written) - len(written.lstrip()), end - len(written) + len(written.rstrip())
    incidental = made.incidental or _numbers_an_item(text, start, end)
    return Fact(made.value, text[start:end], start, end, incidental)


def _joined(facts: Sequence[Fact], text: str) -> Iterator[Fact]:
    """1小时30分钟, 5元5角: one amount that is written in two units, the smaller behind the larger."""
    before: Fact | None = None
    for fact in facts:
        together = _together(before, fact, text) if before else None
        if before and not together:
            yield before
        before = together or fact
    if before:
        yield before


def _together(large: Fact, small: Fact, text: str) -> Fact | None:
    one, other = large.value, small.value
    if not (isinstance(one, Number) and isinstance(other, Number)) or not one.unit or one.unit != other.unit:
        return None
    if small.start - large.end > 6 or not TOGETHER.match(text, large.end, small.start):
        return None
    if not one.as_written or not other.as_written or one.as_written != one.as_written.to_integral_value():
        return None
    factor, other_factor = one.value / one.as_written, other.value / other.as_written
    if other_factor >= factor or not 0 < other.value < factor:
        return None
    value = one.value + other.value
    return Fact(
        Number(value.normalize(), one.unit, value / factor),
        text[large.start : small.end],
        large.start,
        small.end,
    )


def _fold(text: str) -> str:
    """Lower case, half width, plain numerals, sign by sign: offsets stay, and so do ① and ²."""
    folded = text.translate({ord(sign): to for sign in set(text) if (to := _fold_sign(sign)) != sign})
    return ON_CHEQUES.sub(lambda found: found.group().translate(FORMAL), folded)


def _fold_sign(sign: str) -> str:
    if unicodedata.category(sign) == "No":
        return sign
    folded = unicodedata.normalize("NFKC", sign).lower()
    return folded if len(folded) == 1 else sign


def _numbers_an_item(text: str, start: int, end: int) -> bool:
    """Whether this is the "1." or "（一）" at the head of a line."""
    heads = not text[max(0, start - 8) : start].split("\n")[-1].strip(" \t#-*•(（")
    return heads and re.match(r"[.)、）](?!\d)", text[end : end + 2]) is not None
