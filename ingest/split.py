"""A document's text to chunks that an embedder takes whole: sections first, then blocks, then sentences.

Pure, and exact: `document.text[chunk.start:chunk.end] == chunk.text`, and every character that is not white
space lies in exactly one chunk. Knows no embedder, only its tokenizer.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from unicodedata import category

from ingest.corpus.errors import InvalidInput
from ingest.corpus.seams import Tokenizer
from ingest.corpus.types import Block, Chunk, Document
from ingest.sentences import sentence_spans

LINE = re.compile(r"[^\n]+")
RULE_SIGNS = frozenset(" \t|:+=-")  # of the line under a Markdown table's header
VISIBLE = re.compile(r"\S(?:.*\S)?", re.DOTALL)
PAUSES = frozenset(" \t\n,;:，；：、。！？)）")  # where a cut hurts least
PAUSE_WITHIN = 0.25  # how much of a piece may be given up for a pause; keeps pieces long
ZERO_WIDTH_JOINER = "\u200d"
LONGEST_FLAG_RUN = 64  # characters looked back over, so that a text of flags alone stays linear
LARGEST_HEADER = 0.5  # of a chunk's room; a longer table header would leave too little for rows
TOKENISED_AT_ONCE = 50_000  # characters; some tokenizers slow down on longer texts


@dataclass(frozen=True, slots=True)
class Piece:
    """The smallest thing that packing moves: a sentence, a heading, a row, or part of one."""

    start: int
    end: int
    tokens: int
    block: Block
    context: str = ""  # needed if a chunk begins with this piece
    context_tokens: int = 0


def split(document: Document, tokenizer: Tokenizer, max_tokens: int) -> tuple[Chunk, ...]:
    """Chunks in order of the text; `max_tokens` is the room for a chunk's text and context together.

    What else is embedded with a chunk (title, prefix, special tokens) the caller takes off beforehand. Small
    blocks of one section share a chunk, a block that fits one chunk is not cut, a heading goes with what
    follows, and a table that is cut carries its header row in `Chunk.context`. Time is linear in the text.

    :raises InvalidInput: if `max_tokens` is not positive
    """
    if max_tokens <= 0:
        raise InvalidInput(
            f"max_tokens is {max_tokens}, but a chunk needs room for 1 token.",
            why="What is embedded beside the chunk (title, prefix) may have used up the embedder's limit.",
            next_step="Shorten the title, or choose an embedder with a longer input.",
            field="max_tokens",
        )
    text = document.text
    blocks = (_block_pieces(text, block, tokenizer, max_tokens) for block in _with_gaps(document))
    packed = _pack(_with_their_headings(blocks), max_tokens)
    chunks = (chunk for pieces in packed for chunk in _chunks(text, pieces, tokenizer, max_tokens))
    return tuple(replace(chunk, ordinal=ordinal) for ordinal, chunk in enumerate(chunks))


def _with_gaps(document: Document) -> Iterator[Block]:
    """The document's blocks, and a paragraph for any visible text that no block holds."""
    position, section = 0, ""
    for block in (*document.blocks, Block("paragraph", len(document.text), len(document.text))):
        gap = VISIBLE.search(document.text[position : block.start])
        if gap:
            yield Block("paragraph", position + gap.start(), position + gap.end(), section=section)
        if block.start < block.end:
            yield block
        position, section = block.end, block.section


# --- blocks to pieces --------------------------------------------------------------------------


def _block_pieces(text: str, block: Block, tokenizer: Tokenizer, max_tokens: int) -> list[Piece]:
    starts = _token_starts(text, block, tokenizer)
    if block.kind == "table":
        return _table_pieces(text, block, starts, tokenizer, max_tokens)
    if block.kind == "code":
        spans = _rows(text, block)
    elif block.kind == "heading":
        spans = _trimmed(text, block.start, block.end)
    else:
        spans = [(block.start + a, block.start + b) for a, b in sentence_spans(text[block.start : block.end])]
    return [piece for span in spans for piece in _pieces(text, span, block, starts, max_tokens)]


def _token_starts(text: str, block: Block, tokenizer: Tokenizer) -> list[int]:
    """Where each token of the block starts: tokenised once, so that any stretch is counted by bisection."""
    starts: list[int] = []
    position = block.start
    while position < block.end:
        end = min(position + TOKENISED_AT_ONCE, block.end)
        starts.extend(position + start for start, _ in tokenizer.spans(text[position:end]))
        position = end
    return starts


def _table_pieces(
    text: str, block: Block, starts: Sequence[int], tokenizer: Tokenizer, max_tokens: int
) -> list[Piece]:
    rows = _rows(text, block)
    if block.header:
        heads, header = 0, text[slice(*block.header)]
        header_tokens = tokenizer.count(header)
    else:
        heads = 2 if len(rows) > 1 and RULE_SIGNS.issuperset(text[slice(*rows[1])]) else 1
        header = text[rows[0][0] : rows[heads - 1][1]] if rows else ""
        header_tokens = sum(_count(starts, *row) for row in rows[:heads])
    if header_tokens > max_tokens * LARGEST_HEADER:
        header, header_tokens = "", 0
    room = max_tokens - header_tokens
    head = [piece for row in rows[:heads] for piece in _pieces(text, row, block, starts, max_tokens)]
    body = [piece for row in rows[heads:] for piece in _pieces(text, row, block, starts, room)]
    return head + [replace(piece, context=header, context_tokens=header_tokens) for piece in body]


