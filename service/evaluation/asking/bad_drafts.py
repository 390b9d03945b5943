"""A generator that writes what must not be shown: each draft is made from the evidence, and wrong in one way.

With it the gate sees whether the checks still stop what they are there for; a draft of it that is shown is a
fault of theirs, whatever the other figures say.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from ingest.sentences import sentence_spans
from service.checking.numbers import find_facts
from service.evaluation.asking.attempts import Run
from service.parts import Parts
from service.types import DraftStatement, Evidence, Generated, GenerationTask

INVENTED = {
    "en": "The supervisory board met on the third floor to sing old sea shanties.",
    "zh": "监事会在三楼开会，一起唱了几首古老的船歌。",
}


DENIALS = (
    (r"\b(is|are|was|were|must|may|can|will)\b", r"\1 not"),
    ("(应|须|可以|可|为)", r"不\1"),
)


@dataclass(frozen=True, slots=True)
class BadDrafts:
    kind: Literal["quoting"] = "quoting"
    version: str = "bad-drafts-1"

    async def draft(self, task: GenerationTask) -> AsyncGenerator[DraftStatement | Generated]:
        for one in bad_drafts(task):
            yield one
        yield Generated("stop", 0, 0)


def with_bad_drafts(parts: Parts) -> Parts:
    return replace(parts, generator=BadDrafts(), prompting=None)


def bad_drafts(task: GenerationTask) -> Iterator[DraftStatement]:
    """Of the best passage: cited as one that there is not, uncited, with a citation that is none, with
    another number, denied; and something that nobody has written."""
    if not task.evidence:
        return
    best = task.evidence[0]
    said = _longest_sentence(best)
    missing = f"C{len(task.evidence) + 1}"
    yield DraftStatement(said, (missing,))
    yield DraftStatement(said, (best.marker, missing))
    yield DraftStatement(said, ())
    yield DraftStatement(said, (best.marker,), malformed=("[1-40]",))
    yield DraftStatement(INVENTED[task.question.language], (best.marker,))
    for changed in (_with_another_number(said, best), _denied(said)):
        if changed is not None:
            yield DraftStatement(changed, (best.marker,))


def shown_drafts(run: Run) -> tuple[str, ...]:
    """Ids of the cases in which the checks let one through."""
    return tuple(one.case_id for one in run.attempts if any(said.shown for said in one.statements))


def _longest_sentence(evidence: Evidence) -> str:
    text = evidence.stored.chunk.text
    return max((text[start:end] for start, end in sentence_spans(text)), key=len, default=text)


def _with_another_number(said: str, evidence: Evidence) -> str | None:
    """With its first number replaced by one that the passage has not."""
    there = evidence.stored.chunk.text + evidence.stored.chunk.context + evidence.stored.title
    found = next((one for one in find_facts(said) if not one.incidental), None)
    if found is None:
        return None
    digits = re.search(r"[0-9]+", said[found.start : found.end])
    if digits is None:
        return None
    other = next(str(number) for number in range(7_301, 9_000) if str(number) not in there)
    start = found.start + digits.start()
    return said[:start] + other + said[found.start + digits.end() :]


def _denied(said: str) -> str | None:
    """With its first plain verb denied; None if it has none that this knows, or denies already."""
    if re.search(r"\b(?:not|no|never|none|nor|without|unless)\b|n't|[不未非无没勿]", said, re.IGNORECASE):
        return None
    for plain, denied in DENIALS:
        changed, count = re.subn(plain, denied, said, count=1)
        if count:
            return changed
    return None
