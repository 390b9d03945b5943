from decimal import Decimal
from itertools import pairwise
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.checking.numbers import find_facts, is_stated
from service.checking.numerals import chinese_value, english_value
from service.checking.values import Date, Identifier, Number, Ordinal, Time

DAY = Decimal(86_400)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("３，０００元", Number(Decimal(3000), "CNY")),
        ("3,000 元", Number(Decimal(3000), "CNY")),
        ("三千元", Number(Decimal(3000), "CNY")),
        ("¥3000", Number(Decimal(3000), "CNY")),
        ("RMB3000", Number(Decimal(3000), "CNY")),
        ("$3,000", Number(Decimal(3000), "USD")),
        ("USD 3000", Number(Decimal(3000), "USD")),
        ("3000 美元", Number(Decimal(3000), "USD")),
        ("40 EUR", Number(Decimal(40), "EUR")),
        ("€40", Number(Decimal(40), "EUR")),
        ("1.5万元", Number(Decimal(15000), "CNY")),
        ("15,000元", Number(Decimal(15000), "CNY")),
        ("2.5 million", Number(Decimal(2_500_000))),
        ("250万", Number(Decimal(2_500_000))),
        ("三百万", Number(Decimal(3_000_000))),
        ("3亿", Number(Decimal(300_000_000))),
        ("1.2万亿", Number(Decimal(1_200_000_000_000))),
        ("5千米", Number(Decimal(5000), "m")),
        ("$1.5 million", Number(Decimal(1_500_000), "USD")),
        ("12%", Number(Decimal(12), "%")),
        ("12 percent", Number(Decimal(12), "%")),
        ("百分之十二", Number(Decimal(12), "%")),
        ("百分之12.5", Number(Decimal("12.5"), "%")),
        ("3个百分点", Number(Decimal(3), "percentage point")),
        ("30 days", Number(30 * DAY, "second")),
        ("30-day", Number(30 * DAY, "second")),
        ("30天", Number(30 * DAY, "second")),
        ("30日", Number(30 * DAY, "second")),
        ("三十天", Number(30 * DAY, "second")),
        ("thirty days", Number(30 * DAY, "second")),
        ("24 小时", Number(DAY, "second")),
        ("1 day", Number(DAY, "second")),
        ("two weeks", Number(14 * DAY, "second")),
        ("5 working days", Number(Decimal(5), "workday")),
        ("5 business days", Number(Decimal(5), "workday")),
        ("5个工作日", Number(Decimal(5), "workday")),
        ("一个工作日", Number(Decimal(1), "workday")),
        ("12个月", Number(Decimal(12), "month")),
        ("1 year", Number(Decimal(12), "month")),
        ("1.5 km", Number(Decimal(1500), "m")),
        ("1500 米", Number(Decimal(1500), "m")),
        ("1.5公里", Number(Decimal(1500), "m")),
        ("2 kg", Number(Decimal(2000), "g")),
        ("2公斤", Number(Decimal(2000), "g")),
        ("50 m²", Number(Decimal(50), "m²")),
        ("50 m2", Number(Decimal(50), "m²")),
        ("50平方米", Number(Decimal(50), "m²")),
        ("-5 ℃", Number(Decimal(-5), "°C")),
        ("第三条", Ordinal("3", "article")),
        ("3条", Number(Decimal(3), "count")),
        ("twenty-five people", Number(Decimal(25), "person")),
        ("二十五人", Number(Decimal(25), "person")),
        ("two hundred and five", Number(Decimal(205))),
        ("一万二千", Number(Decimal(12_000))),
        ("2024年3月5日", Date(2024, 3, 5)),
        ("２０２４年３月５日", Date(2024, 3, 5)),
        ("二〇二四年三月五日", Date(2024, 3, 5)),
        ("2024-03-05", Date(2024, 3, 5)),
        ("2024/3/5", Date(2024, 3, 5)),
        ("5 March 2024", Date(2024, 3, 5)),
        ("5th of March, 2024", Date(2024, 3, 5)),
        ("March 5, 2024", Date(2024, 3, 5)),
        ("Mar. 5th 2024", Date(2024, 3, 5)),
        ("March 2024", Date(2024, 3)),
        ("2024年3月", Date(2024, 3)),
        ("2024-03", Date(2024, 3)),
        ("2024年", Date(2024)),
        ("31 December", Date(None, 12, 31)),
        ("12月31日", Date(None, 12, 31)),
        ("十二月三十一日", Date(None, 12, 31)),
        ("14:30", Time(870)),
        ("2:30 pm", Time(870)),
        ("2.30", Number(Decimal("2.3"))),
        ("下午两点半", Time(870)),
        ("14时30分", Time(870)),
        ("下午2:30", Time(870)),
        ("12 am", Time(0)),
        ("PRD-2041", Identifier("prd-2041")),
        ("v2.1", Identifier("v2.1")),
        ("FY2023", Identifier("fy2023")),
        ("3.5.2", Identifier("3.5.2")),
        ("010-1234-5678", Identifier("010-1234-5678")),
    ],
)
def test_equal_things_are_equal_however_written(text: str, value: object) -> None:
    (fact,) = find_facts(text)
    assert fact.value == value


