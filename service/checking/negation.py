"""Does a sentence say no, or the opposite of another? Cues, and what only looks like one."""

from __future__ import annotations

import re
from collections.abc import Iterator

ENGLISH = (
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|cannot|without|except|unless|forb[ia]d\w*|prohibit\w*|unable"
    r"|refus\w+|den(?:y|ies|ied)|lacks?|fails? to|failed to|free of)\b|n['’]t\b"
)
CHINESE = (
    r"不(?:得|能|可|予|许|准|应|必|需|会|要|享|是)?|(?<![出沉埋淹])没(?!收|落)有?|沒有?|未|无(?!论|锡|线)需?|無(?!論|線)需?"
    r"|(?<![南北东西中])非(?!常|洲|裔)|切莫|莫(?=[要做使去])|勿|禁止|严禁|除非|拒绝|缺乏|除外|除了"
    r"|别(?=[再去做把让用])|(?<![避难以豁减赦])免(?!疫|得|不了|职)"
)
# A figure's bound is no denial: what it says of the figure is compared with the figure.
FIGURE = (
    r"(?=[^，。；,.;]{0,12}?(?:\d|[０-９零一二两三四五六七八九十百千万半]"
    r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|half)\b))"
)
# Words that hold a cue and deny nothing.
NO_DENIAL = re.compile(
    r"\bnot only\b|\bno\.(?= ?\d| ?\|)"
    r"|\bnot? (?:later|earlier|more|less|fewer|longer|shorter|greater|older|younger|higher|lower) than\b"
    rf"|\bnot(?: to| be)? exceed\w*\b{FIGURE}"
    rf"|[不未](?:得|能|可|应)?(?:超过|晚于|迟于|早于|低于|高于|少于|多于|大于|小于|长于|短于){FIGURE}|[不未]满{FIGURE}|不到{FIGURE}"
    r"|不仅|不但|不只|不断|不过|不同|不久|不少(?!于)|不论|不管|不得不|不锈钢|不丹|不列颠|不动产|不足|未来|未必"
    r"|无论|無論|无人机|无障碍|无限|无疑|莫非|差不多|是不是|能不能|要不要|会不会|可不可以|对不起|除了",
    re.IGNORECASE,
)
CUE = re.compile(f"{ENGLISH}|{CHINESE}", re.IGNORECASE)
# Behind these a sentence says something else of its subject.
CONTRAST = re.compile(r"[;；]|,? but\b|,? (?:whereas|while|however)\b|，?但是?|，?然而", re.IGNORECASE)

WORD = re.compile(r"[a-z]+")
# Prefix -> letters that the word behind it has at least; a shorter one is too often another word.
PREFIXES = {"un": 4, "non": 4, "in": 5, "im": 5, "ir": 5, "il": 5, "dis": 5}
OTHER_WORDS = re.compile(
    r"im(?:prove|press|port|pose|pact|plant)|dis(?:cover|count|play|pose|till|charge|cipline)"
    r"|in(?:stance|form|voice|come|deed|side|tend|tent|sure|stall|spect|struct|clude)"
)
# Words of which one is the opposite of the other, by their beginning.
ANTONYMS = (
    ("increas", "decreas"), ("includ", "exclud"), ("minimum", "maximum"), ("earliest", "latest"),
    ("accept", "reject"), ("internal", "external"),
    ("增加", "减少"), ("增长", "下降"), ("上升", "下降"), ("提高", "降低"), ("上调", "下调"),
    ("最高", "最低"), ("最多", "最少"), ("最早", "最晚"), ("室内", "室外"), ("收入", "支出"),
    ("买方", "卖方"), ("甲方", "乙方"),
)  # fmt: skip
# A duty and a permission, with what is to be done or may be done.
DUTY = re.compile(
    r"\b(?:must|shall|ha(?:ve|s) to|(?:required|obliged) to)(?: be)? (?P<verb>(?!not\b)[a-z]+)"
    r"|(?:必须|应当|务必)(?P<zh>[\u4e00-\u9fff]{2})",
    re.IGNORECASE,
)
PERMISSION = re.compile(
    r"\b(?:may|can|(?:allowed|permitted) to)(?: be)? (?P<verb>(?!not\b)[a-z]+)"
    r"|(?:可以|允许|有权)(?P<zh>[\u4e00-\u9fff]{2})",
    re.IGNORECASE,
)


def is_negated(text: str) -> bool:
    """Whether the sentence denies; two denials make none ("not uncommon" is not seen as two)."""
    return len(_denials(text)) % 2 == 1


def denial_in(said: str, read: str) -> str:
    """The words that deny in one of the two and not in the other; "" where neither denies."""
    here, there = _denials(said), _denials(read)
    return next(
        iter([one for one in there if one not in here] + [one for one in here if one not in there]), ""
    )


def clauses(sentence: str) -> tuple[str, ...]:
    """The parts of a sentence between which it turns to something else: "may enter, but must not smoke"."""
    return tuple(part for part in CONTRAST.split(sentence) if part.strip())


def opposite_in(said: str, read: str) -> str | None:
    """The word of `read` that is the opposite of one of `said`, or a permission where that has a duty.

    "unopened" where "opened" is said, 下调 where 上调 is. None where both stand in either text.
    """
    words_said, words_read = _words(said), _words(read)
    for word in sorted(words_said - words_read):
        for opposite in _opposites(word):
            if opposite in words_read - words_said:
                return opposite
    return _antonym(said.casefold(), read.casefold()) or _other_modality(said, read)


def _denials(text: str) -> list[str]:
    return [found.group() for found in CUE.finditer(NO_DENIAL.sub(" ", text))]


def _words(text: str) -> frozenset[str]:
    return frozenset(WORD.findall(text.casefold()))


def _opposites(word: str) -> Iterator[str]:
    for prefix, least in PREFIXES.items():
        if len(word) >= least and not OTHER_WORDS.match(prefix + word):
            yield prefix + word
        if word.startswith(prefix) and len(word) - len(prefix) >= least and not OTHER_WORDS.match(word):
            yield word.removeprefix(prefix)


def _antonym(said: str, read: str) -> str | None:
    for pair in ANTONYMS:
        for one, other in (pair, pair[::-1]):
            if _word(one, said) and not _word(other, said) and not _word(one, read):
                found = _word(other, read)
                if found:
                    return found
    return None


def _word(beginning: str, text: str) -> str | None:
    """The first word of the text that begins so; in Chinese no word is told from its neighbours."""
    found = re.search(rf"\b{beginning}[a-z]*" if beginning.isascii() else beginning, text)
    return found.group() if found else None


def _other_modality(said: str, read: str) -> str | None:
    """must where the other has may, of the same deed."""
    for here, there in ((DUTY, PERMISSION), (PERMISSION, DUTY)):
        deeds = _deeds(here, said) - _deeds(there, said)
        for found in there.finditer(read):
            if _deed(found) in deeds - _deeds(here, read):
                return found.group().removesuffix(_deed(found)).strip()
    return None


def _deeds(modality: re.Pattern[str], text: str) -> frozenset[str]:
    return frozenset(_deed(found) for found in modality.finditer(text))


def _deed(found: re.Match[str]) -> str:
    return found["verb"] or found["zh"]
