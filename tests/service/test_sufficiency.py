from __future__ import annotations

import numpy as np
import pytest

from service.answerable import Answerability
from service.checking.fitted import Fitted
from service.strength import Weighed
from service.sufficiency import SufficiencyJudge
from service.types import Candidate, Evidence, Fused, Packed, Question, RankedChunk, RefusalCode
from tests.service.passages import ranked

NOTHING = Packed((), (), 0)


class Weigher:
    """Finds one sentence of this nearness in whatever evidence, in the question's script or in another."""

    def __init__(self, nearness: float, own: bool = True) -> None:
        self.weighed = Weighed(
            (), (), np.array([nearness]), np.array([0.0]), np.array([own]), np.array([not own])
        )

    def weigh(self, _question: str, _evidence: tuple[Evidence, ...]) -> Weighed:
        return self.weighed


def at_least(nearness: float) -> Fitted:
    """A probability of one half at this nearness, which is enough."""
    return Fitted("test", "nothing", (), 0.5, -100 * nearness, {"nearness": 100.0})


WAYS = {"own-en": 0.2, "own-zh": 0.3, "abroad-en": 0.1, "abroad-zh": 0.05}
ANSWERABILITY = Answerability("test", {way: at_least(nearness) for way, nearness in WAYS.items()})


def asked(question: str, text: str, nearness: float = 0.9, *, own: bool = True) -> RefusalCode | None:
    candidate = Candidate(1, 1.0, nearness, None, None, 1)
    packed = Packed((Evidence("C1", RankedChunk(ranked(1, text).stored, candidate, 1.0), 5),), (), 5)
    judge = SufficiencyJudge(Weigher(nearness, own), ANSWERABILITY)  # type: ignore[arg-type]
    return judge.decide(Question(question, "en"), Fused((candidate,), 0.5, ""), packed).code


def test_nothing_found_is_no_evidence_and_nothing_is_weighed() -> None:
    judge = SufficiencyJudge(None, ANSWERABILITY)  # type: ignore[arg-type]
    decided = judge.decide(Question("Why?", "en"), Fused((), 0.0, ""), NOTHING)
    assert (decided.code, decided.answerable) == ("no_evidence", None)


def test_nothing_that_fits_is_no_evidence() -> None:
    judge = SufficiencyJudge(None, ANSWERABILITY)  # type: ignore[arg-type]
    found = Fused((Candidate(1, 1.0, 0.9, None, None, 1),), 0.0, "")
    assert judge.decide(Question("Why?", "en"), found, NOTHING).code == "no_evidence"


@pytest.mark.parametrize(
    ("question", "own", "least"),
    [
        ("How long is the warranty of pumps?", True, 0.2),
        ("How long is the warranty of pumps?", False, 0.1),
        ("水泵保修期多长？", True, 0.3),
        ("水泵保修期多长？", False, 0.05),
    ],
)
def test_each_script_and_way_has_its_threshold(question: str, own: bool, least: float) -> None:
    assert asked(question, "Some text.", least + 0.001, own=own) is None
    assert asked(question, "Some text.", least - 0.001, own=own) == "insufficient_evidence"


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
    assert asked(question, text) == code
