"""Does a sentence say no? Chinese and English cues, without the words that only look like them."""

from __future__ import annotations

import re

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
    r"\bnot only\b|\bno (?:later|more|less) than\b|\bnot (?:later|more|less|exceed\w*)\b|\bno\.(?= ?\d| ?\|)"
    r"|不仅|不但|不只|不断|不过|不同|不久|不少|不论|不管|不得不|不锈钢|不超过|不晚于|不低于|不高于|不少于|不动产|不足|未来|未必"
    r"|无论|無論|莫非|差不多|是不是|能不能|要不要|会不会|可不可以|对不起|未经|除了",
    re.IGNORECASE,
)
CUE = re.compile(f"{ENGLISH}|{CHINESE}", re.IGNORECASE)


def is_negated(text: str) -> bool:
    """Whether the sentence denies; two denials make none ("not uncommon" is not seen as two)."""
    return len(CUE.findall(NO_DENIAL.sub(" ", text))) % 2 == 1
