"""Foreign text made inert for a prompt: none of it reads as structure, to the tokenizer or to the model.

What imitates a control token of the model ("<|im_end|>", also in full-width forms or split by signs that
nobody sees), markup, the boundary of a passage, a role ("SYSTEM:") or one of our markers keeps its words and
loses the sign or the place that makes it that. Only the prompt shows this copy: offsets, quotes and checks
are those of the stored text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from service.checking.cite import without_forged_markers
from service.checking.plain import UNSEEN

# What other models take for a turn, and what a model may have learnt whatever its tokenizer has.
IMITATED = ("[inst]", "[/inst]", "[system_prompt]", "[/system_prompt]", "[available_tools]", "[tool_results]")
MARKUP = "<[a-z/!?|]"
# A word that opens a turn: at the head of a line and before a colon, whatever bullet or star is around it.
ROLE = re.compile(
    r"(?:^|(?<=[\r\x85\u2028\u2029]))(?P<lead>[\s>#*_-]{0,8})"
    r"(?P<role>system|developer|assistant|user|human|ai|instructions?|系统|助手|用户|人类|指令|开发者)"
    r"(?P<tail>[\s*_]{0,4}[:：])",
    re.IGNORECASE | re.MULTILINE,
)
VARIATIONS = re.compile("[\ufe00-\ufe0d\U000e0100-\U000e01ef]")  # choose a glyph; not those of emoji
UNSEEN_ALONE = ("Cf", "Mn", "Me")  # Unicode categories that make no sign of their own


def inert(text: str, control_tokens: Iterable[str]) -> str:
    """The same words, as text that a model can only read.

    What one pass leaves may read as a marker again: passes go on until one changes nothing. Each is linear,
    and each but the last takes brackets away, so that there is an end.

    :param control_tokens: what the target's tokenizer takes for structure.
    """
    openings = _openings(frozenset(control_tokens))
    while (passed := _pass(text, openings)) != text:
        text = passed
    return text


def _pass(text: str, openings: re.Pattern[str]) -> str:
    text = VARIATIONS.sub("", UNSEEN.sub("", text))
    text = ROLE.sub(r"\g<lead>‹\g<role>›\g<tail>", without_forged_markers(text))
    return _without(openings, text)


def _without(openings: re.Pattern[str], text: str) -> str:
    """The text with ‹ for each sign that begins an imitation once all signs are folded."""
    folded = [_folded(sign) for sign in text]
    starts = {found.start() for found in openings.finditer("".join(folded))}
    if not starts:
        return text
    signs, position = [], 0
    for sign, forms in zip(text, folded, strict=True):
        begins = not starts.isdisjoint(range(position, position + len(forms)))
        signs.append("‹" if begins else sign)
        position += len(forms)
    return "".join(signs)


@lru_cache(maxsize=8)  # one language model a process
def _openings(control_tokens: frozenset[str]) -> re.Pattern[str]:
    """Where an imitation begins; looks ahead only, so that one that begins within another is found too."""
    texts = {"".join(map(_folded, text)) for text in (*control_tokens, *IMITATED)} - {""}
    return re.compile(f"(?={'|'.join([MARKUP, *(re.escape(text) for text in sorted(texts))])})")


@lru_cache(maxsize=2**15)
def _folded(sign: str) -> str:
    """Lower case, compatibility forms resolved, without accents; nothing for a sign that is unseen."""
    resolved = unicodedata.normalize("NFKD", sign).casefold()
    return "".join(one for one in resolved if unicodedata.category(one) not in UNSEEN_ALONE)
