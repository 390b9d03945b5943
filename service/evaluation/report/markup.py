"""HTML and SVG put together from texts: whatever is not markup already is made inert first.

Texts may be hostile: documents, questions and answers all reach a page through here. Knows no page.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Self

from service.checking.plain import UNSEEN

# What XML may not hold, or what no file in UTF-8 can: C1 controls, lone surrogates, two noncharacters.
UNWRITABLE = "[\x80-\x9f\ud800-\udfff\ufffe\uffff]"
HIDDEN = re.compile(f"{UNSEEN.pattern}|{UNWRITABLE}")
VOID = frozenset({"br", "hr", "meta"})  # elements of HTML that have no end tag

Attribute = str | float | bool | None


class Markup(str):
    """Text that may stand in a page as it is. Joined with a plain `str` it is one again, and gets escaped."""

    __slots__ = ()

    @classmethod
    def joined(cls, parts: Iterable[str]) -> Self:
        return cls("".join(map(escaped, parts)))


def escaped(text: str) -> Markup:
    """`text` so that a page shows it and it does nothing; unseen characters become ‹U+202E›, to be seen."""
    if isinstance(text, Markup):
        return text
    return Markup(html.escape(HIDDEN.sub(lambda found: f"‹U+{ord(found[0]):04X}›", text)))


def element(name: str, /, *children: str | None, **attributes: Attribute) -> Markup:
    """`<name …>children</name>`, good HTML and, unless it is void, good XML.

    Attributes are written as in Python: `class_`, `aria_label`. None and False leave one out, True gives it
    no value; a number has at most two decimals.
    """
    tag = f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    if name in VOID:
        return Markup(tag)
    return Markup(f"{tag}{Markup.joined(child for child in children if child is not None)}</{name}>")


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    said = "" if value is True else value if isinstance(value, str) else f"{round(value, 2):.12g}"
    return f' {name.rstrip("_").replace("_", "-")}="{escaped(said)}"'
