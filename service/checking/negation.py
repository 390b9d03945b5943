"""Does a sentence say no? Chinese and English cues, without the words that only look like them."""

from __future__ import annotations

import re
from collections.abc import Iterator

ENGLISH = (
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|cannot|without|except|unless|forbid\w*|prohibit\w*|unable"
    r"|refus\w+|den(?:y|ies|ied)|lacks?|fails? to|failed to)\b|n['’]t\b"
)
CHINESE = (
    r"不|没|沒|未|无(?!论|锡|线)|無(?!論|線)|非(?!常|洲)|莫|勿|禁止|严禁|除非|拒绝|缺乏|除外|除了"
    r"|别(?=[再去做把让用])"
)
# Words that hold a cue and deny nothing.
NO_DENIAL = re.compile(
    r"\bnot only\b|\bnot? (?:later|more|less) than\b|\bnot exceed\w*\b|\bno\.(?= ?\d| ?\|)"
    r"|不仅|不但|不只|不断|不过|不同|不久|不少|不论|不管|不得不|不锈钢|不超过|不晚于|不低于|不高于|不少于|不动产|不足|未来|未必"
    r"|无论|無論|莫非|差不多|是不是|能不能|要不要|会不会|可不可以|对不起|未经|除了",
    re.IGNORECASE,
)
WORD = re.compile(r"[a-z]+")
# Prefix -> letters that the word behind it has at least; a shorter one is too often another word.
PREFIXES = {"un": 4, "non": 4, "in": 5, "im": 5, "ir": 5, "il": 5, "dis": 5}
OTHER_WORDS = re.compile(
    r"im(?:prove|press|port|pose|pact|plant)|dis(?:cover|count|play|pose|till|charge|cipline)"
    r"|in(?:stance|form|voice|come|deed|side|tend|tent|sure|stall|spect|struct|clude)"
)
CUE = re.compile(f"{ENGLISH}|{CHINESE}", re.IGNORECASE)


def is_negated(text: str) -> bool:
    """Whether the sentence denies; two denials make none ("not uncommon" is not seen as two)."""
    return len(CUE.findall(NO_DENIAL.sub(" ", text))) % 2 == 1


def opposite_in(said: str, read: str) -> str | None:
    """The English word of `read` that a prefix makes the opposite of one of `said`, or the reverse.

    "unopened" where "opened" is said. None where both stand in either text.
    """
    words_said, words_read = _words(said), _words(read)
    for word in sorted(words_said - words_read):
        for opposite in _opposites(word):
            if opposite in words_read - words_said:
                return opposite
    return None


def _words(text: str) -> frozenset[str]:
    return frozenset(WORD.findall(text.casefold()))


def _opposites(word: str) -> Iterator[str]:
    for prefix, least in PREFIXES.items():
        if len(word) >= least and not OTHER_WORDS.match(prefix + word):
            yield prefix + word
        if word.startswith(prefix) and len(word) - len(prefix) >= least and not OTHER_WORDS.match(word):
            yield word.removeprefix(prefix)
