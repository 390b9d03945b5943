from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from ingest.corpus.errors import InvalidInput, OverBudget
from service.capacity.budget import TokenBudget

WORKED = TokenBudget(
    context_window=32768, reserved_output=2048, system=800, current_input=500, history=6000, tool_schema=1200
)


def test_worked_value_leaves_21964_tokens_for_evidence() -> None:
    assert WORKED.evidence == 21_964


def test_margin_is_256_unless_said_otherwise() -> None:
    assert WORKED.safety_margin == 256
    assert replace(WORKED, safety_margin=0).evidence == 21_964 + 256


@pytest.mark.parametrize(
    "part",
    ["reserved_output", "system", "current_input", "history", "tool_schema", "tool_results",
     "template_overhead", "safety_margin"],
)  # fmt: skip
def test_every_part_takes_its_tokens_from_the_evidence(part: str) -> None:
    assert replace(WORKED, **{part: getattr(WORKED, part) + 7}).evidence == WORKED.evidence - 7


@pytest.mark.parametrize("part", list(TokenBudget.__slots__))
def test_negative_count_is_an_error_that_names_field_and_value(part: str) -> None:
    with pytest.raises(InvalidInput, match=rf"{part} must not be negative, was: -1") as caught:
        replace(WORKED, **{part: -1})
    assert caught.value.field == part


@pytest.mark.parametrize("value", [True, 3.0, "5", None])
def test_only_whole_numbers_are_counts(value: Any) -> None:
    with pytest.raises(InvalidInput, match="system must be a whole number"):
        replace(WORKED, system=value)


def test_exactly_nothing_left_is_legal() -> None:
    assert replace(WORKED, current_input=500 + WORKED.evidence).evidence == 0


def test_more_than_the_window_says_by_how_many_tokens() -> None:
    with pytest.raises(OverBudget, match="exceeds the context by 3 tokens") as caught:
        replace(WORKED, current_input=500 + WORKED.evidence + 3)
    assert isinstance(caught.value, ValueError)
    assert caught.value.code == "over_budget"


def test_budget_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        WORKED.system = 1  # type: ignore[misc]