def _rows(text: str, block: Block) -> list[tuple[int, int]]:
    lines = (line.span() for line in LINE.finditer(text, block.start, block.end))
    return [row for line in lines for row in _trimmed(text, *line)]


def _trimmed(text: str, start: int, end: int) -> list[tuple[int, int]]:
    visible = VISIBLE.search(text, start, end)
    return [visible.span()] if visible else []


def _count(starts: Sequence[int], start: int, end: int) -> int:
    return bisect_left(starts, end) - bisect_left(starts, start)


def _pieces(
    text: str, span: tuple[int, int], block: Block, starts: Sequence[int], room: int
) -> Iterator[Piece]:
    """The span as one piece, or cut at token boundaries into pieces of at most `room` tokens."""
    start, end = span
    while _count(starts, start, end) > room:
        first = bisect_left(starts, start)
        cut = _kind_cut(text, start, starts[first + room])
        yield from (Piece(a, b, _count(starts, a, b), block) for a, b in _trimmed(text, start, cut))
        start = cut
    yield from (Piece(a, b, _count(starts, a, b), block) for a, b in _trimmed(text, start, end))


def _kind_cut(text: str, start: int, cut: int) -> int:
    """The best place in (start, cut] to cut: after a pause if one is near, else between two graphemes."""
    cut = max(cut, start + 1)
    for position in range(cut, max(start, cut - int((cut - start) * PAUSE_WITHIN)), -1):
        if text[position - 1] in PAUSES and not _inside_grapheme(text, position):
            return position
    whole = cut
    while whole > start and _inside_grapheme(text, whole):
        whole -= 1
    return whole if whole > start else cut  # a grapheme longer than the room has to be cut


def _inside_grapheme(text: str, position: int) -> bool:
    """Whether a cut at `position` parts what a reader sees as one sign; a short form of Unicode's UAX #29."""
    if not 0 < position < len(text):
        return False
    before, after = text[position - 1], text[position]
    if (before == "\r" and after == "\n") or ZERO_WIDTH_JOINER in (before, after):
        return True
    if _is_regional(before) and _is_regional(after):
        return _regional_run(text, position) % 2 == 1
    is_skin_tone = "\U0001f3fb" <= after <= "\U0001f3ff"
    return is_skin_tone or category(after).startswith("M")  # variation selectors are marks too


def _is_regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _regional_run(text: str, position: int) -> int:
    """How many regional indicators stand just before `position`; two make a flag."""
    length = 0
    while length < min(position, LONGEST_FLAG_RUN) and _is_regional(text[position - 1 - length]):
        length += 1
    return length


# --- pieces to chunks --------------------------------------------------------------------------


def _with_their_headings(blocks: Iterable[list[Piece]]) -> Iterator[list[Piece]]:
    """A heading's pieces join those of the next block that is no heading."""
    headings: list[Piece] = []
    for pieces in blocks:
        if pieces and pieces[0].block.kind == "heading":
            headings += pieces
        elif pieces:
            yield headings + pieces
            headings = []
    if headings:
        yield headings


def _pack(groups: Iterable[list[Piece]], max_tokens: int) -> Iterator[list[Piece]]:
    """Lists of pieces, in order, that fit a chunk by the sum of their tokens.

    A new section begins a new list, and a group that fits one list is never spread over two.
    """
    current: list[Piece] = []
    used = 0
    for group in groups:
        needed = group[0].context_tokens + sum(piece.tokens for piece in group)
        if current and (current[-1].block.section != group[-1].block.section or used + needed > max_tokens):
            yield current
            current, used = [], 0
        for piece in group:
            if current and used + piece.tokens > max_tokens:
                yield current
                current, used = [], 0
            used += piece.tokens + (0 if current else piece.context_tokens)
            current.append(piece)
    if current:
        yield current


def _chunks(text: str, pieces: Sequence[Piece], tokenizer: Tokenizer, max_tokens: int) -> Iterator[Chunk]:
    """One chunk, or several where its own text has more tokens than its pieces had within their blocks."""
    first, last = pieces[0], pieces[-1]
    passage = text[first.start : last.end]
    if tokenizer.count(passage) + first.context_tokens <= max_tokens or len(passage) == 1:
        section = last.block.section
        yield Chunk(0, passage, first.start, last.end, first.block.page, section, first.context)
        return
    halves = (
        _halves(text, pieces)
        if len(pieces) == 1
        else (pieces[: len(pieces) // 2], pieces[len(pieces) // 2 :])
    )
    for half in halves:
        yield from _chunks(text, half, tokenizer, max_tokens)


def _halves(text: str, pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    (piece,) = pieces
    cut = _kind_cut(text, piece.start, (piece.start + piece.end) // 2)
    for start, end in (*_trimmed(text, piece.start, cut), *_trimmed(text, cut, piece.end)):
        yield [replace(piece, start=start, end=end)]
