"""A question and its evidence to the messages for a language model, counted exactly as the engine will.

Evidence is shown in blocks that carry a boundary made for this one request, and all that comes from others is
made inert first. Nothing here decides what is shown.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from string import Template
from typing import get_args

from ingest.corpus.errors import InvalidInput
from ingest.corpus.types import StoredChunk
from service.neutral import inert
from service.pack import passage_text
from service.releases.ledger import released_text
from service.seams import ChatTokenizer
from service.types import AnswerLanguage, Evidence, Message, Prompt, Question

PROMPT = "answer.v1"


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """The texts of one released file; what is put into them is named $so."""

    version: str  # name, language, and 12 hex digits over the file
    system: str
    statements: str  # added to the system text for an answer in statements
    text: str  # and for one in running text
    passage: str
    user: str

    def system_text(self, question: Question) -> str:
        form = self.statements if question.output == "statements" else self.text
        return f"{self.system}\n\n{form}"


def load_templates(name: str = PROMPT) -> dict[AnswerLanguage, PromptTemplate]:
    """The released templates of that name, one a language of questions. Errors as of `released_text`."""
    languages: tuple[AnswerLanguage, ...] = get_args(AnswerLanguage)
    return {
        language: parse_template(released_text(f"prompts/{name}.{language}.toml"), f"{name}.{language}")
        for language in languages
    }


def parse_template(text: str, name: str) -> PromptTemplate:
    """The template of a file's text. InvalidInput if it is no TOML or has not exactly the texts needed."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    try:
        parts = {part: str(words).strip() for part, words in tomllib.loads(text).items()}
        return PromptTemplate(version=f"{name}@{digest}", **parts)
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise InvalidInput(f"The prompt template {name} cannot be read.", why=f"{error}.") from error


def build_prompt(
    question: Question,
    evidence: Sequence[Evidence],
    template: PromptTemplate,
    chat: ChatTokenizer,
    boundary: str,
    note: str = "",
) -> Prompt:
    """The messages, with the tokens of the final sequence that the chat template makes of them.

    :param boundary: cannot be guessed, and is used for one request only.
    :param note: stands behind the question; inert already.
    :raises RuntimeError: if some text would reach the model as a control token. It is a fault of ours.
    """
    blocks = [passage_block(one.stored, one.marker, template, chat, boundary) for one in evidence]
    asked = inert(question.text, chat.control_tokens)
    messages = _messages(asked, blocks, question, template, boundary, note)
    ids = chat.ids(messages)
    expected = _controls(chat.ids(_messages("?", [], question, template, boundary)), chat)
    if (found := _controls(ids, chat)) != expected:
        raise RuntimeError(f"The prompt holds control tokens that its template does not: {found - expected}.")
    return Prompt(messages, template.version, len(ids))


def passage_block(
    stored: StoredChunk, marker: str, template: PromptTemplate, chat: ChatTokenizer, boundary: str
) -> str:
    """A passage as the model reads it: its id, its title and section, its table's header, its text."""
    named = (" ".join(part.split()) for part in (stored.title, stored.chunk.section))
    source = " – ".join(part for part in named if part)
    return Template(template.passage).substitute(
        marker=marker,
        boundary=boundary,
        source=inert(source, chat.control_tokens),
        text=inert(passage_text(stored), chat.control_tokens),
    )


def _messages(
    question: str,
    blocks: Sequence[str],
    asked: Question,
    template: PromptTemplate,
    boundary: str,
    note: str = "",
) -> tuple[Message, ...]:
    user = Template(template.user).substitute(
        boundary=boundary, evidence="\n".join(blocks), question=question
    )
    user = f"{user}\n\n{note}" if note else user
    # The boundary is not in the system text, which so is the same for all and stays in the engine's cache.
    return Message("system", template.system_text(asked)), Message("user", user)


def _controls(ids: Sequence[int], chat: ChatTokenizer) -> Counter[int]:
    known = set(chat.control_tokens.values())
    return Counter(one for one in ids if one in known)
