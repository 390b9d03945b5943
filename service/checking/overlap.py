"""How many of one text's words another holds: the plain ground under quoting, judging and sufficiency."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import log

from ingest.corpus.keywords import words

# Words that ask or join and name nothing.
ENGLISH = """
    a an the this that these those it its he she they them their his her we our us you your i my me
    who whom whose which what when where why how many much long often far of in on at to for from by
    with about into over under between after before during and or but if than then as so such is are
    was were be been being am do does did done has have had having can could may might must shall
    should will would there here s t not no nor any some all each per also only very more most other
"""
CHINESE = """
    的 了 和 是 在 我 有 也 就 不 人 都 一 一个 上 他 这 为 之 来 以 个 们 到 说 时 地 要 下 对 么 你 您 会 着
    那 里 用 过 与 及 或 而 等 被 把 从 中 内 可 可以 能 多少 什么 哪 哪个 哪些 哪里 谁 何 何时 如何 怎么 怎样
    怎 为什么 为何 几 吗 呢 请问 请 是否 应 应该 需要 多久 多 其 该 某 由 于 将 则 并 但 又 还 让 给 向 所
"""
STOP_WORDS = frozenset((ENGLISH + CHINESE).split())


def content_words(text: str) -> frozenset[str]:
    """The words that name something, English endings cut so that "permits" meets "permit".

    A text of stop words alone keeps them all: better a weak ground than none.
    """
    found = words(text)
    naming = [word for word in found if word not in STOP_WORDS]
    return frozenset(_stem(word) for word in naming or found)


def rarity(texts: Iterable[frozenset[str]], of: frozenset[str]) -> dict[str, float]:
    """How telling each word of `of` is, an inverse frequency: log(1 + texts / (1 + texts with it))."""
    counted = list(texts)
    return {word: log(1 + len(counted) / (1 + sum(word in text for text in counted))) for word in of}


def coverage(weights: Mapping[str, float], held: frozenset[str]) -> float:
    """The share of all weight that lies on words which are held, 0 to 1."""
    total = sum(weights.values())
    return sum(weight for word, weight in weights.items() if word in held) / total if total else 0.0


def _stem(word: str) -> str:
    if not word.isascii() or not word.isalpha() or len(word) < 5:
        return (
            word[:-1]
            if len(word) == 4 and word.isascii() and word.endswith("s") and word[-2] != "s"
            else word
        )
    for ending, instead in (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""), ("e", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word[: -len(ending)] + instead
    return word
