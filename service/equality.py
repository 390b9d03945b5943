"""Whether the same question can be expected to get the same text again: the one place that says so."""

from __future__ import annotations

from dataclasses import dataclass

from service.history import AnswerRecord

QUOTED = (
    "Nothing was sampled: asked again by a reader with the same access, the same versions, index generation "
    "included, give the same statements and citations."
)
SAMPLED = (
    "A language model wrote it: neither a seed nor greedy sampling nor equal versions promise equal text, as "
    "kernels, batches and hardware change the last digits of what is compared. Form, access and checks are "
    "the same."
)
STOOD_IN = (
    "Quoting stood in for the language model: asked again the model may answer. Equal text is not promised."
)


@dataclass(frozen=True, slots=True)
class Equality:
    expected: bool
    why: str


def equality(record: AnswerRecord, degraded: tuple[str, ...]) -> Equality:
    """Of one answer, as it was made."""
    if record.sampling:
        return Equality(False, SAMPLED)
    if "quoting" in degraded:
        return Equality(False, STOOD_IN)
    return Equality(True, QUOTED)
