"""What of a conversation a language model is told: what still matters of it, each piece with its answer's id.

No model makes it, so the same turns leave the same memory. It is no evidence: nothing of it can be cited, and
it permits nothing. What its reader may read no more is in no turn any longer, see `conversations.turns_of`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import Template
from typing import get_args

from ingest.sentences import sentence_spans
from service.follow_up import points_back
from service.neutral import inert
from service.releases.ledger import released_words
from service.seams import ChatTokenizer
from service.types import AnswerLanguage, Remembered, RememberedKind, Turn

MEMORY = "memory.v1"
LONGEST = 400  # characters of one piece
MOST_NAMED = 12  # names and ids, the newest
MOST_CITED = 6  # titles
ASKS = re.compile(
    r"[?？]\s*$|[吗呢]\W*$|什么|多少|几[个天次年月点]|哪|谁|怎|为何|是否|能否|可否|多[久长大]"
    r"|^(?:please )?(?:what|who|whom|whose|when|where|why|which|how|is|are|was|were|do|does|did|can|could|may"
    r"|must|should|will|would|has|have|had|tell|show|list|explain|give|find|name|compare|and|or|so|then)\b"
    r"|^(?:请问|告诉|列出|解释|给出|找出|比较|那|还有)",
    re.IGNORECASE,
)
LIMITS = re.compile(
    r"\b(?:only|except|without|excluding|assum\w+|suppos\w+|as of|no (?:more|later|earlier) than"
    r"|in (?:19|20)\d\d)\b"
    r"|只[看要算限用]|仅限|除了|除外|不包括|不算|假设|假定|截至|(?:19|20)\d\d年",
    re.IGNORECASE,
)
NAMES = re.compile(
    r"《[^《》]{1,60}》|“[^“”]{2,40}”|\"[^\"]{2,40}\""
    r"|\b[A-Z]{2,}[A-Z\d]*(?:-[A-Z\d]+)+\b|\b[A-Z]+\d[A-Z\d-]*\b"
    r"|(?<![.!?]\s)(?<!^)\b[A-Z][\w-]+(?: [A-Z][\w-]+)+",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class MemoryTemplate:
    """The texts of one released file, one for each kind; what is put into them is named $so."""

    version: str  # name, language, and 12 hex digits over the file
    kinds: Mapping[RememberedKind, str]
    user: str

    def note(self, remembered: Sequence[Remembered], control_tokens: Mapping[str, int]) -> str:
        """What is said after the question; what people and documents said is made inert. "" of nothing."""
        if not remembered:
            return ""
        lines = [
            Template(self.kinds[one.kind]).substitute(text=inert(one.text, control_tokens))
            for one in remembered
        ]
        return Template(self.user).substitute(remembered="\n".join(lines))


def load_memories(name: str = MEMORY) -> dict[AnswerLanguage, MemoryTemplate]:
    """One a language of questions. Errors as of `released_text`."""
    languages: tuple[AnswerLanguage, ...] = get_args(AnswerLanguage)
    return {language: _parse(f"{name}.{language}") for language in languages}


def _parse(name: str) -> MemoryTemplate:
    version, parts = released_words("memories", name)
    kinds: tuple[RememberedKind, ...] = get_args(RememberedKind)
    return MemoryTemplate(version, {kind: parts[kind] for kind in kinds}, parts["user"])


def remember(turns: Sequence[Turn]) -> tuple[Remembered, ...]:
    """All that could be told, what matters most first; the same words once, but for what is open."""
    kept: list[Remembered] = []
    told: set[str] = set()
    first = (*_goal(turns), *_constraints(turns), *_open(turns), *_said(turns[-1:]), *_cited(turns))
    for piece in (*first, *_named(turns), *_said(turns[:-1])):
        if piece.text not in told or piece.kind == "open":
            kept.append(piece)
            told.add(piece.text)
    return tuple(kept)


def recall(
    turns: Sequence[Turn], template: MemoryTemplate, room: int, chat: ChatTokenizer
) -> list[Remembered]:
    """As much of it as the room holds, in tokens of the note that shows it; what does not fit is left out."""
    kept: list[Remembered] = []
    for piece in remember(turns):
        if chat.count(template.note([*kept, piece], chat.control_tokens)) <= room:
            kept.append(piece)
    return kept


def _goal(turns: Sequence[Turn]) -> Iterator[Remembered]:
    """The last question that stands alone: what the follow-ups since then are about."""
    alone = [turn for turn in turns if not points_back(turn.question) and _asks(turn.question)]
    for turn in alone[-1:] or turns[:1]:
        yield _piece("goal", turn.question, turn)


def _constraints(turns: Sequence[Turn]) -> Iterator[Remembered]:
    """What the user told rather than asked, and questions that set a limit; newest first."""
    for turn in reversed(turns):
        for sentence in _sentences(turn.question):
            if not _asks(sentence) or LIMITS.search(sentence):
                yield _piece("constraint", sentence, turn)


def _open(turns: Sequence[Turn]) -> Iterator[Remembered]:
    """What was refused and is not answered since; newest first."""
    settled: set[str] = set()
    for turn in reversed(turns):
        if turn.refused and _asks(turn.question) and turn.understood_as not in settled:
            yield _piece("open", turn.understood_as, turn)
        settled.add(turn.understood_as)


def _said(turns: Sequence[Turn]) -> Iterator[Remembered]:
    for turn in reversed(turns):
        yield _piece("asked", turn.question, turn)
        if turn.said:
            yield _piece("said", turn.said, turn)


def _named(turns: Sequence[Turn]) -> Iterator[Remembered]:
    names: dict[str, Turn] = {}
    for turn in reversed(turns):
        for name in NAMES.findall(f"{turn.question} {turn.said}"):
            names.setdefault(name, turn)
    for name, turn in list(names.items())[:MOST_NAMED]:
        yield _piece("named", name, turn)


def _cited(turns: Sequence[Turn]) -> Iterator[Remembered]:
    titles: dict[str, Turn] = {}
    for turn in reversed(turns):
        for title in turn.cited:
            titles.setdefault(title, turn)
    for title, turn in list(titles.items())[:MOST_CITED]:
        yield _piece("cited", title, turn)


def _asks(text: str) -> bool:
    return any(ASKS.search(sentence) for sentence in _sentences(text))


def _sentences(text: str) -> Iterator[str]:
    for start, end in sentence_spans(text):
        yield text[start:end].strip()


def _piece(kind: RememberedKind, text: str, turn: Turn) -> Remembered:
    return Remembered(kind, " ".join(text.split())[:LONGEST], turn.answer_id)
