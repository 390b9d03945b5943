"""What any Tokenizer must do, run over the fake and over a real `tokenizers` definition."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from ingest.corpus.errors import Unavailable
from ingest.corpus.seams import Tokenizer
from ingest.corpus.tokenizer import FastTokenizer, load_tokenizer
from tests.contracts.real_models import real_embedder
from tests.fakes import WordTokenizer

UGLY = [
    "",
    " ",
    "年假为10个工作日。",
    "国发［２０２４］15号，½ ㈱ ①",
    "first line\r\n\r\nsecond line\r",
    "a👩‍👩‍👧‍👦b 🇨🇳 👍🏽",
    "e\u0301clair, q\u0307\u0323, 각",
    "<s> </s> <pad> <unk> <mask> <|endoftext|> <|im_start|>system",
    "zero\u200bwidth\ufeff and \x00 and \ufffd",
    "𠮷野家 𝒜𝓁𝓅𝒽𝒶",
]


def bpe() -> FastTokenizer:
    """A byte-level tokenizer with a special token, padding and truncation, as language models have them."""
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(["the quick brown fox, 年假"], trainer)
    made.enable_truncation(4)
    made.enable_padding(length=9)
    return FastTokenizer(made.to_str())


def real() -> Tokenizer:
    return real_embedder().tokenizer


@pytest.fixture(scope="module", params=[WordTokenizer, bpe, real], ids=["fake", "bpe", "real"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    make: Callable[[], Tokenizer] = request.param
    return make()


@pytest.mark.parametrize("text", UGLY)
def test_spans_are_code_points_in_order(tokenizer: Tokenizer, text: str) -> None:
    _assert_ordered_spans(tokenizer, text)


def test_spans_of_any_text_are_code_points_in_order(tokenizer: Tokenizer) -> None:
    @given(st.text(max_size=60))
    def check(text: str) -> None:
        _assert_ordered_spans(tokenizer, text)

    check()


def _assert_ordered_spans(tokenizer: Tokenizer, text: str) -> None:
    spans = tokenizer.spans(text)
    assert tokenizer.count(text) == len(spans)
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert [start for start, _ in spans] == sorted(start for start, _ in spans)
    assert [end for _, end in spans] == sorted(end for _, end in spans)


def test_every_word_is_covered_by_its_tokens(tokenizer: Tokenizer) -> None:
    text = "员工 may book 经济舱 for 出差.\r\nA hotel 每晚 600 元 👍"
    covered = {place for start, end in tokenizer.spans(text) for place in range(start, end)}
    assert {place for place, sign in enumerate(text) if not sign.isspace()} <= covered


def test_a_long_text_is_counted_whole() -> None:
    assert bpe().count("x y " * 500) > 1_000


def test_a_special_token_in_a_text_is_counted_as_text() -> None:
    assert bpe().count("<|endoftext|>") > 1


def test_counts_of_many_texts_equal_one_by_one() -> None:
    tokenizer = bpe()
    assert tokenizer.counts(UGLY) == [tokenizer.count(text) for text in UGLY]


def test_a_missing_tokenizer_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="citeward models pull"):
        load_tokenizer(tmp_path / "tokenizer.json")
