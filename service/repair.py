"""One more try where statements of a language model did not pass: they are named, and checked as all are.

What was shown stays shown. A second draft that fails changes nothing, and there is no third.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from string import Template
from typing import get_args

from service.neutral import inert
from service.releases.ledger import released_words
from service.types import AnswerLanguage, DraftStatement, Generated, Level, Statement

REPAIR = "repair.v1"
# What another wording may mend; not "permitted": who may not read a passage is not told of it otherwise.
MENDABLE: frozenset[Level] = frozenset({"grammar", "exists", "facts", "support"})
MOST_NAMED = 8  # statements; a draft of which more failed is beyond repair by words


@dataclass(frozen=True, slots=True)
class RepairTemplate:
    """The texts of one released file; what is put into them is named $so."""

    version: str  # name, language, and 12 hex digits over the file
    statement: str
    user: str

    def note(self, failed: Sequence[Statement], control_tokens: Mapping[str, int]) -> str:
        """What is said after the question: what the model wrote and documents hold is made inert."""
        named = [
            Template(self.statement).substitute(
                text=inert(one.text, control_tokens), reason=inert(one.verdict.reason, control_tokens)
            )
            for one in failed[:MOST_NAMED]
        ]
        return Template(self.user).substitute(failed="\n".join(named))


def load_repairs(name: str = REPAIR) -> dict[AnswerLanguage, RepairTemplate]:
    """One a language of questions. Errors as of `released_text`."""
    languages: tuple[AnswerLanguage, ...] = get_args(AnswerLanguage)
    return {language: _parse(f"{name}.{language}") for language in languages}


def _parse(name: str) -> RepairTemplate:
    version, parts = released_words("repairs", name)
    return RepairTemplate(version=version, **parts)


def to_mend(statements: Sequence[Statement], end: Generated) -> list[Statement]:
    """Those of a first draft that a second one may mend; none if the draft was cut off or not the model's."""
    if end.finish_reason != "stop" or "quoting" in end.degraded:
        return []
    failed = [one for one in statements if one.verdict.status != "supported"]
    return [one for one in failed if one.verdict.level in MENDABLE]


def is_new(drafted: DraftStatement, statements: Sequence[Statement]) -> bool:
    """Whether the first draft did not say the same of the same passages."""
    return all((one.text, one.citations) != (drafted.text, drafted.citations) for one in statements)


def both(first: Generated, second: Generated) -> Generated:
    """The end of both drafts: tokens of both, times of the first; if one was cut off, so is the whole."""
    return replace(
        first,
        finish_reason=first.finish_reason if second.finish_reason == "stop" else second.finish_reason,
        input_tokens=first.input_tokens + second.input_tokens,
        output_tokens=first.output_tokens + second.output_tokens,
        faults=tuple(dict.fromkeys((*first.faults, *second.faults))),
        degraded=tuple(dict.fromkeys((*first.degraded, *second.degraded))),
    )
