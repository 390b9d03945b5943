"""Stretches of a text that fit where a model has room for so many tokens. Offsets are code points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ingest.corpus.errors import OverBudget
from ingest.corpus.seams import Tokenizer
from ingest.sentences import sentence_spans
from service.seams import PairModel

Window = tuple[int, int]  # start included, end excluded
SENTENCES = 3  # side by side, in a narrow window: what one statement rests on
LEAST_ROOM = 16  # tokens; with less, what is read says nothing


def room_beside(text: str, model: PairModel) -> int:
    """Tokens that the model has left for the other text of a pair.

    :raises OverBudget: if that is next to nothing: this one is never cut.
    """
    room = model.max_tokens - model.special_tokens - model.tokenizer.count(text)
    if room < LEAST_ROOM:
        raise OverBudget(
            f"A text of {model.tokenizer.count(text)} tokens leaves no room for a passage.",
            why=f"The cross-encoder takes {model.max_tokens} tokens for both.",
            next_step="Use fewer words, or a model that takes more tokens.",
        )
    return room


def token_windows(text: str, room: int, tokenizer: Tokenizer) -> Iterator[Window]:
    """The whole text if it fits, else stretches of at most `room` tokens, each half in the next."""
    spans = tokenizer.spans(text)
    if len(spans) <= room:
        yield 0, len(text)
        return
    step = max(room // 2, 1)
    for first in range(0, len(spans) - room + step, step):
        yield _fitted(text, spans[first : first + room], room, tokenizer)


def _fitted(text: str, spans: Sequence[Window], room: int, tokenizer: Tokenizer) -> Window:
    """The stretch of these tokens, less its last ones where it has more tokens by itself than within."""
    start, last = spans[0][0], len(spans) - 1
    while last and tokenizer.count(text[start : spans[last][1]]) > room:
        last -= 1
    return start, spans[last][1]


def sentence_windows(text: str, room: int, tokenizer: Tokenizer) -> list[Window]:
    """From each sentence on up to `SENTENCES`; then the text in as few stretches as hold it.

    None has more than `room` tokens: a sentence longer than that is cut as by `token_windows`.
    """
    pieces = [one for span in sentence_spans(text) for one in _pieces(text, span, room, tokenizer)]
    tokens = [tokenizer.count(text[start:end]) for start, end in pieces]
    narrow = [(first, _last_fitting(tokens, first, room, SENTENCES)) for first in range(len(pieces))]
    wide = list(_filled(tokens, room))
    return list(dict.fromkeys((pieces[first][0], pieces[last][1]) for first, last in [*narrow, *wide]))


def _pieces(text: str, span: Window, room: int, tokenizer: Tokenizer) -> Iterator[Window]:
    begin, finish = span
    for start, end in token_windows(text[begin:finish], room, tokenizer):
        yield begin + start, begin + end


def _filled(tokens: Sequence[int], room: int) -> Iterator[tuple[int, int]]:
    """First and last piece of each stretch."""
    first = 0
    while first < len(tokens):
        last = _last_fitting(tokens, first, room, len(tokens))
        yield first, last
        first = last + 1


def _last_fitting(tokens: Sequence[int], first: int, room: int, most: int) -> int:
    """The last piece that fits with all from `first` on; what stands between two may be a token."""
    last, taken = first, tokens[first]
    while last + 1 < min(first + most, len(tokens)) and taken + 1 + tokens[last + 1] <= room:
        last += 1
        taken += 1 + tokens[last]
    return last
