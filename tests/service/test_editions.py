"""When documents are in force, and which edition a question is about."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from ingest.corpus.types import Chunk, StoredChunk
from service.editions import Period, asked_periods, find_superseded, name_of, period_of
from service.pack import pack
from service.types import Candidate, RankedChunk

TODAY = date(2026, 11, 30)
OPENINGS = {
    "Valid from 1 January 2025 to 31 December 2025. Replaced by version 2 on 1 January 2026.": (
        "2025-01-01/2025-12-31"
    ),
    "In force from 1 March 2026. It takes the place of the 2025 edition.": "2026-03-01/..",
    "Effective date: 2026-03-16. Owner: Legal.": "2026-03-16/..",
    "Effective March 5, 2024, all staff follow these rules.": "2024-03-05/..",
    "This circular is valid until 30 June 2024.": "../2024-06-30",
    "It came into force on 3 May 2023 and was withdrawn on 1 July 2024.": "2023-05-03/2024-06-30",
    "文件编号：BW-RL-2026-05。自2026年4月1日起执行，取代2025年版（BW-RL-2025-02）。": "2026-04-01/..",
    "执行期限：2025年1月1日至2026年3月31日。自2026年4月1日起，由2026年版取代。": "2025-01-01/2026-03-31",
    "生效日期：2026年1月1日。": "2026-01-01/..",
    "版本：第３版。２０２６年２月１日起执行。": "2026-02-01/..",
    "本版适用于2025年1月1日至2025年12月31日申请的返修。": "2025-01-01/2025-12-31",
    "有效期至2024年6月30日。": "../2024-06-30",
    "2019年3月1日起施行。2024年1月1日起废止。": "2019-03-01/2023-12-31",
    # Nothing of it says when the document holds.
    "The head office was opened in April 2019 on the east side of the harbour.": None,
    "本公司成立于2009年3月，总部位于宁波。": None,
    "": None,
    "Valid from 31 April 2025.": None,
}


@pytest.mark.parametrize("opening", OPENINGS)
def test_a_document_says_when_it_is_in_force(opening: str) -> None:
    period = period_of(opening)
    assert (None if period is None else str(period)) == OPENINGS[opening]


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("Travel policy 2025, version 1", "Travel policy 2026, version 2", True),
        ("Gifts and hospitality, 2025 edition", "Gifts and hospitality (2026 edition)", True),
        ("宁波公司员工福利规定（2025年版）", "宁波公司员工福利规定（2026年版）", True),
        ("员工手册（第一版）", "员工手册（第二版）", True),
        ("Leave in Leeuwarden", "Leave in Porto", False),
        ("差旅管理规定", "采购管理规定", False),
        ("Travel policy 2025", "Travel report 2025", False),
    ],
)
def test_editions_of_one_document_have_one_name(one: str, other: str, alike: bool) -> None:
    assert (name_of(one) == name_of(other)) is alike
    assert name_of(one)


@pytest.mark.parametrize("title", ["2025", "第一版", "Version 2.1", "（2026年版）"])
def test_a_title_of_nothing_but_numbers_names_no_document(title: str) -> None:
    assert name_of(title) == ""


@pytest.mark.parametrize(
    ("question", "periods"),
    [
        ("What was the limit in 2025?", ["2025-01-01/2025-12-31"]),
        ("In January 2026 a customer sent me a hamper.", ["2026-01-01/2026-01-31"]),
        ("2026年2月看的门诊，按什么比例报？", ["2026-02-01/2026-02-28"]),
        ("去年的标准是多少？", ["2025-01-01/2025-12-31"]),
        ("How many days did we have under last year's rules?", ["2025-01-01/2025-12-31"]),
        ("We ordered on 12 December 2025.", ["2025-12-12/2025-12-12"]),
        ("What is the limit?", []),
        ("How many of the 2000 meters were returned?", []),
        ("A deposit of EUR 2000 is due?", []),
    ],
)
def test_a_question_names_a_time(question: str, periods: list[str]) -> None:
    assert [str(one) for one in asked_periods(question, TODAY)] == periods


def passage(
    number: int, document: str, title: str, opening: str, collection: str = "handbook"
) -> RankedChunk:
    chunk = Chunk(0, f"Passage {number} says something.", 0, 28)
    stored = StoredChunk(number, "t", collection, document, 1, title, f"{document}.md", "en", chunk, opening)
    return RankedChunk(stored, Candidate(number, 1 / number, 0.3, 1.0, number, number), 1 / number)


OLD = passage(1, "old", "Travel policy 2025, version 1", "Valid from 1 January 2025 to 31 December 2025.")
NEW = passage(2, "new", "Travel policy 2026, version 2", "Valid from 1 January 2026.")
OTHER = passage(3, "other", "Leave in Porto", "Valid from 1 January 2020 to 31 December 2020.")


@pytest.mark.parametrize(
    ("question", "left_out"),
    [
        ("What is the hotel limit?", {"old"}),
        ("What was the hotel limit in 2025?", {"new"}),
        ("The rules have changed. What was the ceiling in November 2025?", {"new"}),
        ("What is the hotel limit of the 2026 policy?", {"old"}),
        # Who compares, or asks for what was before without saying when, is shown both.
        ("What is different from the policy of 2025?", set()),
        ("How did the hotel limit change?", set()),
        ("What was the hotel limit before?", set()),
        ("以前的住宿标准是多少？", set()),
        # Nothing was in force then.
        ("What was the hotel limit in 2019?", set()),
    ],
)
def test_the_edition_in_force_at_the_time_asked_about_is_evidence(question: str, left_out: set[str]) -> None:
    assert find_superseded(question, [OLD, NEW, OTHER], TODAY) == left_out


def test_an_old_document_without_another_edition_stays() -> None:
    assert find_superseded("What is the hotel limit?", [OLD, OTHER], TODAY) == frozenset()


def test_an_edition_that_does_not_say_when_it_holds_decides_nothing() -> None:
    silent = replace(NEW, stored=replace(NEW.stored, opening="The rules of travel."))
    assert find_superseded("What is the hotel limit?", [OLD, silent], TODAY) == frozenset()


def test_editions_are_of_one_collection() -> None:
    elsewhere = passage(2, "new", "Travel policy 2026, version 2", "Valid from 1 January 2026.", "abroad")
    assert find_superseded("What is the hotel limit?", [OLD, elsewhere], TODAY) == frozenset()


def test_a_superseded_passage_is_left_out_with_its_reason() -> None:
    packed = pack([OLD, NEW], 100, lambda _: 10, 8, frozenset({"old"}))
    assert [one.stored.document_id for one in packed.evidence] == ["new"]
    assert [one.reason for one in packed.decisions] == ["superseded", "taken"]


def test_a_period_meets_another_that_shares_a_day() -> None:
    open_ended = Period(date(2026, 3, 1), None)
    assert open_ended.meets(Period(date(2026, 3, 1), date(2026, 3, 1)))
    assert not open_ended.meets(Period(date(2025, 1, 1), date(2026, 2, 28)))
    assert Period(None, None).meets(open_ended)