@pytest.mark.parametrize(
    "text",
    ["统一安排，一些同事", "哪一年", "万一下雨", "三明治", "千万不要", "十分重要", "no numbers", "m/s"],
)
def test_words_that_hold_a_numeral_state_no_number(text: str) -> None:
    assert [fact for fact in find_facts(text) if not fact.incidental] == []


@pytest.mark.parametrize("text", ["one of the forms", "the first form", "一个表格", "第一", "1. Fill in"])
def test_incidental_numbers_are_marked_so(text: str) -> None:
    assert [fact.incidental for fact in find_facts(text)] == [True]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("5-10 days", [5 * DAY, 10 * DAY]),
        ("5 to 10 days", [5 * DAY, 10 * DAY]),
        ("5至10天", [5 * DAY, 10 * DAY]),
        ("5～10天", [5 * DAY, 10 * DAY]),
        ("5至10万元", [Decimal(50_000), Decimal(100_000)]),
        ("10%–15%", [Decimal(10), Decimal(15)]),
    ],
)
def test_both_ends_of_a_range_have_its_unit(text: str, values: list[Decimal]) -> None:
    facts = [fact.value for fact in find_facts(text)]
    assert all(isinstance(fact, Number) and fact.unit for fact in facts)
    assert [fact.value for fact in facts if isinstance(fact, Number)] == values


@pytest.mark.parametrize(
    ("claimed", "there", "stated"),
    [
        ("30 days", "三十天之内", True),
        ("300 天", "30 天", False),
        ("30 days", "30 hours", False),
        ("5 days", "5 working days", False),
        ("$30", "¥30", False),
        ("30", "30 km", True),
        ("30 km", "| 30 |", True),
        ("5 March 2024", "2024-03-05", True),
        ("March 2024", "5 March 2024", True),
        ("5 March 2024", "March 2024", False),
        ("5 March 2024", "6 March 2024", False),
        ("2024", "2024年3月", True),
        ("2024年", "in 2024", True),
        ("PRD-2041", "prd-2041", True),
        ("PRD-2041", "PRD-2042", False),
        ("12%", "12 percentage points", False),
        ("1500 m", "1.5公里", True),
    ],
)
def test_fact_is_stated_only_with_a_compatible_unit(claimed: str, there: str, stated: bool) -> None:
    (fact,) = find_facts(claimed)
    assert is_stated(fact, find_facts(there)) is stated


@pytest.mark.parametrize(
    ("numeral", "value"),
    [
        ("十", 10),
        ("二十一", 21),
        ("一百零五", 105),
        ("两千", 2000),
        ("一万", 10_000),
        ("十二万", 120_000),
        ("三亿五千万", 350_000_000),
        ("一千万", 10_000_000),
        ("九九", 99),
    ],
)
def test_chinese_numerals(numeral: str, value: int) -> None:
    assert chinese_value(numeral) == value


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("twenty", 20),
        ("twenty-five", 25),
        ("one hundred", 100),
        ("two hundred and five", 205),
        ("three thousand", 3000),
        ("two million", 2_000_000),
        ("third", 3),
    ],
)
def test_english_number_words(words: str, value: int) -> None:
    assert english_value(words) == value


@given(
    st.text(
        alphabet=st.sampled_from("0123456789,.-:/ 年月日点半第一二十百千万亿元天%$€mkgand to"), max_size=50
    )
)
def test_facts_are_slices_in_order(text: str) -> None:
    facts = find_facts(text)
    assert all(text[fact.start : fact.end] == fact.written for fact in facts)
    assert all(one.end <= other.start for one, other in pairwise(facts))
    assert all(is_stated(fact, facts) for fact in facts)


@pytest.mark.slow  # a ratio of times, which a busy machine can spoil
@pytest.mark.parametrize(
    "piece",
    [
        "1",
        "一",
        "1,",
        "a1",
        "三十",
        "twenty ",
        "-1",
        "1:1",
        "第",
        "a-",
        "1-1-",
        "$",
        "march ",
        "1 000 ",
        "三分之",
        "半",
    ],
)
def test_time_is_linear_in_the_text(piece: str) -> None:
    def seconds(repeats: int) -> float:
        started = process_time()
        find_facts(piece * repeats)
        return process_time() - started

    small = min(seconds(1_000) for _ in range(2))
    assert min(seconds(8_000) for _ in range(2)) < 30 * small + 0.2
