"""What came of asking the questions of a set once: answers with all that was seen of their making.

An attempt can be written as JSON and read again, so that a run goes on where it stopped and is scored anew
without asking anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from service.types import FinishReason, Level, RefusalCode, Status

Ended = Literal["answered", "refused", "error", "missing"]  # missing: never asked, or nothing came back


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of a document of the set, by the document's name in it."""

    document: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class CandidateSeen:
    """One chunk that a search found, with what each stage made of it; ranks count from 1."""

    passage: Passage
    fused_rank: int
    words_rank: int | None  # None: not found by words
    meaning_rank: int | None
    given: bool  # read from the database; False: gone, replaced, or not to be read by the asker
    reranked_rank: int | None  # None: not given, or not among those looked up
    marker: str | None  # C1 … if it is evidence
    left_out: str | None  # why it is not, a code of packing


@dataclass(frozen=True, slots=True)
class StatementSeen:
    """A drafted statement; `shown` only if its checks passed and the answer was not refused."""

    text: str
    citations: tuple[str, ...]
    status: Status
    level: Level
    reason: str
    score: float | None
    shown: bool


@dataclass(frozen=True, slots=True)
class CitationSeen:
    """A citation as the reader got it. `quote` is what the answer says stands there."""

    marker: str
    document: str
    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class Attempt:
    case_id: str
    ended: Ended
    answer: str = ""  # with its markers
    language: str = ""
    refusal: RefusalCode | None = None
    error: str | None = None  # a code of ours, or the kind of a crash
    finish_reason: FinishReason | None = None
    generator: str = ""
    degraded: tuple[str, ...] = ()
    candidates: tuple[CandidateSeen, ...] = ()  # in the fused order
    by_itself: tuple[Passage, ...] = ()  # of a follow-up: what is found for it in its standalone form
    statements: tuple[StatementSeen, ...] = ()
    citations: tuple[CitationSeen, ...] = ()
    # Seconds of an answer are in these, by phase in milliseconds, as the answer tells them.
    timings_ms: dict[str, float] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    evidence_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """All attempts of one set with one service, in the order of the set's cases."""

    set: str  # name and version
    set_sha256: str
    versions: dict[str, str]  # as answers record them, without what each question decides
    generator: str
    attempts: tuple[Attempt, ...]
    texts: dict[str, str] = field(default_factory=dict)  # of each document, as it was read; "": it was not
    # (start, end) of each, by document; {}: not known, as over HTTP
    chunks: dict[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    seconds: float = 0.0  # of asking, one question after the other
    # Of the attempts: made by an earlier run of the same. No part of what a run has seen.
    kept: int = field(default=0, compare=False)

    @property
    def asked(self) -> int:
        """How many of the attempts this run made itself."""
        return len(self.attempts) - self.kept

    def by_case(self, case_ids: Iterable[str]) -> dict[str, Attempt]:
        """One of each; of a question that was not asked, one that is missing."""
        made = {one.case_id: one for one in self.attempts}
        return {case_id: made.get(case_id) or Attempt(case_id, "missing") for case_id in case_ids}
