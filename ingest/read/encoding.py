"""Bytes of a text to characters: as the file declares, else UTF-8, else a guess that a warning names."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ingest.corpus.errors import Unreadable
from ingest.read.canonical import display_name

MARKS = (  # UTF-32 first: its mark begins with UTF-16's
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
NUL_SHARE = 0.2  # of the bytes; in UTF-16 text of Latin letters it is 0.5, in 8-bit text it is 0
DAMAGED_SHARE = 0.1  # of the characters; UTF-8 with more bad bytes than this is taken for something else
SAMPLE = 20_000  # bytes that a guess looks at
SHORTEST_GUESS = 8  # bytes beyond ASCII; fewer say too little about an encoding
FREQUENT_SHARE = 0.4  # of the Chinese characters; the right encoding gives about 0.98, a wrong one under 0.7
ESCAPE = b"\x1b$"  # begins Japanese in ISO-2022-JP, which else is ASCII
KANA = re.compile(
    "[\u3041-\u30ff]"
)  # of full width: other texts read as Shift-JIS are full of half-width ones
KANA_SHARE = 0.25  # of the signs beyond ASCII; Japanese has about 0.6, Chinese next to none
HANGUL = re.compile("[\uac00-\ud7a3]")
HANGUL_SHARE = 0.9  # Chinese read as Korean has about 0.6
FREQUENT_HANGUL = frozenset("이다는을를에의가고하지한은로도어기사자니서시인리")
FREQUENT_HANGUL_SHARE = 0.15  # of the Hangul; Korean has about 0.4, anything else 0.01
OTHERS = [
    "cp1252",
    "cp1250",
    "cp1251",
    "cp1253",
    "cp1254",
    "cp1255",
    "cp1256",
    "koi8_r",
]


@dataclass(frozen=True, slots=True)
class Decoded:
    text: str
    encoding: str
    warnings: tuple[str, ...] = ()


def decode(data: bytes, source_name: str, declared: str | None = None) -> Decoded:
    """The text of `data`; `declared` is the charset that the file itself names.

    :raises Unreadable: "empty" for no bytes, "unsupported_type" for binary data, "garbled" else
    """
    if not data:
        raise Unreadable(
            "empty", f"{display_name(source_name)} has 0 bytes.", next_step="Upload a file that holds text."
        )
    candidates: tuple[Callable[[], Decoded | None], ...] = (
        lambda: _marked(data),
        lambda: _wide(data, source_name),
        lambda: _strict(data, "iso2022_jp") if ESCAPE in data else None,
        lambda: _strict(data, declared) if declared else None,
        lambda: _strict(data, "utf-8"),
        lambda: _damaged_utf8(data),
        lambda: _japanese(data),
        lambda: _korean(data),
        lambda: _chinese(data),
        lambda: _other(data),
    )
    decoded = next(filter(None, (candidate() for candidate in candidates)), None)
    if decoded is None:
        raise Unreadable(
            "garbled",
            f"The characters of {display_name(source_name)} cannot be read.",
            why="It is not UTF-8, declares no encoding that fits, and is too short or mixed to guess one.",
            next_step="Save it as UTF-8 and upload it again.",
        )
    return decoded


def _marked(data: bytes) -> Decoded | None:
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return _lenient(data[len(mark) :], encoding)
    return None


def _lenient(data: bytes, encoding: str, *warnings: str) -> Decoded:
    text = data.decode(encoding, "replace")
    damaged = text.count("\ufffd") - data.count("\ufffd".encode(encoding, "ignore") or b"\0")
    if damaged > 0:
        warnings = (*warnings, f"{damaged} places are not valid {encoding} and were replaced.")
    return Decoded(text, encoding, warnings)


def _strict(data: bytes, encoding: str) -> Decoded | None:
    try:
        return Decoded(data.decode(encoding), encoding)
    except (UnicodeError, LookupError):  # LookupError: a file may declare an encoding that does not exist
        return None


def _wide(data: bytes, source_name: str) -> Decoded | None:
    """UTF-16 without a mark, told by its NUL bytes, which no other text has in number."""
    if data.count(0) <= NUL_SHARE * len(data):
        return None
    little = data[1::2].count(0) > data[0::2].count(0)
    decoded = _strict(data[: len(data) // 2 * 2], "utf-16-le" if little else "utf-16-be")
    if decoded is None or decoded.text.count("\0") > 0.05 * len(decoded.text):
        raise Unreadable(
            "unsupported_type",
            f"{display_name(source_name)} is not a text: {data.count(0)} of its {len(data)} bytes are NUL.",
            next_step="Save it as UTF-8 text, or upload it in its own format.",
        )
    return _guessed(decoded)


def _damaged_utf8(data: bytes) -> Decoded | None:
    decoded = _lenient(data, "utf-8")
    damaged = decoded.text.count("\ufffd")
    beyond_ascii = sum(character > "\x7f" for character in decoded.text) - damaged
    if damaged > DAMAGED_SHARE * len(decoded.text) or beyond_ascii < damaged:
        return None
    return decoded


def _japanese(data: bytes) -> Decoded | None:
    """Shift-JIS or EUC, told by the kana that no other language has."""
    for name in ("cp932", "euc_jp"):
        decoded = _strict(data, name)
        signs = _beyond_ascii(decoded)
        if decoded and len(KANA.findall(signs)) >= KANA_SHARE * len(signs) > 0:
            return _guessed(decoded)
    return None


def _korean(data: bytes) -> Decoded | None:
    decoded = _strict(data, "cp949")
    signs = _beyond_ascii(decoded)
    hangul = HANGUL.findall(signs)
    frequent = sum(sign in FREQUENT_HANGUL for sign in hangul)
    if (
        decoded
        and len(hangul) >= HANGUL_SHARE * len(signs) > 0
        and frequent >= FREQUENT_HANGUL_SHARE * len(hangul)
    ):
        return _guessed(decoded)
    return None


def _beyond_ascii(decoded: Decoded | None) -> str:
    return "".join(sign for sign in decoded.text[:SAMPLE] if sign > "\x7f") if decoded else ""


def _chinese(data: bytes) -> Decoded | None:
    """GB18030, Big5 or UTF-16, whichever gives the most frequent characters; decoding proves nothing."""
    if sum(byte > 0x7F for byte in data[:SAMPLE]) < SHORTEST_GUESS:
        return None
    decoded = [
        found for name in ("gb18030", "big5hkscs", "utf-16-le", "utf-16-be") if (found := _strict(data, name))
    ]
    scored = [(_frequent_share(found), found) for found in decoded]
    share, best = max(scored, key=lambda pair: pair[0], default=(0.0, None))
    return _guessed(best) if best and share >= FREQUENT_SHARE else None


def _frequent_share(decoded: Decoded) -> float:
    """Share of frequent characters among all beyond ASCII."""
    signs = [character for character in decoded.text[:SAMPLE] if character > "\x7f"]
    return sum(_is_frequent(sign, decoded.encoding) for sign in signs) / max(len(signs), 1)


def _is_frequent(sign: str, encoding: str) -> bool:
    """Whether the standards' makers put the sign into the frequent level or among the punctuation.

    GB 2312 has its 3,755 frequent characters in rows B0-D7, Big5 its 5,401 in A4-C6, punctuation before.
    """
    return any(low <= sign.encode(name, "ignore")[:1] <= high for name, low, high in _levels(encoding))


def _levels(encoding: str) -> Iterator[tuple[str, bytes, bytes]]:
    if encoding != "big5hkscs":
        yield "gb2312", b"\xb0", b"\xd7"
        yield "gb2312", b"\xa1", b"\xa3"
    if encoding != "gb18030":
        yield "big5", b"\xa1", b"\xa3"
        yield "big5", b"\xa4", b"\xc6"


def _other(data: bytes) -> Decoded | None:
    if sum(byte > 0x7F for byte in data[:SAMPLE]) < SHORTEST_GUESS:
        return None
    # Loaded here because its tables cost start-up time that almost no file needs.
    from charset_normalizer import from_bytes

    matches = from_bytes(data[:SAMPLE], cp_isolation=OTHERS)
    best = matches.best()
    western = next((match for match in matches if match.encoding == "cp1252"), None)
    if best and western and western.chaos <= best.chaos:
        best = western  # what reads as well in the commonest of these encodings is most likely written in it
    return _guessed(_lenient(data, best.encoding)) if best else None


def _guessed(decoded: Decoded) -> Decoded:
    warning = f"The file does not say its encoding; {decoded.encoding} was guessed."
    return Decoded(decoded.text, decoded.encoding, (*decoded.warnings, warning))
