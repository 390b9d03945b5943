"""What two finished runs of one set say of the models that wrote the answers.

Only questions count that the baseline's model itself answered: where the evidence did not suffice no model
was asked, and where quoting stood in both runs would say the same of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from ingest.corpus.errors import InvalidInput
from service.evaluation.asking.attempts import Attempt, Run
from service.evaluation.asking.run import RUN
from service.evaluation.releasing.enough import LEAST_QUESTIONS, QUALITY_MARGIN
from service.evaluation.releasing.excerpts import LONG_CONTEXT, SLICES
from service.evaluation.releasing.rows import Figure, Row, Served, judged
from service.evaluation.scoring.gate import faults
from service.evaluation.scoring.sheet import Sheet, read_sheet
from service.evaluation.sets.cases import Case, CaseSet
from service.percentile import percentile_if_enough

LONG_TOKENS = 4_096  # of a prompt, for its question to be one of a long context
ALIKE = ("code", "prompt", "policy", "embedder", "reranker", "judge")  # versions: the model alone may differ
BLOCKING = frozenset(
    {"missing", "leak", "citation_validity"}
)  # of the gate's checks: never a matter of chance


@dataclass(frozen=True, slots=True)
class Finished:
    """A run as `citeward eval run --out FOLDER` left it."""

    run: Run
    scores: Sheet

    @property
    def attempts(self) -> dict[str, Attempt]:
        return {one.case_id: one for one in self.run.attempts}


def read_finished(folder: Path) -> Finished:
    """:raises InvalidInput: if it is no folder of a finished run."""
    path = folder / "run.json"
    try:
        run = RUN.validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"The run in {path} cannot be used.",
            why=f"{type(error).__name__}: {str(error).splitlines()[0]}.",
            next_step="Give a folder that `citeward eval run --out` has written.",
        ) from error
    return Finished(run, read_sheet(folder / "scores.jsonl"))


def require_runs_of(finished: Finished, case_set: CaseSet, revision: str, name: str) -> None:
    """:raises InvalidInput: if it is of another set, or another model wrote its answers."""
    if not finished.run.set_sha256 == finished.scores.set_sha256 == case_set.sha256:
        raise InvalidInput(
            f"The run of {name} is of {finished.run.set}, not of this {case_set.label}.",
            next_step="Give the set that both runs are of.",
        )
    model = finished.run.versions.get("model", "none")
    if not model.endswith(f"@{revision}"):
        raise InvalidInput(
            f"The run said to be of {name} is of another model.",
            why=f"Its answers were written by {model}; the weights of {name} are {revision}.",
            next_step="Serve the model with `citeward engine start`, then `citeward eval run SET --out DIR`.",
        )


def require_alike(before: Finished, after: Finished) -> None:
    """:raises InvalidInput: if more than the model differs, so that nothing could be put down to it."""
    old, new = before.run.versions, after.run.versions
    other = [
        f"{name} {old.get(name)} and {new.get(name)}" for name in ALIKE if old.get(name) != new.get(name)
    ]
    if other:
        raise InvalidInput(
            "The two runs differ in more than the model.",
            why=f"They have {'; '.join(other)}.",
            next_step="Run both with the same version and settings.",
        )


# --- task quality and stability ----------------------------------------------------------------


def quality_rows(before: Finished, after: Finished, case_set: CaseSet) -> tuple[Row, ...]:
    """Share of right answers that the model itself wrote; one that another stood in for is not right."""
    return _rows("task quality", before, after, case_set)


def stability_rows(before: Finished, after: Finished, case_set: CaseSet) -> tuple[Row, ...]:
    """Share of answers that the model wrote to their end: not cut off, not failed, in the form asked for."""
    return _rows("stability", before, after, case_set)


def _rows(figure: Figure, before: Finished, after: Finished, case_set: CaseSet) -> tuple[Row, ...]:
    return tuple(
        _row(figure, part, [(_value(figure, before, one), _value(figure, after, one)) for one in ids])
        for part, ids in _parts(before, case_set)
    )


def _row(figure: Figure, part: str, pairs: Sequence[tuple[float, float]]) -> Row:
    means = [fmean(one) for one in zip(*pairs, strict=True)] if pairs else [None, None]
    losses = [old - new for old, new in pairs]
    return judged(figure, part, losses, LEAST_QUESTIONS, QUALITY_MARGIN, means[0], means[1])


def _value(figure: Figure, finished: Finished, case_id: str) -> float:
    attempt = finished.attempts.get(case_id)
    if attempt is None or not _wrote(attempt):
        return 0.0
    if figure == "stability":
        return float(attempt.finish_reason != "length")
    return finished.scores.scores.get(case_id, {}).get("right") or 0.0


def _parts(before: Finished, case_set: CaseSet) -> Iterator[tuple[str, list[str]]]:
    """Each of SLICES with the questions in it that the baseline's model answered."""
    attempts = before.attempts
    asked = [case for case in case_set.cases if case.id in attempts and _wrote(attempts[case.id])]
    for part in SLICES:
        yield part, [case.id for case in asked if part in _slices(case, attempts[case.id])]


def _slices(case: Case, attempt: Attempt) -> Iterator[str]:
    yield case.language
    yield case.domain
    if attempt.input_tokens >= LONG_TOKENS:
        yield LONG_CONTEXT


def _wrote(attempt: Attempt) -> bool:
    """Whether the language model made what came of the question."""
    return attempt.generator == "vllm" and attempt.output_tokens > 0


# --- the machine -------------------------------------------------------------------------------


def served(before: Finished, after: Finished) -> tuple[Served, ...]:
    """Times and throughput as the two runs saw them, each on its own machine at its own time."""
    return (
        *(
            Served(
                f"{title} p{percent}",
                "ms",
                _percentile(before, phase, percent),
                _percentile(after, phase, percent),
            )
            for title, phase in (("TTFT", "ttft"), ("ITL", "itl_p50"))
            for percent in (50, 95)
        ),
        Served("throughput", "output tokens/s", _throughput(before), _throughput(after)),
    )


def _percentile(finished: Finished, phase: str, percent: int) -> float | None:
    own = [one.timings_ms[phase] for one in finished.run.attempts if _wrote(one) and phase in one.timings_ms]
    return percentile_if_enough(own, percent)


def _throughput(finished: Finished) -> float | None:
    own = [one for one in finished.run.attempts if _wrote(one)]
    seconds = sum(one.timings_ms.get("generate", 0.0) for one in own) / 1000
    return sum(one.output_tokens for one in own) / seconds if seconds else None


# --- what blocks whatever the figures ----------------------------------------------------------


def blocking(before: Finished, after: Finished, case_set: CaseSet) -> tuple[str, ...]:
    """Leaks, invalid citations and questions that were not asked in the candidate's run, in words."""
    found = faults(after.scores, case_set, before.scores)
    return tuple(f"{one.check}: {one.what}" for one in found if one.check in BLOCKING)
