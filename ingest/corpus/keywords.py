"""Words of a text, and which passages hold the words of a question: BM25Okapi in postings."""

from __future__ import annotations

import re
from itertools import pairwise
from unicodedata import normalize

import rjieba
from opencc import OpenCC

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u3005\u3007"  # with 々 and 〇
RUN = re.compile(rf"(?P<han>[{HAN}]+)|(?:[^\W_{HAN}]+(?:[-_.@/+']+[^\W_{HAN}]+)*)")
PART = re.compile(r"[^\W_]+")
# "prd-2041", "v2.1", "emp_0001", "ana@acme.example": people search for them whole; "well-known" they do not.
IDENTIFIER = re.compile(r"[\d_@]")


def words(text: str) -> list[str]:
    """The words of `text` as an index and a question both see them, repeated as often as they occur.

    Compatibility forms, case and traditional signs are folded. A compound gives its parts, an identifier
    itself as well. Chinese is cut by dictionary, and neighbouring signs that are in no word are also taken as
    a pair, so that names and new words are found.
    """
    folded = normalize("NFKC", text).casefold().translate(SIMPLIFIED)
    return [word for run in RUN.finditer(folded) for word in _words_of(run)]


def _words_of(run: re.Match[str]) -> list[str]:
    return _chinese(run["han"]) if run["han"] else _compound(run[0])


def _compound(run: str) -> list[str]:
    parts = PART.findall(run)
    return [run, *parts] if len(parts) > 1 and IDENTIFIER.search(run) else parts


def _chinese(run: str) -> list[str]:
    # Without the hidden Markov model: it makes words of what happens to stand together (年|假为), where a
    # question is cut otherwise.
    cut = rjieba.cut(run, hmm=False)
    pairs = [left + right for left, right in pairwise(cut) if len(left) == len(right) == 1]
    return [*rjieba.cut_for_search(run, hmm=False), *pairs]


def _simplified_signs() -> dict[int, str]:
    """Sign by sign, not by phrase: a sign must fold alike in a question and in a document."""
    traditional = [chr(code) for block in (range(0x3400, 0x4DC0), range(0x4E00, 0xA000)) for code in block]
    simplified = OpenCC("t2s").convert("\n".join(traditional)).split("\n")
    return {ord(old): new for old, new in zip(traditional, simplified, strict=True) if old != new}


SIMPLIFIED = _simplified_signs()
