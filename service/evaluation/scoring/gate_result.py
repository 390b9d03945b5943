"""What a gate run found, as a file: the ground on which a release may be put in force."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from ingest.corpus.errors import InvalidInput
from service.evaluation.asking.attempts import Attempt, Run


@dataclass(frozen=True, slots=True)
class GateResult:
    set: str  # name and version
    set_sha256: str
    baseline_sha256: str  # of the file that it was held against
    versions: dict[str, str]  # of what answered
    questions: int
    written: int  # of them answered or refused by what was asked, without quoting in its place
    faults: tuple[str, ...]  # none: it may ship

    @property
    def sha256(self) -> str:
        return hashlib.sha256(RESULT.dump_json(self)).hexdigest()


RESULT = TypeAdapter(GateResult)


def gate_result(run: Run, baseline: Path, faults: Sequence[str]) -> GateResult:
    return GateResult(
        set=run.set,
        set_sha256=run.set_sha256,
        baseline_sha256=hashlib.sha256(baseline.read_bytes()).hexdigest(),
        versions=run.versions,
        questions=len(run.attempts),
        written=sum(map(_is_written, run.attempts)),
        faults=tuple(faults),
    )


def _is_written(attempt: Attempt) -> bool:
    return attempt.ended in ("answered", "refused") and "quoting" not in attempt.degraded


def write_gate_result(result: GateResult, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(RESULT.dump_json(result, indent=2) + b"\n")


def read_gate_result(path: Path) -> GateResult:
    """:raises InvalidInput: if there is none, or it cannot be used."""
    try:
        return RESULT.validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"The gate result {path} cannot be used.",
            why=f"{type(error).__name__}: {str(error).splitlines()[0]}.",
            next_step="Give the file that `citeward eval gate … --out FILE` has written.",
            field="gate",
        ) from error
