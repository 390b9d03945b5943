"""How the answers of each release ended, counted over what was asked: a canary held against the rest.

Different users asked different questions: the counts show what is badly wrong, and not which of two releases
is better. That is told by `citeward eval compare`, question by question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median

from sqlalchemy import select
from sqlalchemy.orm import Session

from service.history import ANSWER, RECORD, AnswerRecord, AnswerRow

MOST_READ = 10_000  # newest answers
Recorded = tuple[AnswerRecord, tuple[str, ...]]  # with what its answer had to do without


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Counts of answers, but for statements and times."""

    release: str  # "none": there was no language model
    language: str
    asked: int
    answered: int
    refused: int
    quoted_instead: int  # where the language model failed
    failed: int  # or left by the reader
    statements: int  # drafted
    dropped: int  # of them, by a check
    median_ms: float | None  # from question to answer; None: none came to its end


def read_records(session: Session, tenant_id: str, since: str) -> tuple[Recorded, ...]:
    """Those of a tenant from a time on, the newest `MOST_READ`."""
    rows = session.execute(
        select(AnswerRow.record, AnswerRow.answer)
        .where(AnswerRow.tenant_id == tenant_id, AnswerRow.created_at >= since)
        .order_by(AnswerRow.created_at.desc())
        .limit(MOST_READ)
    )
    return tuple(
        (RECORD.validate_json(row.record), ANSWER.validate_json(row.answer).degraded if row.answer else ())
        for row in rows
    )


def outcomes(records: Iterable[Recorded]) -> Iterator[Outcomes]:
    """One for each release and language, in their order."""
    ordered = sorted(records, key=lambda one: _slice(one[0]))
    for (release, language), of_slice in groupby(ordered, key=lambda one: _slice(one[0])):
        found = list(of_slice)
        yield _outcomes(release, language, [one for one, _ in found], [one for _, one in found])


def _slice(record: AnswerRecord) -> tuple[str, str]:
    return record.versions.get("release", "none"), record.language


def _outcomes(
    release: str, language: str, records: Sequence[AnswerRecord], degraded: Sequence[tuple[str, ...]]
) -> Outcomes:
    ends = [one.finish_reason for one in records]
    statements = [statement for one in records for statement in one.statements]
    times = [one.timings_ms["e2e"] for one in records if one.finish_reason in ("stop", "length", "refused")]
    return Outcomes(
        release=release,
        language=language,
        asked=len(records),
        answered=ends.count("stop") + ends.count("length"),
        refused=ends.count("refused"),
        quoted_instead=sum("quoting" in one for one in degraded),
        failed=ends.count("error") + ends.count("cancelled"),
        statements=len(statements),
        dropped=sum(one.verdict.status != "supported" for one in statements),
        median_ms=round(median(times), 1) if times else None,
    )
