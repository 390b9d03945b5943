from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from ingest.corpus.keywords import (
    OkapiIndex,
    Vocabulary,
    make_live,
    merge_postings,
    okapi_index,
    post_words,
    words,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PRD-2041", ["prd-2041", "prd", "2041"]),
        ("v2.1", ["v2.1", "v2", "1"]),
        ("emp_0001", ["emp_0001", "emp", "0001"]),
        ("Ana.Li@Acme.example", ["ana.li@acme.example", "ana", "li", "acme", "example"]),
        ("FY2023", ["fy2023"]),
        ("well-known", ["well", "known"]),
        ("ＦＹ２０２３　Ｑ４", ["fy2023", "q4"]),
        ("Straße", ["strasse"]),
        ("故乡", ["故乡"]),
        ("故鄉", ["故乡"]),
        ("GitHub备份脚本上传失败", ["github", "备份", "脚本", "上传", "失败"]),
        ("、。!? \n", []),
        ("", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_a_word_that_no_dictionary_has_is_found_inside_a_sentence() -> None:
    assert "年假" in words("年假")
    assert "年假" in words("员工的年假为12天")


def test_a_long_word_is_found_by_its_parts() -> None:
    assert {"人工", "智能", "人工智能"} <= set(words("人工智能"))


def test_words_repeat_as_often_as_they_occur() -> None:
    assert words("the cat, the dog").count("the") == 2


# --- BM25Okapi ---------------------------------------------------------------------------------

WORDS = [f"w{number}" for number in range(12)]
Texts = list[list[str]]
texts_of_words = st.lists(st.lists(st.sampled_from(WORDS), max_size=8), max_size=12)


def indexed(texts: Texts, alive: list[bool] | None = None, parts: int = 1) -> OkapiIndex:
    """The texts in so many parts, one after another."""
    vocabulary: Vocabulary = {}
    mask = np.array([True] * len(texts) if alive is None else alive, dtype=bool)
    bounds = [len(texts) * number // parts for number in range(parts + 1)]
    live = [
        make_live(post_words(vocabulary, texts[start:end]), mask[start:end])
        for start, end in pairwise(bounds)
    ]
    return okapi_index(vocabulary, live)


def merged(index: OkapiIndex) -> OkapiIndex:
    postings = merge_postings([(part.postings, part.alive) for part in index.parts])
    return okapi_index(index.vocabulary, [make_live(postings, np.ones(len(postings.lengths), dtype=bool))])


def assert_equals_reference(index: OkapiIndex, rows: list[int], texts: Texts, query: list[str]) -> None:
    """Scores of `rows` are the reference's over `texts`; NaN exactly where no word of the query stands."""
    reference = BM25Okapi(texts).get_scores(query)
    holding = [not set(text).isdisjoint(query) for text in texts]
    scores = index.scores(" ".join(query), rows)
    assert np.isnan(scores).tolist() == [not one for one in holding]
    np.testing.assert_allclose(scores[holding], reference[holding], rtol=0, atol=1e-9)


@given(
    texts_of_words, st.data(), st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=6), st.integers(1, 4)
)
def test_scores_are_the_references_over_what_is_alive(
    texts: Texts, data: st.DataObject, query: list[str], parts: int
) -> None:
    alive = data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts)))
    rows = [row for row, lives in enumerate(alive) if lives]
    living = [texts[row] for row in rows]
    assume(any(living))
    index = indexed(texts, alive, parts)
    assert_equals_reference(index, rows, living, query)
    assert_equals_reference(merged(index), list(range(len(living))), living, query)


@given(texts_of_words, st.lists(st.sampled_from(WORDS), max_size=4), st.integers(0, 15), st.integers(1, 4))
def test_search_returns_the_k_best_permitted(texts: Texts, query: list[str], k: int, parts: int) -> None:
    index = indexed(texts, parts=parts)
    permitted = np.arange(len(texts)) % 3 > 0
    rows, scores = index.search(" ".join(query), k, permitted)
    every = index.scores(" ".join(query), range(len(texts)))
    expected = [
        row
        for row in np.lexsort((np.arange(len(texts)), -every))
        if permitted[row] and not np.isnan(every[row])
    ]
    assert rows == expected[:k]
    np.testing.assert_allclose(scores, every[rows], rtol=0, atol=1e-12)


def test_a_later_vocabulary_does_not_reach_an_earlier_index() -> None:
    index = indexed([["old"], ["older"]])
    post_words(index.vocabulary, [["new"]])
    assert index.search("new", 5, np.ones(2, dtype=bool))[0] == []


@pytest.mark.parametrize(
    ("texts", "question", "found"),
    [
        (["我的故乡在北方", "今天下雨", "股票上涨", "他在写代码", "图书馆闭馆"], "故乡", 0),
        (["天气很好", "GitHub备份脚本上传失败", "会议取消", "午饭", "公司地址"], "备份失败", 1),
        (["天气很好", "数据库说明", "會議紀錄與備份", "午飯", "公司地址"], "会议纪录", 2),
    ],
)
def test_chinese_is_found(texts: list[str], question: str, found: int) -> None:
    index = indexed([words(text) for text in texts])
    assert index.search(question, 1, np.ones(len(texts), dtype=bool))[0] == [found]


def test_coverage_is_the_share_of_rarity_held() -> None:
    index = indexed([["common", "rare"], ["common"], ["common"], ["else"]])
    both, one, none = index.coverage("common rare", [0, 1, 3])
    assert both == pytest.approx(1.0)
    assert 0.0 < one < 0.5
    assert none == 0.0


def test_a_word_that_nobody_knows_lowers_coverage() -> None:
    index = indexed([["known"], ["other"]])
    assert index.coverage("known unknown", [0])[0] < 0.5


def test_an_index_of_nothing_finds_nothing() -> None:
    assert indexed([]).search("anything", 5, np.ones(0, dtype=bool))[0] == []
