"""What a question must be, whoever sends it, and in which language it is answered."""

from __future__ import annotations

import re
import unicodedata

from ingest.corpus.errors import InvalidInput, OverBudget
from service.parts import Parts
from service.types import AnswerLanguage

HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]")
INVISIBLE = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})  # Unicode categories: controls, zero width, blanks
FORBIDDEN = frozenset({"Cc", "Cs"})  # controls; half a surrogate pair, as a terminal makes of a broken byte
ALLOWED_CONTROLS = "\n\t"


def require_searchable(text: str, field: str, parts: Parts) -> None:
    """Decided before any work, and before a stream begins.

    :raises InvalidInput: if it is blank, has too many characters or holds what is no text.
    :raises OverBudget: if it has more tokens than the embedder takes.
    """
    if all(unicodedata.category(character) in INVISIBLE for character in text):
        raise InvalidInput(f"The {field} is blank.", next_step="Ask something.", field=field)
    if len(text) > parts.settings.max_question_chars:
        raise InvalidInput(
            f"The {field} has {len(text):,} characters.",
            why=f"The limit is {parts.settings.max_question_chars:,}.",
            next_step="Shorten it.",
            field=field,
        )
    for character in text:
        if unicodedata.category(character) in FORBIDDEN and character not in ALLOWED_CONTROLS:
            raise InvalidInput(
                f"The {field} holds the character U+{ord(character):04X}.",
                next_step="Remove it.",
                field=field,
            )
    tokens, most = parts.embedder.count_query(text), parts.embedder.max_tokens
    if tokens > most:
        raise OverBudget(
            f"The {field} has {tokens:,} tokens.",
            why=f"The embedder takes {most:,}, its prefix and special tokens included.",
            next_step="Ask in fewer words.",
            field=field,
        )


def language_of(question: str) -> AnswerLanguage:
    """ "zh" with any Chinese character, else "en": names and ids stay Latin in a Chinese question too."""
    return "zh" if HAN.search(question) else "en"
