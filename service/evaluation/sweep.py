"""One set asked again and again with more room for evidence: what it brings, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ingest.corpus.errors import InvalidInput
from ingest.corpus.seams import Embedder
from service.evaluation.asking.attempts import Run
from service.evaluation.asking.run import run_set
from service.evaluation.report.content import AtBudget, Report, Sweep
from service.evaluation.scoring.figures import ALL, figures
from service.evaluation.scoring.sheet import Sheet, score_run
from service.evaluation.sets.cases import CaseSet
from service.evaluation.told import report_of
from service.percentile import percentile_if_enough
from service.seams import Judge
from service.settings import ServiceSettings
from service.watch import Watch

QUALITY: Literal["right"] = "right"


@dataclass(frozen=True, slots=True)
class AtRoom:
    """A run with so much room for evidence, and its scores."""

    run: Run
    scores: Sheet


Swept = Mapping[int, AtRoom]  # tokens of evidence at most -> what came of it, the least first


def sweep_set(
    case_set: CaseSet,
    settings: ServiceSettings,
    embedder: Embedder,
    judge: Judge,
    rooms: Sequence[int],
    watch: Watch,
) -> Swept:
    """The set asked once for each of `rooms`, in this process, with nothing else changed.

    :param rooms: tokens, each above 0; `max_evidence` holds as well.
    :raises InvalidInput: for none, or one that is 0 or less, or more than the window.
    """
    least_first = sorted(set(rooms))
    if not least_first or least_first[0] < 1:
        raise InvalidInput(
            "Each budget of evidence must be at least 1 token.",
            why=f"Given were: {', '.join(map(str, rooms)) or 'none'}.",
            next_step="Give some, as 256,512,1024,2048.",
            field="evidence_tokens",
        )
    at = {
        room: replace(settings, max_evidence_tokens=room) for room in least_first
    }  # all checked, then asked
    return {
        room: _asked(case_set, with_room, embedder, judge, _named(f"{room} tokens", watch))
        for room, with_room in at.items()
    }


def _asked(
    case_set: CaseSet, settings: ServiceSettings, embedder: Embedder, judge: Judge, watch: Watch
) -> AtRoom:
    run = run_set(case_set, settings, embedder, watch)
    return AtRoom(run, score_run(run, case_set, judge))


def _named(name: str, watch: Watch) -> Watch:
    """What is done at each budget is a piece of work of its own."""
    return lambda doing, done, of: watch(f"{name}: {doing}", done, of)


def curve(swept: Swept, case_set: CaseSet) -> Sweep:
    """Quality with its interval over questions, and the median TTFT where an engine told one."""
    return Sweep(QUALITY, tuple(_point(room, of, case_set) for room, of in swept.items()))


def _point(room: int, of: AtRoom, case_set: CaseSet) -> AtBudget:
    (quality,) = (
        one
        for one in figures(case_set.cases, of.scores.scores, case_set.ways)
        if (one.name, one.by) == (QUALITY, ALL)
    )
    first = [one.timings_ms["ttft"] for one in of.run.attempts if "ttft" in one.timings_ms]
    return AtBudget(room, quality.value, quality.low, quality.high, percentile_if_enough(first, 50))


def sweep_report(swept: Swept, case_set: CaseSet, commands: tuple[str, ...]) -> Report:
    """The report of the run with the most room, with the curve over all."""
    most, of = list(swept.items())[-1]
    report = report_of(of.run, of.scores, case_set, commands=commands)
    versions = {**report.versions, "evidence": f"at most {most:,} tokens, but for the curve"}
    return replace(report, versions=versions, sweep=curve(swept, case_set))
