"""Names that people choose and others read: titles of collections, names of keys. Ids are stricter still."""

from __future__ import annotations

import re
import unicodedata

from ingest.corpus.errors import InvalidInput

LONGEST_SHOWN = 60  # characters of a refused name that its error repeats
# What `str.isprintable` lets through although nothing is seen of it: joiners, fillers, variation selectors,
# the blank of Braille. Controls, zero-width signs and changes of direction it does not let through.
UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def parse_name(text: str, field: str, longest: int) -> str:
    """`text` in Unicode's composed form (NFC) and without blanks around it, if a reader sees all of it.

    :raises InvalidInput: naming the field, and the character that cannot be seen.
    """
    name = unicodedata.normalize("NFC", text).strip(" ")
    unseen = next((sign for sign in name if not sign.isprintable() or UNSEEN.match(sign)), None)
    if unseen is not None or not name or len(name) > longest:
        met = "" if unseen is None else f" It holds U+{ord(unseen):04X}."
        raise InvalidInput(
            f"The {field} {text[:LONGEST_SHOWN]!r} cannot be used.",
            why=f"It must have 1 to {longest} characters, all of which can be seen.{met}",
            next_step="Choose another.",
            field=field,
        )
    return name
