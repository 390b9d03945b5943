"""What every keyword index must do, with rank-bm25 as the reference. Scores agree to 1e-9."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from rank_bm25 import BM25Okapi

from ingest.corpus.keywords import make_live, okapi_index, post_words, words
from ingest.corpus.seams import KeywordIndex

TEXTS = (
    "Annual leave is 12 days a year.",
    "员工每年有12天年假。",
    "The travel policy covers trains.",
    "Report PRD-2041 covers travel, travel and travel.",
    "",
)
EVERYTHING = np.ones(len(TEXTS), dtype=bool)


def okapi(texts: Sequence[str]) -> KeywordIndex:
    postings = post_words(vocabulary := {}, map(words, texts))
    return okapi_index(vocabulary, [make_live(postings, np.ones(len(texts), dtype=bool))])


@pytest.fixture(params=[okapi])
def index(request: pytest.FixtureRequest) -> KeywordIndex:
    build: Callable[[Sequence[str]], KeywordIndex] = request.param
    return build(TEXTS)


@pytest.mark.parametrize("question", ["travel policy", "年假有几天", "prd-2041", "travel travel days"])
def test_scores_are_the_references(index: KeywordIndex, question: str) -> None:
    reference = BM25Okapi([words(text) for text in TEXTS]).get_scores(words(question))
    rows, scores = index.search(question, len(TEXTS), EVERYTHING)
    assert len(rows) > 0
    np.testing.assert_allclose(scores, reference[list(rows)], rtol=0, atol=1e-9)
    assert list(scores) == sorted(scores, reverse=True)


def test_a_row_without_a_word_of_the_question_is_not_returned(index: KeywordIndex) -> None:
    assert set(index.search("travel", 10, EVERYTHING)[0]) == {2, 3}
    assert np.isnan(index.scores("travel", [0, 2, 4])).tolist() == [True, False, True]


def test_only_permitted_rows_are_returned(index: KeywordIndex) -> None:
    assert list(index.search("travel", 10, np.arange(len(TEXTS)) == 2)[0]) == [2]


def test_permission_does_not_change_a_score(index: KeywordIndex) -> None:
    _, scores = index.search("travel", 10, np.arange(len(TEXTS)) == 2)
    assert scores[0] == index.scores("travel", [2])[0]


def test_a_question_without_words_finds_nothing(index: KeywordIndex) -> None:
    assert list(index.search("？！", 10, EVERYTHING)[0]) == []
