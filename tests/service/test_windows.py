"""Windows hold all of a text and fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.corpus.errors import OverBudget
from service.windows import room_beside, sentence_windows, token_windows
from tests.fakes import SharedWords, WordTokenizer

TOKENIZER = WordTokenizer()
TEXTS = st.text(st.sampled_from("ab 年。. \n🙂1"), max_size=200)


@given(TEXTS, st.integers(1, 30))
def test_token_windows_hold_every_token_within_the_room(text: str, room: int) -> None:
    windows = list(token_windows(text, room, TOKENIZER))
    assert all(TOKENIZER.count(text[start:end]) <= room for start, end in windows)
    for token in TOKENIZER.spans(text):
        assert any(start <= token[0] and token[1] <= end for start, end in windows)


def test_what_fits_is_one_window() -> None:
    assert list(token_windows(" 年假 5 days ", 4, TOKENIZER)) == [(0, 11)]
    assert list(token_windows("", 4, TOKENIZER)) == [(0, 0)]


def test_neighbours_share_half() -> None:
    assert list(token_windows("a b c d e f", 4, TOKENIZER)) == [(0, 7), (4, 11)]


@given(TEXTS, st.integers(1, 30))
def test_sentence_windows_hold_every_token_within_the_room(text: str, room: int) -> None:
    windows = sentence_windows(text, room, TOKENIZER)
    assert len(set(windows)) == len(windows)
    assert all(TOKENIZER.count(text[start:end]) <= room for start, end in windows)
    for token in TOKENIZER.spans(text):
        assert any(start <= token[0] and token[1] <= end for start, end in windows)


def test_there_are_windows_of_few_sentences_and_one_of_all_that_fit() -> None:
    text = "A b. C d. E f. G h. I j."
    windows = [text[start:end] for start, end in sentence_windows(text, 100, TOKENIZER)]
    assert windows == ["A b. C d. E f.", "C d. E f. G h.", "E f. G h. I j.", "G h. I j.", "I j.", text]


def test_a_text_that_leaves_no_room_is_refused_with_the_numbers() -> None:
    model = SharedWords(max_tokens=64)
    assert room_beside("a " * 45, model) == 16
    with pytest.raises(OverBudget, match="46 tokens"):
        room_beside("a " * 46, model)
