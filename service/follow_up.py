"""A follow-up written out as a question by itself, from the turns before it; without a language model.

The last question that could stand alone is put in front of it: "B线一天出多少台表？ 那D线呢？". The words of
earlier turns also weigh a little in the search, when the question can stand alone too: people seldom change
the subject. Nothing else is made of earlier answers. They are no evidence, and permit nothing.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ingest.read.language import HAN
from ingest.sentences import sentence_spans
from service.checking.overlap import content_words
from service.types import Question, Turn

TURNS_HEARD = 2  # questions before, nearest first, and the first sentence of the last answer
LONGEST = 200  # characters: of a question written out, and of what is put in front: both fit an embedder
FEW_WORDS = 2  # that name something; a question of so few is about what was spoken of
POINTS_BACK = re.compile(
    r"^(?:and|but|or|so|then|also|what about|how about|what if)\b"
    r"|\b(?:it|its|they|them|their|theirs|he|him|his|she|hers?|those|these|ones?(?=[?.!]|$)|the same"
    r"|there|then|otherwise|instead|the other|the former|the latter|that|this)\b(?! (?:is|are|was) there\b)",
    re.IGNORECASE,
)
POINTS_BACK_ZH = re.compile(
    r"^(?:那|还有|另外|要是|如果|但是|可是|所以|然后)|[它他她]们?|(?:这|那)(?:个|些|种|样|几|次|天|里|时|项|条|份|位|家|么)"
    r"|上述|前者|后者|其中|[^什怎多要那这]呢(?:[？?。]|$)"
)


def understood(question: Question) -> Question:
    """As a question by itself, with what the search is to listen to besides; a first question as it is."""
    before = list(reversed(question.turns))[:TURNS_HEARD]
    if not before:
        return question
    heard = replace(question, about=_about(before))
    if len(question.text) > LONGEST or not points_back(question.text):
        return heard
    alone = (turn for turn in reversed(question.turns) if not points_back(turn.question))
    opening = next(alone, before[0]).question[:LONGEST]
    return replace(heard, text=f"{opening} {question.text}", as_asked=question.text)


def points_back(text: str) -> bool:
    """Whether it can hardly be understood without what was said before."""
    return _refers(text) or _is_short(text, signs=4)


def is_unclear(question: Question) -> bool:
    """Whether it speaks of something that nobody has named, as "What does it cost?" does when asked first."""
    return not question.turns and _refers(question.text) and _is_short(question.text, signs=8)


def _is_short(text: str, signs: int) -> bool:
    """Of few words that name something or, in Chinese, of few signs: a sign is part of several words."""
    written = len(HAN.findall(text))
    return written <= signs if written else len(content_words(text)) <= FEW_WORDS


def _refers(text: str) -> bool:
    return bool(POINTS_BACK.search(text) or POINTS_BACK_ZH.search(text))


def _about(before: list[Turn]) -> tuple[str, ...]:
    said = before[0].said
    first = said[slice(*sentence_spans(said)[0])] if said.strip() else ""
    return tuple(text[:LONGEST] for text in (*(turn.question for turn in before), first) if text)
