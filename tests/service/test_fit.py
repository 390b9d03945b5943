"""What is counted is the whole prompt, by the target's tokenizer; no passage that does not fit is in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.corpus.database import Database
from ingest.corpus.errors import OverBudget
from service.fit import budget_of, pack_evidence, prompt_of, require_fitting
from service.pack import passage_text
from service.parts import Parts, Prompting
from service.seams import ChatTokenizer
from service.types import Message, Packed, Question, RankedChunk
from tests.contracts.real_models import chat_tokenizer
from tests.fakes import WordChatTokenizer, make_prompting
from tests.service.passages import ranked
from tests.world import make_parts

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
BOUNDARY = "a1b2c3d4e5f60718"
ASKED = Question("How many days of leave?", "en")
OUTPUT = 64
WORDS = "Leave is granted in whole days, 年假为10个工作日. "
SMALL, BILINGUAL = "smollm2-135m-instruct", "qwen2.5-coder-1.5b-instruct"


@pytest.fixture(params=["fake", SMALL, BILINGUAL])
def chat(request: pytest.FixtureRequest) -> ChatTokenizer:
    return WordChatTokenizer() if request.param == "fake" else chat_tokenizer(request.param)


@pytest.fixture
def parts(database: Database, tmp_path: Path) -> Parts:
    return make_parts(database, tmp_path)


def with_model(parts: Parts, chat: ChatTokenizer, room: int) -> Parts:
    """With a window that holds a prompt of exactly `room` tokens."""
    window = room + OUTPUT + parts.settings.safety_margin
    changed = replace(parts.settings, context_window=window, reserved_output=OUTPUT)
    return replace(parts, settings=changed, prompting=make_prompting(chat, OUTPUT))


def prompting_of(parts: Parts) -> Prompting:
    assert parts.prompting is not None
    return parts.prompting


def tokens_of(parts: Parts, packed: Packed) -> int:
    return prompt_of(ASKED, packed.evidence, BOUNDARY, prompting_of(parts)).tokens


def passages(*lengths: int) -> tuple[RankedChunk, ...]:
    return tuple(ranked(n, f"{n}. {WORDS * length}", 1 / n) for n, length in enumerate(lengths, 1))


def packed_of(question: Question, given: Sequence[RankedChunk], boundary: str, parts: Parts) -> Packed:
    packed, prompt = pack_evidence(question, given, boundary, parts)
    assert prompt == (parts.prompting and prompt_of(question, packed.evidence, boundary, parts.prompting))
    return packed


def reasons(packed: Packed) -> list[str]:
    return [one.reason for one in packed.decisions]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_parts_of_the_budget_are_those_of_a_prompt_without_evidence(
    parts: Parts, chat: ChatTokenizer, language: str
) -> None:
    question = Question("年假有几天？" if language == "zh" else ASKED.text, language)  # type: ignore[arg-type]
    parts = with_model(parts, chat, 4000)
    prompting = prompting_of(parts)
    budget = budget_of(question, BOUNDARY, prompting, parts.settings)
    whole = prompt_of(question, (), BOUNDARY, prompting).tokens
    assert budget.system + budget.current_input + budget.template_overhead == whole
    assert budget.system == chat.count(prompting.templates[question.language].system_text(question))
    assert budget.current_input == chat.count(question.text)
    assert budget.template_overhead > 0
    assert (budget.reserved_output, budget.safety_margin) == (OUTPUT, 256)
    assert budget.prompt == 4000
    assert budget.evidence == 4000 - whole


def test_a_passage_that_fits_to_the_token_is_taken_and_with_one_token_less_it_is_not(
    parts: Parts, chat: ChatTokenizer
) -> None:
    roomy = with_model(parts, chat, 4000)
    exactly = tokens_of(roomy, packed_of(ASKED, passages(3, 3), BOUNDARY, roomy))
    # What passages cost apart is at least what they cost together, so some more room may be needed.
    enough = next(room for room in range(exactly, exactly + 20) if taken(parts, chat, room) == 2)
    assert taken(parts, chat, enough - 1) == 1
    assert taken(parts, chat, exactly - 1) == 1


def taken(parts: Parts, chat: ChatTokenizer, room: int) -> int:
    fitting = with_model(parts, chat, room)
    packed = packed_of(ASKED, passages(3, 3), BOUNDARY, fitting)
    assert tokens_of(fitting, packed) <= room
    return len(packed.evidence)


def test_whatever_the_window_the_whole_prompt_keeps_to_it(parts: Parts, chat: ChatTokenizer) -> None:
    least = prompt_of(ASKED, (), BOUNDARY, make_prompting(chat)).tokens

    @settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.integers(0, 1200), st.lists(st.integers(1, 20), max_size=10))
    def check(more: int, lengths: list[int]) -> None:
        fitting = with_model(parts, chat, least + more)
        packed = packed_of(ASKED, passages(*lengths), BOUNDARY, fitting)
        assert tokens_of(fitting, packed) <= least + more
        assert len(packed.decisions) == len(lengths)
        assert sum(one.taken for one in packed.decisions) == len(packed.evidence)
        assert packed.tokens == sum(one.tokens for one in packed.evidence)

    check()


def test_a_whole_of_more_tokens_than_its_parts_loses_its_last_passages(parts: Parts) -> None:
    class Joining(WordChatTokenizer):
        """Each passage takes 100 tokens more within a prompt than alone."""

        def ids(self, messages: Sequence[Message]) -> Sequence[int]:
            blocks = sum(one.content.count("<evidence ") for one in messages)
            return [*super().ids(messages), *[10**6] * 100 * blocks]

    plain = with_model(parts, WordChatTokenizer(), 4000)
    room = tokens_of(plain, packed_of(ASKED, passages(1, 1, 1), BOUNDARY, plain)) + 30
    fitting = with_model(parts, Joining(), room)
    packed = packed_of(ASKED, passages(1, 1, 1), BOUNDARY, fitting)
    assert reasons(packed) == ["taken", "over_budget", "over_budget"]
    assert [one.marker for one in packed.evidence] == ["C1"]
    assert packed.tokens == packed.evidence[0].tokens
    assert tokens_of(fitting, packed) <= room


def test_a_passage_is_counted_with_all_that_stands_around_it(parts: Parts, chat: ChatTokenizer) -> None:
    (one,) = packed_of(ASKED, passages(2), BOUNDARY, with_model(parts, chat, 4000)).evidence
    assert one.tokens > chat.count(passage_text(one.stored)) + chat.count(BOUNDARY)


def test_a_question_beyond_the_window_is_refused_with_the_numbers(parts: Parts, chat: ChatTokenizer) -> None:
    prompting = make_prompting(chat)
    least = prompt_of(ASKED, (), BOUNDARY, prompting).tokens
    with pytest.raises(OverBudget, match="exceeds the context by 5 tokens") as caught:
        packed_of(ASKED, passages(1), BOUNDARY, with_model(parts, chat, least - 5))
    assert f"{least + OUTPUT + 256} are needed before any evidence" in caught.value.why
    assert f"holds {least - 5 + OUTPUT + 256}" in caught.value.why


def test_a_question_that_leaves_nothing_for_evidence_is_legal(parts: Parts, chat: ChatTokenizer) -> None:
    least = prompt_of(ASKED, (), BOUNDARY, make_prompting(chat)).tokens
    packed = packed_of(ASKED, passages(1), BOUNDARY, with_model(parts, chat, least))
    assert reasons(packed) == ["over_budget"]


def test_a_question_is_asked_for_its_length_before_there_is_a_boundary(parts: Parts) -> None:
    long = replace(ASKED, text="word " * 500)
    with pytest.raises(OverBudget, match=r"exceeds the context by \d+ tokens"):
        require_fitting(long, with_model(parts, WordChatTokenizer(), 800))
    require_fitting(ASKED, with_model(parts, WordChatTokenizer(), 800))
    require_fitting(long, parts)  # quoting has no window that a question could fill


def test_without_a_language_model_the_embedder_counts_the_passage_alone(parts: Parts) -> None:
    packed = packed_of(ASKED, passages(2), BOUNDARY, parts)
    assert packed.tokens == parts.embedder.tokenizer.count(passage_text(packed.evidence[0].stored))


def test_most_evidence_is_that_of_the_settings_or_the_question(parts: Parts) -> None:
    fitting = with_model(parts, WordChatTokenizer(), 4000)
    assert len(packed_of(ASKED, passages(*[1] * 10), BOUNDARY, fitting).evidence) == 8
    few = replace(ASKED, max_citations=2)
    assert reasons(packed_of(few, passages(1, 1, 1), BOUNDARY, fitting)) == [
        "taken",
        "taken",
        "over_limit",
    ]


@pytest.mark.parametrize("room", [0, 4000])
def test_evidence_has_no_more_tokens_than_are_set(parts: Parts, room: int) -> None:
    asking = with_model(parts, WordChatTokenizer(), room) if room else parts
    whole = packed_of(ASKED, passages(3, 3, 3), BOUNDARY, asking)
    first = whole.evidence[0].tokens

    def within(most: int) -> Packed:
        settings = replace(asking.settings, max_evidence_tokens=most)
        return packed_of(ASKED, passages(3, 3, 3), BOUNDARY, replace(asking, settings=settings))

    assert reasons(within(first)) == ["taken", "over_budget", "over_budget"]
    assert reasons(within(first - 1)) == ["over_budget"] * 3
    assert within(asking.settings.context_window) == whole == within(0)
