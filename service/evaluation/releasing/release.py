"""The whole comparison of a candidate with its baseline, on one page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from service.engine.weights import revision, weight_bytes
from service.evaluation.releasing.enough import require_documents, require_questions
from service.evaluation.releasing.excerpts import excerpts_of
from service.evaluation.releasing.perplexity import LanguageModel, likelihoods, perplexity_rows
from service.evaluation.releasing.rows import Row, Served
from service.evaluation.releasing.runs import (
    blocking,
    quality_rows,
    read_finished,
    require_alike,
    require_runs_of,
    served,
    stability_rows,
)
from service.evaluation.releasing.verdict import Verdict, verdict
from service.evaluation.sets.cases import CaseSet
from service.watch import Watch

MEBIBYTE = 2**20
NOT_SERVED = tuple(
    Served(*one) for one in (("TTFT p50", "ms"), ("ITL p50", "ms"), ("throughput", "output tokens/s"))
)
POWER = Served("power", "W")  # nothing here can measure it


@dataclass(frozen=True, slots=True)
class Folders:
    """A model, and a finished run of the set with it."""

    model: Path
    run: Path | None  # None: there is none

    @property
    def label(self) -> str:
        return f"{self.model.name}@{revision(self.model)}"


@dataclass(frozen=True, slots=True)
class Release:
    set: str
    base: str
    candidate: str
    rows: tuple[Row, ...]
    served: tuple[Served, ...]
    verdict: Verdict


def compare_models(
    base: Folders,
    candidate: Folders,
    case_set: CaseSet,
    load: Callable[[Path], LanguageModel] | None,
    watch: Watch,
) -> Release:
    """:param load: a model's weights, which are let go again before the next one's; None: no perplexity.

    :raises InvalidInput: if the set cannot tell, or a run is not what it is said to be.
    :raises Unavailable: if weights cannot be loaded.
    """
    from_runs, of_machine, faults = _of_runs(base, candidate, case_set)
    rows = (*_perplexity(base, candidate, case_set, load, watch), *from_runs) if load else from_runs
    memory = Served(
        "memory of the weights",
        "MiB",
        weight_bytes(base.model) / MEBIBYTE,
        weight_bytes(candidate.model) / MEBIBYTE,
    )
    told = (*of_machine, memory, POWER)
    label = f"{case_set.label}@{case_set.sha256[:12]}"
    return Release(label, base.label, candidate.label, rows, told, verdict(rows, told, faults))


def _of_runs(
    base: Folders, candidate: Folders, case_set: CaseSet
) -> tuple[tuple[Row, ...], tuple[Served, ...], tuple[str, ...]]:
    if base.run is None or candidate.run is None:
        return (), NOT_SERVED, ()
    require_questions(case_set)
    before, after = read_finished(base.run), read_finished(candidate.run)
    require_runs_of(before, case_set, revision(base.model), "the baseline")
    require_runs_of(after, case_set, revision(candidate.model), "the candidate")
    require_alike(before, after)
    rows = (*quality_rows(before, after, case_set), *stability_rows(before, after, case_set))
    return rows, served(before, after), blocking(before, after, case_set)


def _perplexity(
    base: Folders, candidate: Folders, case_set: CaseSet, load: Callable[[Path], LanguageModel], watch: Watch
) -> tuple[Row, ...]:
    excerpts = excerpts_of(case_set)
    require_documents(excerpts)
    before = likelihoods(load(base.model), excerpts, watch, f"baseline {base.model.name}")
    after = likelihoods(load(candidate.model), excerpts, watch, f"candidate {candidate.model.name}")
    return perplexity_rows(excerpts, before, after)
