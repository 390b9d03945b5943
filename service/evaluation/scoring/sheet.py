"""The scores of a run, question by question: what runs are compared by, and what a baseline is.

A file has one line for each question, so that a change of it can be read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ingest.corpus.errors import InvalidInput
from service.evaluation.asking.attempts import Run
from service.evaluation.scoring.cited import Supports
from service.evaluation.scoring.score import Scores, score
from service.evaluation.sets.cases import CaseSet
from service.seams import Judge


@dataclass(frozen=True, slots=True)
class Sheet:
    set: str  # name and version
    set_sha256: str
    generator: str
    versions: dict[str, str]
    scores: dict[str, Scores]  # by id of the case


def score_run(run: Run, case_set: CaseSet, judge: Judge) -> Sheet:
    """A case without an attempt counts as one whose answer never came.

    :param judge: tells whether citations carry what they are given for.
    :raises Unavailable: if pytrec_eval is not installed.
    """
    attempts, supports = run.by_case(case.id for case in case_set.cases), supported_by(judge)
    scores = {
        case.id: score(case, attempts[case.id], case_set, run.texts, supports) for case in case_set.cases
    }
    return Sheet(run.set, run.set_sha256, run.generator, run.versions, scores)


def supported_by(judge: Judge) -> Supports:
    def supports(premise: str, claim: str) -> bool:
        found = judge.support(premise, claim).score
        return found is not None and found >= judge.threshold

    return supports


def write_sheet(sheet: Sheet, path: Path) -> None:
    head = {name: getattr(sheet, name) for name in ("set", "set_sha256", "generator", "versions")}
    lines = [json.dumps(head, ensure_ascii=False), *(_line(*one) for one in sheet.scores.items())]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", "utf-8")


def _line(case_id: str, scores: Mapping[str, float | None]) -> str:
    kept = {name: None if value is None else round(value, 6) for name, value in scores.items()}
    return json.dumps({case_id: kept}, ensure_ascii=False)


def of_these(sheet: Sheet, case_set: CaseSet) -> Sheet:
    """Without the scores of questions that are not among these.

    :raises InvalidInput: if they are of another set.
    """
    if sheet.set_sha256 != case_set.sha256:
        raise InvalidInput(
            f"The scores are of {sheet.set}, not of this {case_set.label}.",
            why="Sets are told apart by the hash of all that is in them.",
            next_step="Give scores of the same set, or leave them out.",
        )
    asked = {case.id for case in case_set.cases}
    return replace(sheet, scores={name: of for name, of in sheet.scores.items() if name in asked})


def read_sheet(path: Path) -> Sheet:
    """:raises InvalidInput: if there is none, or it cannot be used."""
    try:
        head, *rows = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
        scores = {case_id: of for row in rows for case_id, of in row.items()}
        if not all(value is None or 0 <= value <= 1 for of in scores.values() for value in of.values()):
            raise ValueError("a score is null or a number from 0 to 1")
        return Sheet(**head, scores=scores)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise InvalidInput(
            f"The scores in {path} cannot be used.",
            why=f"{type(error).__name__}: {error}.",
            next_step="Give the scores.jsonl that `citeward eval run` has written.",
        ) from error
