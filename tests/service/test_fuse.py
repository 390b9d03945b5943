"""Fusion: never worse than its better half, explained, and deaf to what a search did not match."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.corpus.errors import InvalidInput
from ingest.corpus.types import Hit
from service.fuse import FULL_COVERAGE_WEIGHT, fuse
from service.types import Fused, QuerySignals

WHOLE, NOTHING = QuerySignals(coverage=1.0), QuerySignals(coverage=0.0)


def hits(**scores: float) -> list[Hit]:
    """`c7=1.5` is chunk 7 with score 1.5."""
    return [Hit(int(name[1:]), score) for name, score in scores.items()]


def order(fused: Fused) -> list[int]:
    return [candidate.chunk_id for candidate in fused.candidates]


def test_an_identifier_that_one_passage_holds_beats_meaning() -> None:
    meaning = hits(**{f"c{n}": 0.9 - n / 1000 for n in range(20)})
    fused = fuse(hits(c17=9.0, c3=1.0), meaning, QuerySignals(coverage=0.7))
    assert order(fused)[0] == 17


def test_without_a_matched_word_the_order_is_that_of_meaning() -> None:
    fused = fuse([], hits(c1=0.7, c2=0.9, c3=0.8), NOTHING)
    assert order(fused) == [2, 3, 1]
    assert fused.words_weight == 0
    assert fused.reason == "Meaning alone: no passage holds a word of the question."


def test_a_stray_word_hardly_moves_a_question_in_another_language() -> None:
    meaning = hits(c1=0.90, c2=0.84, c3=0.83, c4=0.82)
    assert order(fuse(hits(c4=3.0), meaning, QuerySignals(coverage=0.05)))[0] == 1


def test_weight_of_words_grows_with_coverage_and_is_said() -> None:
    meaning = hits(c1=0.9, c2=0.8)
    weights = [fuse(hits(c2=1.0), meaning, QuerySignals(share)).words_weight for share in (0.1, 0.5, 1.0)]
    assert weights == sorted(weights)
    assert weights[-1] == FULL_COVERAGE_WEIGHT
    fused = fuse(hits(c2=1.0), meaning, QuerySignals(0.5))
    assert fused.reason.startswith("Words count 0.30, meaning 0.70: the best passage by words holds 50%")


def test_a_passage_without_a_word_gets_no_credit_for_words() -> None:
    fused = fuse(hits(c1=5.0, c2=1.0), hits(c1=0.8, c2=0.8, c3=0.8), WHOLE)
    assert order(fused) == [1, 2, 3]
    last = fused.candidates[-1]
    assert (last.words, last.words_rank) == (None, None)


def test_a_matched_word_counts_even_where_bm25_is_below_zero() -> None:
    """In a tiny collection BM25Okapi gives 0 or less; the unmatched passage must not profit from that."""
    fused = fuse(hits(c1=-0.5, c2=-0.1), hits(c1=0.8, c2=0.8, c3=0.8), WHOLE)
    assert order(fused) == [2, 1, 3]
    assert fused.candidates[1].score == fused.candidates[2].score


def test_candidates_carry_what_each_search_said() -> None:
    first = fuse(hits(c1=2.0, c2=4.0), hits(c1=0.6, c2=0.5), WHOLE).candidates[0]
    assert (first.chunk_id, first.meaning, first.words) == (2, 0.5, 4.0)
    assert (first.words_rank, first.meaning_rank) == (1, 2)


def test_equal_scores_are_ordered_by_chunk_id() -> None:
    assert order(fuse([], hits(c9=0.5, c2=0.5, c5=0.5), NOTHING)) == [2, 5, 9]


def test_nothing_found_is_nothing_fused() -> None:
    assert fuse([], [], NOTHING).candidates == ()


SCORES = st.floats(min_value=-10, max_value=100, allow_nan=False)


@given(
    meaning=st.dictionaries(st.integers(1, 40), SCORES, min_size=1),
    words=st.dictionaries(st.integers(1, 40), SCORES),
    coverage=st.floats(0, 1),
)
def test_any_input_order_gives_the_same_ranking_of_the_same_chunks(
    meaning: dict[int, float], words: dict[int, float], coverage: float
) -> None:
    by_meaning = [Hit(*pair) for pair in meaning.items()]
    by_words = [Hit(*pair) for pair in words.items() if pair[0] in meaning]
    fused = fuse(by_words, by_meaning, QuerySignals(coverage))
    assert sorted(order(fused)) == sorted(meaning)
    assert all(math.isfinite(candidate.score) for candidate in fused.candidates)
    again = fuse(by_words[::-1], by_meaning[::-1], QuerySignals(coverage))
    assert again.words_weight == fused.words_weight
    assert {c.chunk_id: c.score for c in again.candidates} == pytest.approx(
        {c.chunk_id: c.score for c in fused.candidates}, abs=1e-6
    )


@pytest.mark.parametrize("coverage", [-0.1, 1.1, math.nan])
def test_an_impossible_coverage_is_an_error(coverage: float) -> None:
    with pytest.raises(InvalidInput, match="coverage"):
        fuse([], hits(c1=0.5), QuerySignals(coverage))


def test_a_coverage_above_one_by_rounding_is_one() -> None:
    fused = fuse(hits(c1=1.0), hits(c1=0.5, c2=0.4), QuerySignals(1.0000000000000002))
    assert fused.words_weight == FULL_COVERAGE_WEIGHT


@pytest.mark.parametrize("score", [math.nan, math.inf])
def test_a_score_that_is_not_finite_is_an_error(score: float) -> None:
    with pytest.raises(InvalidInput, match="not finite"):
        fuse([], hits(c1=score), NOTHING)
    with pytest.raises(InvalidInput, match="not finite"):
        fuse(hits(c1=score), hits(c1=0.5), NOTHING)


def test_a_words_hit_without_meaning_is_an_error() -> None:
    with pytest.raises(InvalidInput, match=r"\[7\]"):
        fuse(hits(c7=1.0), hits(c1=0.5), WHOLE)
