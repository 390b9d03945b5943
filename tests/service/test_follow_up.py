import pytest

from service.follow_up import is_unclear, points_back, understood
from service.types import Question, Turn


def turn(question: str, said: str = "") -> Turn:
    return Turn("ans_1", question, question, said, ())


@pytest.mark.parametrize(
    "question",
    [
        "And as a parcel?",
        "What about children?",
        "How much does it cost?",
        "Is that also true for interns?",
        "Who pays for them?",
        "Why?",
        "for contractors?",
        "那D线呢？",
        "它要多少钱？",
        "要是走铁路呢？",
        "病假呢？只看2025年的规定。",
        "那几天的试验改到哪里做？",
        "多少钱？",
        "我同事才32，他的呢？",
    ],
)
def test_a_question_that_points_back_is_written_out(question: str) -> None:
    before = turn("How is a pallet sent to Helsinki?")
    asked = understood(Question(question, "en", turns=(before,)))
    assert points_back(question)
    assert asked.text == f"How is a pallet sent to Helsinki? {question}"
    assert asked.as_asked == question


@pytest.mark.parametrize(
    "question",
    [
        "How many days of parental leave does a father get?",
        "Which invoices are approved by the finance director?",
        "What is the freight for one parcel of up to 30 kg to Helsinki?",
        "员工每年享有多少天带薪年假？",
        "公司体检的标准是多少钱一人？",
        "出差住宿费的报销上限是什么？",
        "年假有几天？",
    ],
)
def test_a_question_that_can_stand_alone_stays_as_it_is(question: str) -> None:
    asked = understood(
        Question(question, "en", turns=(turn("Where is the canteen?", "On floor 2. Ask there."),))
    )
    assert not points_back(question)
    assert (asked.text, asked.as_asked) == (question, None)
    assert asked.about == ("Where is the canteen?", "On floor 2.")


def test_a_first_question_is_nothing_but_itself() -> None:
    question = Question("Why?", "en")
    assert understood(question) is question


def test_the_nearest_turns_count_and_long_ones_are_cut() -> None:
    turns = (turn("first"), turn("second " * 100), turn("third", "Said. And more."))
    asked = understood(Question("Why?", "en", turns=turns))
    assert asked.text == "third Why?"
    assert [one[:6] for one in asked.about] == ["third", "second", "Said."]
    assert max(len(one) for one in asked.about) == 200


def test_a_follow_up_to_a_follow_up_stands_behind_the_question_that_was_asked() -> None:
    """Not behind all that was asked before: it would grow with every turn."""
    turns = (turn("How long by sea from Ningbo to Rotterdam?"), turn("And by rail?"))
    asked = understood(Question("And by air?", "en", turns=turns))
    assert asked.text == "How long by sea from Ningbo to Rotterdam? And by air?"


def test_a_long_question_says_enough_by_itself() -> None:
    question = "Is it so? " + "We have three offices and two warehouses. " * 6
    assert understood(Question(question, "en", turns=(turn("Why?"),))).text == question


@pytest.mark.parametrize("question", ["What does it cost?", "And when?", "它要多少钱？", "那个怎么办？"])
def test_a_first_question_about_something_that_nobody_named_is_unclear(question: str) -> None:
    assert is_unclear(Question(question, "en"))
    assert not is_unclear(Question(question, "en", turns=(turn("Where is the canteen?"),)))


@pytest.mark.parametrize(
    "question", ["Canteen hours?", "年假有几天？", "Is the parking permit sold at the desk that opens at 9?"]
)
def test_a_question_that_names_something_is_clear(question: str) -> None:
    assert not is_unclear(Question(question, "en"))
