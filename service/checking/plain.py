"""Text of documents and models as inert plain text: no link, no image, no markup, none of our markers.

Our pages escape what they show; other clients may render Markdown, so what could fetch or point elsewhere
goes: link targets and images are dropped, words stay; a `<` that opens markup is shown as ‹; characters that
cannot be seen or that turn the reading direction are dropped. What is left is unchanged.
"""

from __future__ import annotations

import re

from service.checking.cite import without_forged_markers

# `[words](target)` and `![words](target)`, one pair of parentheses allowed within the target.
LINK = re.compile(r"!?\[(?P<words>[^\[\]\n]{0,400})\]\((?:[^()\n]|\([^()\n]{0,200}\)){0,2000}\)")
LINK_CUT_OFF = re.compile(
    r"!?\[(?P<words>[^\[\]\n]{0,400})\]\(\s?[a-z][a-z0-9+.-]{1,15}:\S{0,2000}", re.IGNORECASE
)
REFERENCE = re.compile(r"^ {0,3}\[[^\[\]\n]{1,400}\]:[ \t]*\S{1,2000}", re.MULTILINE)
MARKUP = re.compile(r"<(?=[A-Za-z/!?|])")
# Zero-width space, word joiners, bidirectional controls, soft hyphen, tags; not the joiner of emoji.
UNSEEN = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
LINKS_WITHIN_LINKS = 3  # an image within a link is two


def plain_text(text: str) -> str:
    """The same words, as text that does nothing wherever it is rendered. Linear in the length of the text."""
    text = UNSEEN.sub("", text)
    for _ in range(LINKS_WITHIN_LINKS):
        text = LINK.sub(r"\g<words>", text)
    text = LINK_CUT_OFF.sub(r"\g<words>", text)
    text = REFERENCE.sub("", text).replace("![", "! [")
    return without_forged_markers(MARKUP.sub("‹", text)).strip()
