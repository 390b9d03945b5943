import pytest

from service.sufficiency import find_insufficiency
from service.types import Candidate, Evidence, Fused, Packed, Question, RankedChunk, RefusalCode
from tests.service.passages import ranked


def found(meaning: float, text: str, title: str = "") -> RefusalCode | None:
    """What is said of the question below with this one passage."""
    return asked("How long is the warranty of pumps?", meaning, text, title)


def asked(question: str, meaning: float, text: str, title: str = "") -> RefusalCode | None:
    candidate = Candidate(1, 1.0, meaning, None, None, 1)
    chunk = RankedChunk(ranked(1, text, title=title).stored, candidate, 1.0)
    packed = Packed((Evidence("C1", chunk, 5),), (), 5)
    return find_insufficiency(Question(question, "en"), Fused((candidate,), 0.5, ""), packed)


def test_nothing_found_is_no_evidence() -> None:
    nothing = Packed((), (), 0)
    assert find_insufficiency(Question("Why?", "en"), Fused((), 0.0, ""), nothing) == "no_evidence"


def test_nothing_that_fits_is_no_evidence() -> None:
    candidate = Candidate(1, 1.0, 0.9, None, None, 1)
    assert (
        find_insufficiency(Question("Why?", "en"), Fused((candidate,), 0.0, ""), Packed((), (), 0))
        == "no_evidence"
    )


def test_passage_in_the_words_of_the_question_is_enough_whatever_the_embedder_thinks() -> None:
    assert found(-0.1, "The warranty of all pumps is 24 months long.") is None


def test_title_counts_as_part_of_the_passage() -> None:
    assert found(-0.1, "Two years.", title="Warranty of pumps") is None


def test_near_in_meaning_with_some_words_is_enough() -> None:
    assert found(0.2, "Our pumps are guaranteed for two years.") is None


def test_far_in_words_and_meaning_is_insufficient() -> None:
    assert found(0.02, "The canteen opens at noon.") == "insufficient_evidence"


def test_passage_in_another_language_is_judged_by_meaning() -> None:
    assert found(0.2, "水泵保修期为两年。") is None
    assert found(0.05, "食堂中午开门。") == "insufficient_evidence"


@pytest.mark.parametrize(
    ("question", "text", "code"),
    [
        ("What was the canteen revenue in 2025?", "The canteen revenue is good.", "insufficient_evidence"),
        ("What was the canteen revenue in 2024年?", "2024-12-31: canteen revenue 5.", None),
        ("What is the price of PRD-2041?", "The price of PRD-2042 is 5 EUR.", "insufficient_evidence"),
        ("What is the price of prd-2041?", "The price of PRD-2041 is 5 EUR.", None),
        ("INC-317的原因是什么？", "INC-317的原因是证书过期。", None),
    ],
)
def test_date_or_identifier_of_the_question_must_be_stated(
    question: str, text: str, code: RefusalCode | None
) -> None:
    assert asked(question, 0.3, text) == code
