"""What can be asked, and in which language it is answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.corpus.database import Database
from ingest.corpus.errors import InvalidInput, OverBudget
from service.parts import Parts
from service.question import language_of, require_searchable
from tests.world import make_parts


@pytest.fixture
def parts(database: Database, tmp_path: Path) -> Parts:
    return make_parts(database, tmp_path)


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
@pytest.mark.parametrize("text", ["a\nb\tc", "?", "年假\u3000几天", "👩‍👩‍👧", "a" * 4000])
def test_what_says_something_can_be_searched_for(parts: Parts, text: str) -> None:
    require_searchable(text, "question", parts)


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "blank"),
        (" \n\u3000\u200b", "blank"),
        ("a\x01b", r"U\+0001"),
        ("a\udcff", r"U\+DCFF"),
        ("a" * 4001, "4,001 characters.*4,000"),
    ],
)
def test_what_cannot_is_refused_by_its_field(parts: Parts, text: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why) as refused:
        require_searchable(text, "query", parts)
    assert refused.value.field == "query"


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_more_tokens_than_the_embedder_takes_are_refused_with_the_numbers(parts: Parts) -> None:
    most = parts.embedder.max_tokens
    with pytest.raises(OverBudget, match=f"takes {most}"):
        require_searchable("word " * (most + 1), "question", parts)


@pytest.mark.parametrize(
    ("question", "language"), [("How?", "en"), ("PTO 怎么申请", "zh"), ("𠮷野家", "zh"), ("42", "en")]
)
def test_any_chinese_character_makes_a_question_chinese(question: str, language: str) -> None:
    assert language_of(question) == language
