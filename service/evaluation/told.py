"""A run, its scores and its failures put together as the report tells them."""

from __future__ import annotations

from service.evaluation.asking.attempts import Run
from service.evaluation.failing.attribute import layers
from service.evaluation.report.content import Asked, Comparison, Report
from service.evaluation.scoring.compare import compare
from service.evaluation.scoring.figures import PriceTable, figures, percentiles, totals
from service.evaluation.scoring.sanity import sanity_rows
from service.evaluation.scoring.sheet import Sheet
from service.evaluation.sets.cases import CaseSet


def report_of(
    run: Run,
    sheet: Sheet,
    case_set: CaseSet,
    before: Sheet | None = None,
    prices: PriceTable | None = None,
    commands: tuple[str, ...] = (),
) -> Report:
    """:param before: scores that these are compared with; None: with none."""
    attempts = run.by_case(case.id for case in case_set.cases)
    failures, ways = layers(run, case_set), case_set.ways
    return Report(
        case_set=case_set.label,
        versions={"set": f"{case_set.label}@{case_set.sha256[:12]}", **run.versions},
        figures=figures(case_set.cases, sheet.scores, ways),
        phases=percentiles(run.attempts),
        asked=tuple(
            Asked(case, attempts[case.id], ways[case.id], failures.get(case.id)) for case in case_set.cases
        ),
        sanity=sanity_rows(case_set, run.texts),
        totals=totals(run.attempts, run.seconds, prices),
        commands=commands,
        comparison=None if before is None else _compared(before, sheet, case_set),
    )


def _compared(before: Sheet, sheet: Sheet, case_set: CaseSet) -> Comparison:
    return Comparison(f"{before.generator}, before", compare(before.scores, sheet.scores, case_set))
