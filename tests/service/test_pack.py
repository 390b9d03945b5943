from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.corpus.errors import InvalidInput
from ingest.corpus.types import StoredChunk
from service.pack import pack, passage_text
from service.types import Packed, RankedChunk
from tests.service.passages import ranked


def count_words(stored: StoredChunk) -> int:
    return len(passage_text(stored).split())


def pack_words(candidates: Sequence[RankedChunk], budget_tokens: int, max_evidence: int = 10) -> Packed:
    return pack(candidates, budget_tokens, count_words, max_evidence)


def reasons(packed: Packed) -> list[str]:
    return [decision.reason for decision in packed.decisions]


def markers(packed: Packed) -> dict[str, int]:
    return {each.marker: each.stored.id for each in packed.evidence}


def test_order_is_by_score_and_ties_by_chunk_id() -> None:
    packed = pack_words([ranked(9, "a b", 0.5), ranked(2, "c d", 0.5), ranked(5, "e f", 0.9)], 100)
    assert markers(packed) == {"C1": 5, "C2": 2, "C3": 9}


def test_one_that_does_not_fit_is_skipped_and_the_next_is_tried() -> None:
    packed = pack_words([ranked(1, "a b c", 0.9), ranked(2, "a b c d", 0.8), ranked(3, "x y", 0.7)], 5)
    assert reasons(packed) == ["taken", "over_budget", "taken"]
    assert markers(packed) == {"C1": 1, "C2": 3}
    assert packed.tokens == 5


def test_every_candidate_has_a_decision_in_the_order_given() -> None:
    packed = pack_words([ranked(3, "a", 0.1), ranked(1, "b", 0.9), ranked(2, "c", 0.5)], 2)
    assert [(each.chunk_id, each.taken, each.reason) for each in packed.decisions] == [
        (3, False, "over_budget"),
        (1, True, "taken"),
        (2, True, "taken"),
    ]


def test_same_chunk_twice_gets_one_marker() -> None:
    packed = pack_words([ranked(1, "a b", 0.9), ranked(1, "a b", 0.8)], 100)
    assert reasons(packed) == ["taken", "duplicate"]


def test_same_words_in_another_document_are_taken_once() -> None:
    packed = pack_words([ranked(1, "a b", 0.9), ranked(2, "a b", 0.8), ranked(3, "a c", 0.7)], 100)
    assert reasons(packed) == ["taken", "same_text", "taken"]


def test_table_rows_under_different_headers_are_not_the_same_text() -> None:
    packed = pack_words(
        [ranked(1, "7 | 9", context="min | max"), ranked(2, "7 | 9", context="day | hour")], 100
    )
    assert reasons(packed) == ["taken", "taken"]


def test_at_most_max_evidence_are_taken() -> None:
    packed = pack_words([ranked(number, f"word{number}") for number in range(1, 4)], 100, max_evidence=2)
    assert reasons(packed) == ["taken", "taken", "over_limit"]


def test_context_counts_as_part_of_the_passage() -> None:
    row = ranked(1, "3 | 30", context="no | days")
    assert passage_text(row.stored) == "no | days\n3 | 30"
    assert pack_words([row], 100).tokens == 6


def test_three_passages_open_three_passages() -> None:
    packed = pack_words([ranked(7, "seven"), ranked(8, "eight"), ranked(9, "nine")], 100)
    assert [(each.marker, each.stored.chunk.text) for each in packed.evidence] == [
        ("C1", "seven"),
        ("C2", "eight"),
        ("C3", "nine"),
    ]


def test_nothing_fits_a_budget_of_nothing() -> None:
    assert reasons(pack_words([ranked(1, "a")], 0)) == ["over_budget"]


def test_negative_budget_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="budget_tokens must not be negative, was: -1"):
        pack_words([], -1)


@pytest.mark.parametrize("tokens", [0, -3])
def test_passage_without_tokens_is_an_error(tokens: int) -> None:
    with pytest.raises(InvalidInput, match=f"Chunk 4 must have at least 1 token, was: {tokens}"):
        pack([ranked(4, "a")], 10, lambda _: tokens, 5)


@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf")])
def test_score_that_is_not_finite_is_an_error(score: float) -> None:
    with pytest.raises(InvalidInput, match="score of chunk 4 must be finite"):
        pack_words([ranked(1, "a"), ranked(4, "b", score)], 10)


@pytest.mark.parametrize("max_evidence", [0, -1])
def test_limit_below_one_is_an_error(max_evidence: int) -> None:
    with pytest.raises(InvalidInput, match="max_evidence must be at least 1"):
        pack_words([], 10, max_evidence)


@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 9), st.floats(0, 1)), max_size=12),
    st.integers(0, 30),
    st.integers(1, 5),
)
def test_evidence_always_fits_and_is_decided_once(
    drawn: list[tuple[int, int, float]], budget_tokens: int, max_evidence: int
) -> None:
    candidates = [ranked(number, "w " * words, score) for number, words, score in drawn]
    packed = pack_words(candidates, budget_tokens, max_evidence)
    assert packed.tokens == sum(each.tokens for each in packed.evidence) <= budget_tokens
    assert [each.marker for each in packed.evidence] == [f"C{n + 1}" for n in range(len(packed.evidence))]
    assert len(packed.evidence) <= max_evidence
    assert len({each.stored.id for each in packed.evidence}) == len(packed.evidence)
    assert len(packed.decisions) == len(candidates)
    assert sum(each.taken for each in packed.decisions) == len(packed.evidence)
