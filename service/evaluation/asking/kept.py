"""Attempts kept on disk as they are made: a run that was stopped goes on, and the same asks nothing anew."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from service.evaluation.asking.attempts import Attempt
from service.evaluation.sets.cases import Case, CaseSet
from service.watch import Watch

ATTEMPT = TypeAdapter(Attempt)
QUOTED = "quoting"  # among what an answer was degraded to: no language model made it


@dataclass(frozen=True, slots=True)
class Attempts:
    """One for each case of a set, in their order."""

    made: tuple[Attempt, ...]
    kept: int  # of them: read, as the same was asked before


def attempts_at(
    folder: Path, case_set: CaseSet, deciding: Sequence[str], ask: Callable[[Case], Attempt], watch: Watch
) -> Attempts:
    """Each is read if the same was asked before, else asked and kept.

    Failures are asked again by the next run, and so is what was quoted because the model failed.

    :param deciding: all that decides the answers, besides the set.
    """
    digest = hashlib.sha256("\n".join([case_set.sha256, *deciding]).encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{case_set.name}-{case_set.version}-{digest}.jsonl"
    kept = dict(_read(path))
    before = sum(case.id in kept for case in case_set.cases)
    for done, case in enumerate(case_set.cases, start=1):
        if case.id not in kept:
            kept[case.id] = ask(case)
            if _is_of_the_service(kept[case.id]):
                _keep(path, kept[case.id])
        watch(f"{case_set.label}: questions asked or kept", done, len(case_set.cases))
    return Attempts(tuple(kept[case.id] for case in case_set.cases), before)


def seconds_of(attempts: Sequence[Attempt]) -> float:
    """Of asking, one question after the other, as the answers tell it; of failures nothing is told."""
    return round(sum(one.timings_ms.get("e2e", 0.0) for one in attempts) / 1000, 3)


def _is_of_the_service(attempt: Attempt) -> bool:
    """And not of one that was out of order just then: such a question is asked again by the next run."""
    return attempt.ended != "error" and QUOTED not in attempt.degraded


def _keep(path: Path, attempt: Attempt) -> None:
    """On a line of its own, also behind one that a crash cut off."""
    with path.open("a", encoding="utf-8") as file:
        file.write("\n" + ATTEMPT.dump_json(attempt).decode() + "\n")


def _read(path: Path) -> Iterator[tuple[str, Attempt]]:
    if not path.is_file():
        return
    for line in path.read_text("utf-8").split("\n"):
        try:
            attempt = ATTEMPT.validate_json(line)
        except ValueError:  # empty, or cut off by a crash: then it is asked again
            continue
        yield attempt.case_id, attempt
