"""The third of something, and names with numbers in them: clauses, versions, numbers of documents, codes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from service.checking.numerals import ENGLISH_ORDINALS
from service.checking.reading import ZH, Found, one_of, reader, whole_number
from service.checking.units import CURRENCY_SIGNS
from service.checking.values import Identifier, Ordinal

# Kinds that are told apart; numbers of other things (steps, rooms, years) agree with any.
KINDS = {
    "article": "article art 条 條",
    "paragraph": "paragraph para 款",
    "item": "item 项 項",
    "chapter": "chapter 章",
    "section": "section sec 节 節",
    "page": "page 页 頁",
    "edition": "edition 版",
    "floor": "floor storey 楼 樓 层 層",
}
KIND_OF = {word: kind for kind, words in KINDS.items() for word in words.split()}
NUMBERED = (
    r"(?:(?P<kind>articles?|art|paragraphs?|para|items?|chapters?|sections?|sec|pages?)\.?"
    r"|clauses?|annex|appendix|tables?|figures?|steps?|rooms?|buildings?|rules?|no\.|§)"
)
NOUN = (
    "(?P<kind>article|paragraph|item|chapter|section|page|edition|floor|storey|year|month|week|day|version"
    "|level|stage|phase|grade|place|anniversary|party|parties)"
)
PARTIES = {"party", "parties"}  # a third party is no third of several
ZH_KINDS = "".join(sign for sign in KIND_OF if len(sign) == 1 and sign > "\u2e7f")
NTH = one_of(ENGLISH_ORDINALS)


def _ordinal(found: re.Match[str]) -> Sequence[Found]:
    parts = found.groupdict()
    number, kind = _number(parts["n"]), parts.get("kind") or ""
    made = Ordinal(number, KIND_OF.get(kind) or KIND_OF.get(kind.rstrip("s"), ""))
    # "the first form", 第一: often no number
    return [Found(made, incidental=number == "1" and not made.of)]


def _number(written: str) -> str:
    return written if "." in written else str(whole_number(written))


def _within(found: re.Match[str]) -> Sequence[Found]:
    """Article 5(2): the second paragraph of it."""
    article, paragraph = found.span("n"), found.span("paragraph")
    return [
        Found(Ordinal(found["n"], "article"), span=(found.start(), article[1])),
        Found(Ordinal(found["paragraph"], "paragraph"), span=(article[1], paragraph[1] + 1)),
    ]


def _in_words(found: re.Match[str]) -> Sequence[Found]:
    kind = found["kind"] or ""
    if kind in PARTIES:
        return ()
    number = ENGLISH_ORDINALS[found["n"]]
    return [Found(Ordinal(str(number), KIND_OF.get(kind, "")), incidental=number == 1 or not kind)]


def _document(found: re.Match[str]) -> Sequence[Found]:
    return [Found(Identifier(f"{found['office'] or ''}[{found['year']}]{found['n']}号"))]


def _version(found: re.Match[str]) -> Sequence[Found]:
    return [Found(Identifier(f"v{found['n']}"))]


def _identifier(found: re.Match[str]) -> Sequence[Found]:
    return [Found(Identifier(found.group()))]


# Before all others: what else would be read as a year in brackets.
DOCUMENTS = (
    # 国发〔2024〕15号; the last two signs of who gave it, of which the second tells that it is one
    reader(
        r"(?P<office>[\u4e00-\u9fff][发函办令规税通文电厅委局部会])? ?[\[〔【(](?P<year>\d{4})[\]〕】)] ?"
        r"(?:第 ?)?(?P<n>\d{1,5}) ?[号號]",
        _document,
        "号號",
    ),
)

# After dates and times, before plain numbers.
ORDINALS = (
    # 010-1234-5678, 2.4.1
    reader(
        r"(?<![a-z0-9])\d{2,4}(?:-\d{2,8}){2,4}(?![a-z0-9])|(?<![a-z0-9.])\d+(?:\.\d+){2,6}(?![a-z0-9])",
        _identifier,
    ),
    # version 2.1, 2.1版
    reader(r"(?:\b(?:version|ver\.?|release)|版本号?) ?v?(?P<n>\d+(?:\.\d+){1,4})(?![a-z0-9])", _version),
    reader(r"(?<![\d.])(?P<n>\d+\.\d+) ?版", _version, "版"),
    # PRD-2041, v2.1; not USD5, not m2
    reader(
        rf"(?<![a-z0-9])(?!(?:{one_of(CURRENCY_SIGNS)})\d)(?!k?m[23](?![a-z0-9]))"
        r"[a-z][a-z_]{0,30}[-_.#/]?\d[a-z0-9]{0,30}(?:[-_./][a-z0-9]{1,30}){0,6}",
        _identifier,
    ),
    # Article 5(2), Article 12, Section 4.2, No. 3
    reader(r"\bart(?:icle|\.) ?(?P<n>\d+) ?\((?P<paragraph>\d{1,3})\)", _within),
    reader(rf"(?<![a-z]){NUMBERED} ?(?P<n>\d+(?:\.\d+)*)(?![a-z\d%])", _ordinal),
    # 第十二条, 第4.2节, 15号, 五楼
    reader(
        rf"第 ?(?P<n>\d+(?:\.\d+)*|{ZH}{{1,8}}) ?(?!方|者|人称|国|产业|世界)(?P<kind>[{ZH_KINDS}])?",
        _ordinal,
        "第",
    ),
    reader(rf"(?<![a-z\d.])(?P<n>\d{{1,6}}|{ZH}{{1,4}}) ?[号號](?![码召称])", _ordinal, "号號"),
    reader(rf"(?<![\d.])(?P<n>\d{{1,3}}|{ZH}{{1,3}})(?P<kind>[楼樓])", _ordinal, "楼樓"),
    # the 3rd edition, the third floor
    reader(rf"(?<![\d.])(?P<n>\d{{1,4}})(?:st|nd|rd|th)\b(?: {NOUN}\b)?", _ordinal),
    reader(rf"\b(?P<n>{NTH})\b(?:[ -]{NOUN}\b)?", _in_words),
)
