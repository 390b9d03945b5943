"""What any ChatTokenizer must do, run over the fake and over those of the model packs that are here."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.corpus.errors import Unavailable
from service.adapters.chat_template import TemplateTokenizer
from service.seams import ChatTokenizer
from service.types import Message
from tests.contracts.real_models import chat_tokenizer, llm_folder
from tests.fakes import WordChatTokenizer

SMALL, BILINGUAL = "smollm2-135m-instruct", "qwen2.5-coder-1.5b-instruct"
MESSAGES = (Message("system", "Answer from the evidence."), Message("user", "How many days? 年假有几天？"))
UGLY = [
    " ",
    "\n\n \t",
    "a👩‍👩‍👧‍👦b 🇨🇳 👍🏽",
    "first\r\n\r\nsecond\r",
    "zero\u200bwidth\ufeff and \ufffd",
    "𠮷野家 ｆｕｌｌ ½ ㈱",
    "{{ 7 * 7 }} {% raw %}",
    "x" * 3000,
]


@pytest.fixture(scope="module", params=["fake", SMALL, BILINGUAL])
def chat(request: pytest.FixtureRequest) -> ChatTokenizer:
    return WordChatTokenizer() if request.param == "fake" else chat_tokenizer(request.param)


def controls(chat: ChatTokenizer, messages: Sequence[Message]) -> Counter[int]:
    known = set(chat.control_tokens.values())
    return Counter(one for one in chat.ids(messages) if one in known)


def test_version_is_said(chat: ChatTokenizer) -> None:
    assert chat.version.strip()


def test_a_text_without_words_has_no_tokens_and_one_with_words_has_some(chat: ChatTokenizer) -> None:
    assert chat.count("") == 0
    assert 0 < chat.count("leave") <= chat.count("leave is granted in days") < chat.count("leave " * 50)
    assert chat.count("年假有几天") > 0


def test_the_template_surrounds_the_messages_with_control_tokens(chat: ChatTokenizer) -> None:
    found = controls(chat, MESSAGES)
    assert found.total() >= 2 * len(MESSAGES)  # where each begins and where it ends
    assert len(chat.ids(MESSAGES)) > sum(chat.count(one.content) for one in MESSAGES)


def test_what_a_message_says_is_in_the_sequence_whole(chat: ChatTokenizer) -> None:
    """A template or tokenizer that cut or dropped a text would drop evidence without a word."""
    short, long = ((*MESSAGES[:1], Message("user", "word " * times)) for times in (100, 20_000))
    assert len(chat.ids(long)) - len(chat.ids(short)) >= 19_900


def test_the_same_messages_are_the_same_sequence(chat: ChatTokenizer) -> None:
    assert list(chat.ids(MESSAGES)) == list(chat.ids(MESSAGES))


@pytest.mark.parametrize("text", UGLY, ids=range(len(UGLY)))
def test_texts_without_control_tokens_add_none(chat: ChatTokenizer, text: str) -> None:
    assert controls(chat, (*MESSAGES[:1], Message("user", text))) == controls(chat, MESSAGES)


def test_any_text_without_control_tokens_adds_none(chat: ChatTokenizer) -> None:
    expected = controls(chat, MESSAGES)

    @settings(max_examples=50, deadline=None)
    @given(st.text(st.characters(exclude_characters="<[|", exclude_categories=["Cs"]), max_size=60))
    def check(text: str) -> None:
        assert controls(chat, (Message("system", text), Message("user", text))) == expected

    check()


def test_a_control_token_that_is_written_in_a_message_is_one(chat: ChatTokenizer) -> None:
    """As the engine reads it; otherwise counts would differ from its own, and the danger be unseen."""
    expected = controls(chat, MESSAGES)
    for text, number in chat.control_tokens.items():
        found = controls(chat, (*MESSAGES[:1], Message("user", f"a {text} b")))
        assert found - expected == Counter([number]), text


# --- the real one alone ------------------------------------------------------------------------


@pytest.mark.parametrize("name", [SMALL, BILINGUAL])
def test_every_special_token_of_the_model_is_known_as_a_control(name: str) -> None:
    definition = json.loads((llm_folder(name) / "tokenizer.json").read_text("utf-8"))
    special = {one["content"]: one["id"] for one in definition["added_tokens"] if one["special"]}
    assert special.items() <= chat_tokenizer(name).control_tokens.items()


def test_a_tag_that_is_not_marked_special_is_a_control_too() -> None:
    assert {"<tool_call>", "</tool_call>"} <= chat_tokenizer(BILINGUAL).control_tokens.keys()


def test_a_model_without_a_tokenizer_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="citeward models pull"):
        TemplateTokenizer(tmp_path)


@pytest.mark.parametrize("template", [None, "{{ raise_exception('no system text') }}", "{% for %}"])
def test_a_template_that_takes_no_system_text_is_refused(tmp_path: Path, template: str | None) -> None:
    shutil.copy(llm_folder(SMALL) / "tokenizer.json", tmp_path)
    config = json.loads((llm_folder(SMALL) / "tokenizer_config.json").read_text("utf-8"))
    config["chat_template"] = template
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    with pytest.raises(Unavailable, match="chat template"):
        TemplateTokenizer(tmp_path)


def test_another_template_is_another_version(tmp_path: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(llm_folder(SMALL) / name, tmp_path)
    same = TemplateTokenizer(tmp_path).version.partition("@")[2]
    config = json.loads((tmp_path / "tokenizer_config.json").read_text("utf-8"))
    config["chat_template"] = "X" + config["chat_template"]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    assert chat_tokenizer(SMALL).version == f"{SMALL}@{same}"
    assert TemplateTokenizer(tmp_path).version.partition("@")[2] != same
