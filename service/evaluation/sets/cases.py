"""What a fixed set asks: documents with their readers, people, questions with what must come of them.

Offsets and quotes are of the text that the service itself reads from a file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal, get_args

from ingest.corpus.errors import InvalidInput
from ingest.corpus.types import AccessList, Role
from service.types import AnswerLanguage, Outcome

Kind = Literal[
    "single_fact",
    "list",
    "number",
    "date",
    "multi_document",
    "conflict",
    "versioned",
    "unanswerable",
    "near_miss",
    "forbidden",
    "injection",
    "follow_up",
    "typo",
    "vague",
]
Grade = Literal["low", "medium", "high"]
Difficulty = Literal["easy", "medium", "hard"]
KINDS: tuple[str, ...] = get_args(Kind)
SHORT, MEDIUM = 45, 100  # signs of a question; a Chinese one says as much in a third of an English one's
CHINESE_SIGNS_SAY = 3


@dataclass(frozen=True, slots=True)
class CaseGroup:
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class CaseUser:
    id: str
    name: str
    role: Role
    group_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CaseDocument:
    """One file of the corpus; its bytes go through the readers like an admin's upload."""

    name: str  # its path below the corpus, parts joined by "/"; the service keeps it as the source's name
    title: str
    language: str
    domain: str
    access: AccessList | None  # None: as the collection's
    original: bytes


@dataclass(frozen=True, slots=True)
class Quote:
    """A stretch that carries a part of the answer; an empty text stands for anywhere in the document."""

    document: str
    text: str


@dataclass(frozen=True, slots=True)
class Case:
    """A question and what must come of it."""

    id: str
    question: str
    language: AnswerLanguage
    domain: str
    kind: Kind
    risk: Grade
    difficulty: Difficulty
    asker: str
    outcome: Outcome
    evidence: tuple[tuple[Quote, ...], ...]  # every group is needed; of a group any one is enough
    answers: tuple[str, ...]  # alternatives: one of them is enough
    must_contain: tuple[str, ...] = ()  # all of them
    must_not_contain: tuple[str, ...] = ()
    follows: str | None = None  # the question before it in the same conversation
    standalone: str | None = None  # the same, said so that nothing need come before it

    @property
    def length(self) -> str:
        signs = len(self.question) * (CHINESE_SIGNS_SAY if self.language == "zh" else 1)
        return "short" if signs <= SHORT else "medium" if signs <= MEDIUM else "long"

    def direction(self, documents: Mapping[str, CaseDocument]) -> str:
        """Language of the question, and of the documents that answer it where that is another one."""
        of_evidence = {documents[quote.document].language for group in self.evidence for quote in group}
        if not of_evidence or self.language in of_evidence:
            return self.language
        return f"{self.language}-{'+'.join(sorted(of_evidence))}"

    def slices(self, documents: Mapping[str, CaseDocument]) -> dict[str, str]:
        """Name of a way to slice -> the slice that this case is in."""
        return {
            "language": self.direction(documents),
            "domain": self.domain,
            "kind": self.kind,
            "length": self.length,
            "risk": self.risk,
            "difficulty": self.difficulty,
        }


@dataclass(frozen=True, slots=True)
class CaseSet:
    """A released set; `sha256` is over all of it, so that figures say what they are of."""

    name: str
    version: str
    sha256: str
    what: str
    licence: str
    access: AccessList  # of the one collection that its documents go into
    groups: tuple[CaseGroup, ...]
    users: tuple[CaseUser, ...]
    documents: tuple[CaseDocument, ...]
    cases: tuple[Case, ...]
    whole: tuple[Case, ...] = ()  # of a part: all questions, as what a question follows is asked all the same

    @property
    def label(self) -> str:
        return f"{self.name} {self.version}"

    def before(self, case: Case) -> tuple[Case, ...]:
        """The questions of the same conversation before this one, oldest first."""
        by_id, earlier = {one.id: one for one in self.whole or self.cases}, list[Case]()
        while case.follows in by_id:
            case = by_id[case.follows]
            earlier.insert(0, case)
        return tuple(earlier)

    @property
    def ways(self) -> dict[str, dict[str, str]]:
        """Case id -> way to slice -> the slice that it is in."""
        documents = {one.name: one for one in self.documents}
        return {case.id: case.slices(documents) for case in self.cases}


def part_of(whole: CaseSet, every: int) -> CaseSet:
    """One of so many questions, over all documents: asked as in the whole, so that answers serve both.

    Which ones, the hash of the id decides: in a set whose languages alternate every fourth would be of one.

    :raises InvalidInput: if that is less than 1.
    """
    if every < 1:
        raise InvalidInput(f"every must be at least 1, was: {every}.", field="every")
    by_hash = sorted(whole.cases, key=lambda case: hashlib.sha256(case.id.encode()).digest())
    taken = {case.id for case in by_hash[: ceil(len(by_hash) / every)]}
    cases = tuple(case for case in whole.cases if case.id in taken)
    return replace(whole, cases=cases, whole=whole.whole or whole.cases)
