"""Which script a passage is written in, as far as an embedder cares."""

from __future__ import annotations

OTHER, HAN = 0, 1
SCRIPTS = 2
HAN_SHARE = 0.3  # of the letters; a Chinese text about "BW-40" and "LoRaWAN" stays a Chinese text


def script_of(text: str) -> int:
    """`HAN` or `OTHER`."""
    letters = sum(map(str.isalpha, text))
    han = sum("\u3400" <= sign <= "\u9fff" or sign >= "\U00020000" for sign in text)
    return HAN if letters and han >= HAN_SHARE * letters else OTHER
