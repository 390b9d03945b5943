"""HTML to a document: what a reader would see, in order, as blocks. Scripts, comments and hidden elements go.

Read as a stream of tags, without a tree: tree builders were tried, and on deep nesting one lost the text
without a word and another took a minute. Everything visible is kept but menus: in a company's own pages a
filter for "main content" loses tables and notes. Style sheets are not evaluated; attributes that hide are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser

from ingest.corpus.types import BlockKind, Document
from ingest.read.canonical import Part, document_of, lay_out, lists_joined
from ingest.read.encoding import decode
from ingest.read.grid import row_text

CHARSET_WITHIN = 4096  # bytes; browsers look at 1,024, which some long heads exceed
CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)
WIDER_CHARSETS = {  # what browsers take these for: the label names a subset of what such pages hold
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "iso-8859-1": "cp1252",
    "us-ascii": "cp1252",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "x-sjis": "cp932",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
}
UNSEEN = frozenset(
    {"script", "style", "template", "noscript", "svg", "math", "nav", "select", "button", "object", "iframe"}
)
CODE = ("script", "style", "template", "svg", "math")  # holds no words that anybody was to read
VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
HEADINGS = {f"h{level}": level for level in range(1, 7)}
BLOCKS = frozenset(
    {
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "caption",
        "center",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "legend",
        "li",
        "main",
        "ol",
        "p",
        "pre",
        "section",
        "summary",
        "table",
        "tbody",
        "tfoot",
        "thead",
        "tr",
        "ul",
    }
)
CELLS = frozenset({"td", "th"})
# Elements whose end tag may be left out: (what such a start ends, what it never reaches across).
ENDS_BEFORE = {
    "td": (CELLS, {"tr", "table"}),
    "th": (CELLS, {"tr", "table"}),
    "tr": (CELLS | {"tr"}, {"table"}),
    "li": ({"li"}, {"ul", "ol"}),
    "dt": ({"dt", "dd"}, {"dl"}),
    "dd": ({"dt", "dd"}, {"dl"}),
}
ENDS_PARAGRAPH = ({"p"}, CELLS | {"li", "div"})
LOOKED_BACK = 16  # open elements; keeps deep nesting linear
HIDING_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d]*[1-9])|opacity\s*:\s*0(?![.\d]*[1-9])",
    re.IGNORECASE,
)
SPACE = re.compile(r"[ \t\n\r\f]+")


@dataclass(frozen=True, slots=True)
class HtmlRead:
    """What one page gives, before it is laid out."""

    parts: tuple[Part, ...]
    titles: tuple[str, ...]
    left_out: int  # visible characters of hidden elements
    warnings: tuple[str, ...]


def read_html(data: bytes, source_name: str) -> Document:
    """:raises Unreadable: "empty", "garbled", or "unsupported_type" where the bytes are no text"""
    read = html_parts(data, source_name)
    text, blocks, removed = lay_out(read.parts)
    return document_of(
        text,
        blocks,
        titles=read.titles,
        source_name=source_name,
        media_type="text/html",
        left_out=read.left_out + removed.visible,
        warnings=(*read.warnings, *removed.warnings),
    )


def html_parts(data: bytes, source_name: str, charset: str | None = None) -> HtmlRead:
    """Parts of one page; `charset` is what came with it, as mails name it.

    :raises Unreadable: as `read_html`
    """
    declared = charset and WIDER_CHARSETS.get(charset.lower(), charset)
    decoded = decode(data, source_name, declared or _declared_charset(data))
    page = _Page()
    page.feed(decoded.text)
    page.close()
    titles = ("".join(page.title), *(part.text for part in page.parts if part.kind == "heading"))
    return HtmlRead(tuple(lists_joined(page.parts)), titles, page.left_out, decoded.warnings)


def _declared_charset(data: bytes) -> str | None:
    found = CHARSET.search(data[:CHARSET_WITHIN])
    if found is None:
        return None
    name = found.group(1).decode("ascii").lower()
    return WIDER_CHARSETS.get(name, name)


class _Page(HTMLParser):
    """Gathers parts while tags go by, and knows which elements are open, so that hidden ones end."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[Part] = []
        self.title: list[str] = []
        self.left_out = 0  # visible characters in what is hidden
        self._open: list[str] = []
        self._open_count: dict[str, int] = {}
        self._hidden_from: int | None = None  # length of `_open` when the outermost hidden element began
        self._words: list[str] = []
        self._rows: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._end_what_ends_before(tag)
        if self._hidden_from is None:
            self._begin(tag)
        if tag in VOID:
            return
        if self._hidden_from is None and (tag in UNSEEN or _hides(attrs)):
            self._hidden_from = len(self._open)
        self._open.append(tag)
        self._open_count[tag] = self._open_count.get(tag, 0) + 1

    def handle_endtag(self, tag: str) -> None:
        if not self._open_count.get(tag):
            return  # closes nothing that is open
        while self._open:
            closed = self._open[-1]
            if self._hidden_from is None:
                self._end(closed)
            self._open.pop()
            self._open_count[closed] -= 1
            if self._hidden_from == len(self._open):
                self._hidden_from = None
            if closed == tag:
                return

    def handle_data(self, data: str) -> None:
        if self._hidden_from is not None:
            is_code = any(map(self._open_count.get, CODE))
            self.left_out += 0 if is_code else len("".join(data.split()))
        elif self._open_count.get("title"):
            self.title.append(data)
        elif not self._open_count.get("head"):
            self._words.append(data)

    def close(self) -> None:
        """What the page left open ends here."""
        super().close()
        while self._open:
            self.handle_endtag(self._open[-1])
        self.end_block()

    def end_block(self) -> None:
        """What was gathered since the last block becomes one."""
        in_table = self._open_count.get("table", 0)
        if in_table:
            self._words.append(" ")
            return
        text = self._taken()
        if text:
            self.parts.append(Part(self._kind(), self._marked(text), level=self._heading_level()))

    def _end_what_ends_before(self, tag: str) -> None:
        ended, barrier = ENDS_BEFORE.get(tag) or (ENDS_PARAGRAPH if tag in BLOCKS else ((), ()))
        outermost = ""
        for opened in reversed(self._open[-LOOKED_BACK:]):
            if opened in barrier:
                break
            outermost = opened if opened in ended else outermost
        if outermost:
            self.handle_endtag(outermost)

    def _begin(self, tag: str) -> None:
        if tag == "br":
            self._words.append("\n" if self._open_count.get("pre") else "\x00")
        elif tag == "tr" and self._open_count.get("table") == 1:
            self._rows.append([])
        elif tag in CELLS and self._open_count.get("table") == 1:
            self._end_stray_text()
        elif tag in BLOCKS | CELLS:
            self.end_block()

    def _end(self, tag: str) -> None:
        if tag in CELLS and self._open_count.get("table") == 1 and self._rows:
            self._rows[-1].append(" ".join(self._taken().split()))
        elif tag == "table" and self._open_count["table"] == 1:
            self._end_table()
        elif tag == "caption" and self._open_count.get("table") == 1:
            self._end_stray_text()
        elif tag in BLOCKS:
            self.end_block()

    def _end_table(self) -> None:
        self._end_stray_text()
        rows = [row_text(row) for row in self._rows if any(row)]
        self._rows = []
        if rows:
            self.parts.append(Part("table", "\n".join(rows)))

    def _end_stray_text(self) -> None:
        """Text of a table outside its cells, such as a caption, is a paragraph before it."""
        if stray := " ".join(self._taken().split()):
            self.parts.append(Part("paragraph", stray))

    def _taken(self) -> str:
        text = "".join(self._words)
        self._words = []
        if self._open_count.get("pre"):
            return text.replace("\x00", "\n").strip("\n")
        lines = (SPACE.sub(" ", line).strip() for line in text.split("\x00"))
        return "\n".join(line for line in lines if line)

    def _kind(self) -> BlockKind:
        if self._heading_level():
            return "heading"
        if self._open_count.get("pre"):
            return "code"
        return "list" if self._open_count.get("li") else "paragraph"

    def _heading_level(self) -> int:
        return next((HEADINGS[tag] for tag in reversed(self._open[-3:]) if tag in HEADINGS), 0)

    def _marked(self, text: str) -> str:
        """A list item's text with its mark, set in as deep as its list lies."""
        if self._kind() != "list":
            return text
        depth = self._open_count.get("ul", 0) + self._open_count.get("ol", 0)
        return "  " * min(max(depth - 1, 0), 8) + "- " + text.replace("\n", " ")


def _hides(attrs: list[tuple[str, str | None]]) -> bool:
    given = dict(attrs)
    return "hidden" in given or bool(HIDING_STYLE.search(given.get("style") or ""))
