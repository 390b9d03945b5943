"""Which language a text is written in, as far as answers need it: English, Chinese (two scripts), other."""

from __future__ import annotations

import re

HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U000323af]")
KANA_OR_HANGUL = re.compile("[\u3040-\u30ff\uac00-\ud7af]")
LATIN_WORD = re.compile("[A-Za-z\u00c0-\u024f]+(?:'[a-z]+)?")
OTHER_LETTER = re.compile(r"[^\W\d_\u3400-\u4dbf\u4e00-\u9fffA-Za-z\u00c0-\u024f]")

# Frequent characters that exist in one script only, each beside its counterpart.
SIMPLIFIED = frozenset(
    "这来时个们国说为会对发经问动关开现样还没从后产业务应实报规东车书长门间学见话语给过两种电图处"
)
TRADITIONAL = frozenset(
    "這來時個們國說為會對發經問動關開現樣還沒從後產業務應實報規東車書長門間學見話語給過兩種電圖處"
)
ENGLISH_FUNCTION_WORDS = frozenset(
    {
        "the",
        "of",
        "and",
        "to",
        "in",
        "a",
        "is",
        "that",
        "for",
        "it",
        "as",
        "was",
        "with",
        "be",
        "by",
        "on",
        "not",
        "are",
        "or",
        "this",
        "from",
        "at",
        "which",
        "an",
        "have",
        "has",
        "we",
        "you",
    }
)

SAMPLE = 100_000  # characters; a longer text is judged by its beginning
WORD_PER_HAN = 1.5  # Chinese characters that say as much as one English word
ENGLISH_SHARE = 0.1  # of the words; English prose has 0.3 to 0.5 function words, other languages under 0.05
FEWEST_WORDS = 20  # below this a plain ASCII text is taken for English


def language_of(text: str) -> str:
    """BCP 47: "en", "zh", "zh-Hant", or "und" for any other language and for no language at all."""
    sample = text[:SAMPLE]
    han = HAN.findall(sample)
    words = LATIN_WORD.findall(sample)
    foreign = len(KANA_OR_HANGUL.findall(sample))
    if foreign > 0.1 * len(han) and foreign > len(words):
        return "und"
    if len(han) / WORD_PER_HAN > len(words):
        return "zh-Hant" if _is_traditional(han) else "zh"
    return "en" if _is_english(sample, words) else "und"


def _is_traditional(han: list[str]) -> bool:
    traditional = sum(character in TRADITIONAL and character not in SIMPLIFIED for character in han)
    simplified = sum(character in SIMPLIFIED and character not in TRADITIONAL for character in han)
    return traditional > simplified


def _is_english(sample: str, words: list[str]) -> bool:
    if not words or len(OTHER_LETTER.findall(sample)) > len("".join(words)):
        return False
    if len(words) < FEWEST_WORDS:
        return all(word.isascii() for word in words)
    return sum(word.lower() in ENGLISH_FUNCTION_WORDS for word in words) > ENGLISH_SHARE * len(words)
