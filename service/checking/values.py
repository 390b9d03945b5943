"""What a text can state exactly: numbers, ordinals, dates, times, weekdays, names; when one says another.

Equal things are equal however they were written; what is less exact is said by what is more so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from service.checking.units import AGREEING, MEASURES

MINUTES_OF_DAY = 24 * 60


@dataclass(frozen=True, slots=True)
class Number:
    value: Decimal  # in `unit`
    unit: str = ""  # "": none, or none that is known
    as_written: Decimal | None = field(default=None, compare=False)  # before it was brought to `unit`

    def says(self, other: Number) -> bool:
        """Equal in one unit; where either has no known unit, equal as written."""
        if not (self.unit and other.unit):
            return (self.as_written or self.value) == (other.as_written or other.value)
        measure, factor = MEASURES.get(self.unit, (self.unit, 1))
        other_measure, other_factor = MEASURES.get(other.unit, (other.unit, 1))
        if measure == other_measure:
            return self.value * factor == other.value * other_factor
        return self.value == other.value and frozenset((self.unit, other.unit)) in AGREEING


@dataclass(frozen=True, slots=True)
class Ordinal:
    """The third of something: 第三条, Article 3, No. 3."""

    number: str  # "3"; "4.2" is not "4.20"
    of: str = ""  # article, paragraph, floor …; "": not said, or of no known kind

    def counts_as(self, number: Number) -> bool:
        """Whether a bare number, such as that of a heading, may stand for it."""
        return number.unit in {"", "floor"} and number.unit in {"", self.of} and _plain(number) == self.number


@dataclass(frozen=True, slots=True)
class Date:
    year: int | None
    month: int | None = None
    day: int | None = None
    part: str = ""  # of the year or month: q1 … q4, q1-q3, h1, h2, start, middle, end; or "decade"

    def says(self, other: Date) -> bool:
        pairs = ((self.year, other.year), (self.month, other.month), (self.day, other.day))
        if any(there != here for there, here in pairs if here is not None):
            return False
        return self.part == other.part or (not other.part and self.part != "decade")


@dataclass(frozen=True, slots=True)
class Time:
    minutes: int  # since midnight
    on_the_dial: int | None = field(default=None, compare=False)  # as written, where the half of day was said
    half_open: bool = field(default=False, compare=False)  # "3点": of which half of the day is not said

    def says(self, other: Time) -> bool:
        if self.minutes % MINUTES_OF_DAY == other.minutes % MINUTES_OF_DAY:
            return True
        return other.half_open and self.on_the_dial == other.minutes


@dataclass(frozen=True, slots=True)
class Weekday:
    """Monday is 1; Monday to Friday is (1, 5)."""

    first: int
    last: int

    def says(self, other: Weekday) -> bool:
        return self.first <= other.first and other.last <= self.last


@dataclass(frozen=True, slots=True)
class Identifier:
    name: str  # prd-2041, v2.1, fy2023, 国发[2024]15号: in lower case, brackets square

    def says(self, other: Identifier) -> bool:
        """Equal; a document's number also where either leaves out who gave it."""
        if self.name.startswith("[") or other.name.startswith("["):
            return self.name.endswith(other.name) or other.name.endswith(self.name)
        return self.name == other.name


Value = Number | Ordinal | Date | Time | Weekday | Identifier


def says(there: Value, wanted: Value) -> bool:
    """Whether what is there says what is wanted, and maybe more."""
    match there, wanted:
        case Number(), Number():
            return there.says(wanted)
        case Date(), Date():
            return there.says(wanted)
        case Time(), Time():
            return there.says(wanted)
        case Weekday(), Weekday():
            return there.says(wanted)
        case Identifier(), Identifier():
            return there.says(wanted)
        case Ordinal(), Ordinal():
            return there.number == wanted.number and (there.of == wanted.of or not (there.of and wanted.of))
        case (Ordinal() as ordinal, Number() as number) | (Number() as number, Ordinal() as ordinal):
            return ordinal.counts_as(number)
        case Date(year=None, month=None, day=day), Ordinal(number=name):
            return str(day) == name
        case Ordinal(number=name), Date(year=None, month=None, day=day):
            return str(day) == name
        case Date(year=year, part=part), Number(value=value, unit=""):
            return value == year and part != "decade"
        case Number(value=value, unit=""), Date(year=year, month=None, part=""):
            return value == year
        case _:
            return False


def _plain(number: Number) -> str:
    return format(number.value.normalize(), "f")
