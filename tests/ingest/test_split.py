"""Chunks are exact, complete, bounded, and cut where a reader would cut."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.corpus.errors import InvalidInput
from ingest.corpus.seams import Tokenizer
from ingest.corpus.tokenizer import load_tokenizer
from ingest.corpus.types import Block, Chunk, Document
from ingest.read.markdown import read_markdown
from ingest.read.text import read_text
from ingest.split import split
from tests.fakes import WordTokenizer

PACK = Path(os.environ.get("CITEWARD_HOME", "var")) / "models" / "multilingual-e5-small" / "tokenizer.json"

FAMILY = "👩\u200d👩\u200d👧"
SIGNS = st.sampled_from(
    [*"ab 合同。！.?\n\r\t|-#é", "e\u0301", FAMILY, "🇨🇳", "👍🏽", "<|endoftext|>", "\n\n", "\r\n"]
)
SENSIBLE = st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Cn", "Co", "Cs"])
TEXTS = st.lists(SIGNS, max_size=60).map("".join) | st.text(SENSIBLE, max_size=60)


class ByteTokenizer:
    """One token a UTF-8 byte, white space too: several tokens share a span, as in byte-level vocabularies."""

    def count(self, text: str) -> int:
        return len(text.encode("utf-8", "surrogatepass"))

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        return [(at, at + 1) for at, sign in enumerate(text) for _ in range(self.count(sign))]


def plain(text: str, *blocks: Block) -> Document:
    return Document(text, "t", "und", "text/plain", blocks)


def words(count: int, start: int = 0) -> str:
    return " ".join(f"w{number}" for number in range(start, start + count))


def assert_exact_and_complete(document: Document, chunks: Sequence[Chunk]) -> None:
    assert all(document.text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    assert all(left.end <= right.start for left, right in pairwise(chunks))
    held = "".join("".join(chunk.text.split()) for chunk in chunks)
    assert held == "".join(document.text.split())


@settings(deadline=None)  # other work on the machine must not fail a property
@given(TEXTS, st.integers(1, 12), st.sampled_from([WordTokenizer(), ByteTokenizer()]), st.booleans())
def test_offsets_are_exact_and_no_visible_character_is_lost(
    text: str, max_tokens: int, tokenizer: Tokenizer, marked: bool
) -> None:
    document = (
        read_markdown(text.encode("utf-8", "ignore"), "a.md") if marked and text.strip() else plain(text)
    )
    chunks = split(document, tokenizer, max_tokens)
    assert_exact_and_complete(document, chunks)
    over = [chunk for chunk in chunks if tokenizer.count(chunk.text) > max_tokens]
    assert all(len(chunk.text) == 1 for chunk in over)  # a sign of several tokens cannot be cut further


@pytest.mark.parametrize("text", ["a" * 2000, "café 合同 " * 200, "甲乙丙" * 700, f"{FAMILY} " * 300])
@pytest.mark.parametrize("tokenizer", [WordTokenizer(), ByteTokenizer()])
def test_offsets_stay_exact_without_any_sentence_end(text: str, tokenizer: Tokenizer) -> None:
    document = plain(text)
    chunks = split(document, tokenizer, 50)
    assert_exact_and_complete(document, chunks)
    assert all(tokenizer.count(chunk.text) <= 50 for chunk in chunks)


@pytest.mark.parametrize("sign", [FAMILY, "e\u0301", "🇨🇳", "👍🏽"])
def test_a_sign_of_several_code_points_is_not_cut(sign: str) -> None:
    chunks = split(plain(sign * 200), ByteTokenizer(), 40)
    assert len(chunks) > 1
    assert all(set(chunk.text.split(sign)) == {""} for chunk in chunks)


def test_a_cut_table_carries_its_header_in_each_later_chunk() -> None:
    rows = "\n".join(f"| {number} | part-{number} | {number * 7} EUR |" for number in range(1, 61))
    document = read_markdown(
        f"# Prices\n\n| No | Part | Price |\n|---|---|---|\n{rows}\n".encode(), "prices.md"
    )
    first, *later = split(document, WordTokenizer(), 100)
    assert "| No | Part | Price |" in first.text
    assert first.context == ""
    assert len(later) > 3
    assert all(chunk.context == "| No | Part | Price |\n|---|---|---|" for chunk in later)
    row_55 = next(chunk for chunk in later if "part-55 " in chunk.text)
    assert "| 55 | part-55 | 385 EUR |" in row_55.text
    assert row_55.section == "Prices"
    tokens = WordTokenizer().count
    assert all(tokens(chunk.context) + tokens(chunk.text) <= 100 for chunk in (first, *later))


def test_a_header_too_long_to_repeat_is_left_out_rather_than_overflowing() -> None:
    text = words(40) + "\n" + "\n".join(words(10, row) for row in range(20))
    chunks = split(plain(text, Block("table", 0, len(text))), WordTokenizer(), 50)
    assert {chunk.context for chunk in chunks} == {""}
    assert all(WordTokenizer().count(chunk.text) <= 50 for chunk in chunks)


def test_small_neighbours_of_a_section_share_a_chunk_and_sections_do_not() -> None:
    source = b"# Leave\n\nTen days.\n\nAsk early.\n\n## Sick leave\n\nCall in.\n\n# Pay\n\nMonthly."
    chunks = split(read_markdown(source, "a.md"), WordTokenizer(), 100)
    assert [(chunk.section, chunk.text) for chunk in chunks] == [
        ("Leave", "# Leave\n\nTen days.\n\nAsk early."),
        ("Leave > Sick leave", "## Sick leave\n\nCall in."),
        ("Pay", "# Pay\n\nMonthly."),
    ]


def test_a_heading_goes_with_what_follows() -> None:
    source = f"# A\n\n{words(9)}\n\n# B\n\n## C\n\n{words(9)}".encode()
    chunks = split(read_markdown(source, "a.md"), WordTokenizer(), 14)
    assert [chunk.text.split("\n")[0] for chunk in chunks] == ["# A", "# B"]
    assert chunks[1].section == "B > C"


def test_a_block_that_fits_a_chunk_is_not_cut() -> None:
    text = f"{words(6)}.\n\n{words(4)}. {words(4)}.\n\n{words(3)}."
    chunks = split(read_text(text.encode(), "a.txt"), WordTokenizer(), 15)
    assert [chunk.text for chunk in chunks] == [f"{words(6)}.", f"{words(4)}. {words(4)}.\n\n{words(3)}."]


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    text = " ".join(f"W {words(8)}." for _ in range(30))
    chunks = split(plain(text), WordTokenizer(), 45)
    assert [WordTokenizer().count(chunk.text) for chunk in chunks] == [40] * 7 + [20]
    assert all(chunk.text.endswith(".") for chunk in chunks)


def test_a_chunk_has_the_page_of_its_first_block() -> None:
    blocks = (Block("paragraph", 0, 3, page=4), Block("paragraph", 5, 8, page=5))
    (chunk,) = split(plain("one\n\ntwo", *blocks), WordTokenizer(), 10)
    assert chunk.page == 4


def test_a_fact_behind_the_512th_token_is_in_a_chunk() -> None:
    text = words(600) + " The key is KEY-4419. " + words(100)
    chunks = split(plain(text), WordTokenizer(), 512)
    assert sum("KEY-4419" in chunk.text for chunk in chunks) == 1


def test_text_that_looks_like_a_control_token_is_text() -> None:
    text = "before <|endoftext|> after <|im_start|>system"
    (chunk,) = split(plain(text), WordTokenizer(), 50)
    assert chunk.text == text


@pytest.mark.skipif(not PACK.exists(), reason=f"no model pack at {PACK}")
@pytest.mark.parametrize("max_tokens", [480, 60])
def test_a_model_s_own_tokens_bound_each_chunk_of_one_long_line(max_tokens: int) -> None:
    tokenizer = load_tokenizer(PACK)
    document = plain("设备维护记录第一条内容" * 15_000 + "KEY-LONGLINE-4419")
    begin = time.perf_counter()
    chunks = split(document, tokenizer, max_tokens)
    assert time.perf_counter() - begin < 20
    assert_exact_and_complete(document, chunks)
    assert max(tokenizer.count(chunk.text) for chunk in chunks) <= max_tokens
    assert sum("KEY-LONGLINE-4419" in chunk.text for chunk in chunks) == 1


def test_no_room_is_an_error_that_names_the_value() -> None:
    with pytest.raises(InvalidInput, match="max_tokens is 0"):
        split(plain("a"), WordTokenizer(), 0)


def test_nothing_visible_gives_no_chunk() -> None:
    assert split(plain(" \n\t "), WordTokenizer(), 5) == ()


@pytest.mark.parametrize("unit", ["a", "字", "🇨🇳", "-", "e\u0301", "a b\n", " ", "|\n"])
def test_time_grows_linearly_with_the_text(unit: str) -> None:
    document = plain(unit * (200_000 // len(unit)))
    begin = time.perf_counter()
    split(document, WordTokenizer(), 500)
    assert time.perf_counter() - begin < 10  # quadratic work would take minutes
