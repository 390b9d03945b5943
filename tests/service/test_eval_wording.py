"""What an answer says and what it does not, in both languages; numbers only as wholes."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.evaluation.scoring.wording import exact, f1, holds, signs, words

UNHURRIED = settings(deadline=None)  # other work on the machine must not fail a property

SAYS = [
    ("Annual leave is 25 days [C1].", "25 days"),
    ("Annual leave is 25 days[C1][C2]. Ask HR.", "days ask"),
    ("The notice is THIRTY days", "thirty days"),
    ("It lasts for the whole month", "for a whole month"),  # articles are dropped on both sides
    ("Overtime, holidays and leave", "overtime holidays"),
    ("年假为15天[C1]。", "15天"),
    ("每箱１０台，整箱重量５．６千克。", "5.6千克"),
    ("整箱重量5.6千克", "5.6"),
    ("EUR 7,500 each", "EUR 7500"),
    ("DN15/DN20 and DN25", "DN20"),
    ("They don’t pay", "don't pay"),
    ("Despite Manning's problems", "Manning"),
    ("before Charles Darwin’s theory", "Charles Darwin"),
    ("Charles Darwin wrote it", "Charles Darwin's"),
    ("The e-mail of BW-40", "email of BW40"),
    ("A U.S. citizen", "us citizen"),
    ("up to 5 % of it", "5%"),
    ("涨幅为百分之五", "百分之五"),
    ("A class A meter", "class A meter"),
    ("Plan A", "A"),
    ("From -10 to 50", "−10"),
    ("二十五天", "二十五天"),
    ("第一、二十天", "二十天"),
    ("[C9] it is", "[C9]"),
]
SAYS_NOT = [
    ("Annual leave is 25 days.", "5 days"),
    ("It takes 1.5 days", "15 days"),
    ("It takes 1.5 days", "5 days"),
    ("within 3-5 days", "35 days"),
    ("within 3–5 days", "5 days"),
    ("on 2026-01-05", "01-05"),
    ("costs 7,500", "500"),
    ("costs 12,000", "12"),
    ("5 days of it", "5%"),
    ("A class B meter", "class A meter"),
    ("共十五天", "五天"),
    ("二十五天", "二十天"),
    ("共3万元", "3"),
    ("共3万元", "万元"),
    ("百分之五十", "百分之五"),
    ("From 10 to 50", "-10"),
    ("theatre", "the atre"),
    ("15天", "15 个天"),
    ("It is said [C1].", "[C9]"),
    ("", "a word"),
]


@pytest.mark.parametrize(("text", "part"), SAYS)
def test_says(text: str, part: str) -> None:
    assert holds(text, part)


@pytest.mark.parametrize(("text", "part"), SAYS_NOT)
def test_says_not(text: str, part: str) -> None:
    assert not holds(text, part)


def test_mixed_text_is_words_and_signs() -> None:
    assert words("在 BW-40 上，共3.2亿元，二十五天 [C1]") == (
        "在",
        "bw40",
        "上",
        "共",
        "3.2亿",
        "元",
        "二十五",
        "天",
    )
    assert signs("共3.2亿元，二十五天") == ["共", "3.2", "亿", "元", "二", "十", "五", "天"]


@pytest.mark.parametrize(
    ("text", "wanted", "score"),
    [
        (
            "The annual leave is 25 days [C1].",
            ["25 days"],
            4 / 7,
        ),  # annual leave is 25 days: 2 of 5 and 2 of 2
        ("25 days", ["twenty-five days", "25 days"], 1.0),  # the best of them
        ("年假为15天[C1]。", ["15天"], 2 * 2 / (5 + 2)),  # 年 假 为 15 天
        ("年假十五天", ["十五日"], 2 * 2 / (5 + 3)),
        ("days and days", ["days"], 2 * 1 / (3 + 1)),  # a word counts as often as both have it
        ("nothing of it", ["25 days"], 0.0),
        ("", ["25 days"], 0.0),
    ],
)
def test_f1_worked_out_by_hand(text: str, wanted: list[str], score: float) -> None:
    assert f1(text, wanted) == pytest.approx(score, abs=1e-12)


def test_exact_is_of_the_whole_answer() -> None:
    assert exact("The 25 days [C1].", ["thirty", "25 days"]) == 1
    assert exact("It is 25 days.", ["25 days"]) == 0
    assert exact("１５天。", ["15 天"]) == 1
    assert exact("", ["15 天"]) == 0


TEXTS = st.text(alphabet=st.sampled_from("abc the 15.,-/%年假十五天万[]C1。"), max_size=30)


@UNHURRIED
@given(TEXTS, TEXTS)
def test_f1_is_the_harmonic_mean_of_precision_and_recall(text: str, wanted: str) -> None:
    found, of = Counter(signs(text)), Counter(signs(wanted))
    shared = sum(min(found[sign], of[sign]) for sign in of)
    score = f1(text, [wanted])
    assert 0 <= score <= 1
    assert score == f1(wanted, [text])
    if shared:
        precision, recall = shared / found.total(), shared / of.total()
        assert score == pytest.approx(2 * precision * recall / (precision + recall), abs=1e-12)


@UNHURRIED
@given(TEXTS, TEXTS, TEXTS)
def test_what_is_said_between_two_sentences_is_said(before: str, part: str, after: str) -> None:
    assert holds(f"{before}\n|\n{part}\n|\n{after}", part)
    assert exact(part, [part]) == 1
