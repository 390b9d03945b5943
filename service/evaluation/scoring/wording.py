"""Does an answer say what was asked of it? Texts compared as words, and Chinese as signs.

Folded as SQuAD's evaluation does it (Rajpurkar et al. 2016, section 6.1): case, punctuation and articles go.
That was made for English words; here no fact may be lost: 1.5 is not 15, 3-5 is neither 35 nor 5, 5% is not
5, class A keeps its A. What only separates (a comma, the slash of DN15/DN20) parts words. Markers go.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from unicodedata import normalize

from ingest.corpus.keywords import HAN
from service.checking.cite import CITATIONS
from service.checking.numerals import CHINESE_DIGITS, CHINESE_SCALES

KEPT = 4096  # texts whose words are remembered: the documents of a set are compared with every answer
DASHES = str.maketrans("−–‐‑", "----")
SCALES = "".join(CHINESE_SCALES)
NUMERALS = "".join(CHINESE_DIGITS) + SCALES
# A capital A is an article only at the head of a sentence: elsewhere it names a class, a plan, a building.
ARTICLE = re.compile(r"\b(?:[Tt]he|THE|[Aa]n|a)\b|(?:\A|(?<=[.!?]\s))A(?=\s)")
LETTER = rf"[^\W\d_{HAN}]"
SIGN = rf"[^\W_{HAN}]"
POSSESSIVE = re.compile(rf"(?<={LETTER})['’]s\b", re.IGNORECASE)  # who says Manning's says Manning
# Within a word: e-mail, BW-40, don't and U.S. are one each; 12,000 is 12000.
JOINT = re.compile(
    rf"(?<={LETTER})['’-](?={SIGN})|(?<={SIGN})-(?={LETTER})|(?<=\b{LETTER})\.(?={LETTER}\b)"
    r"|(?<=\d),(?=\d\d\d(?!\d))"
)
# 五 is not in 十五, and 3 not in 3万; but 5.6 is in 5.6千克.
WORD = re.compile(
    rf"(?:(?<![\w-])-(?=\d))?(?:{SIGN}|(?<=\d)[.:/~-](?=\d))+(?:(?<=\d)(?:[{SCALES}](?![克米瓦卡帕]))+)?"
    rf"|[{NUMERALS}]+|[{HAN}]|[%‰$€£¥]"
)
APART = re.compile(rf"[{HAN}]|[^{HAN}]+")


def holds(text: str, part: str) -> bool:
    """Whether `text` says `part` somewhere, word for word; numbers count only as wholes.

    A part without words is looked for as it stands: a marker, say.
    """
    wanted = _in_a_row(part)
    return wanted in _in_a_row(text) if wanted.strip() else part in text


def exact(text: str, wanted: Iterable[str]) -> float:
    """1 if the whole of `text` says one of `wanted` and nothing else, or else 0."""
    found = signs(text)
    return float(any(found == signs(one) for one in wanted))


def f1(text: str, wanted: Iterable[str]) -> float:
    """The best F1 of the words that `text` and one of `wanted` share; each Chinese sign is a word. 0..1."""
    found = signs(text)
    return max((_f1(found, signs(one)) for one in wanted), default=0.0)


@lru_cache(maxsize=KEPT)
def words(text: str) -> tuple[str, ...]:
    """Words, numbers and Chinese signs in order, folded; a number with its Chinese scale is one."""
    plain = normalize("NFKC", CITATIONS.sub(" ", text)).translate(DASHES)
    return tuple(WORD.findall(JOINT.sub("", POSSESSIVE.sub("", ARTICLE.sub(" ", plain))).casefold()))


def signs(text: str) -> list[str]:
    """The same with each Chinese sign on its own."""
    return [sign for word in words(text) for sign in APART.findall(word)]


@lru_cache(maxsize=KEPT)
def _in_a_row(text: str) -> str:
    return f" {' '.join(words(text))} "


def _f1(found: list[str], wanted: list[str]) -> float:
    if not found or not wanted:
        return float(found == wanted)
    shared = (Counter(found) & Counter(wanted)).total()
    return 2 * shared / (len(found) + len(wanted))
