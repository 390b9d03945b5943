"""The gate on the shipped set, with the real embedder: what was right stays right, no bad draft is shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ingest.corpus.settings import CorpusSettings
from service.bootstrap import open_embedder
from service.checking.judge import LexicalSemanticJudge
from service.evaluation.asking.bad_drafts import BadDrafts, shown_drafts, with_bad_drafts
from service.evaluation.asking.run import run_set
from service.evaluation.scoring.gate import faults
from service.evaluation.scoring.sanity import sanity_rows, unmet
from service.evaluation.scoring.sheet import read_sheet, score_run
from service.evaluation.sets.cases import CaseSet
from service.evaluation.sets.released import read_case_set
from service.settings import ServiceSettings

ROOT = Path(__file__).parents[2]
SET = ROOT / "eval_sets" / "company_handbook" / "v1"
BASELINE = ROOT / "eval_sets" / "baselines" / "company_handbook-v1.quoting.jsonl"
MODEL = ROOT / "var" / "models" / "multilingual-e5-small"
PART, FEW = 12, 24  # each so manyth question; the whole set is a slow test

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> ServiceSettings:
    corpus = CorpusSettings(home=tmp_path_factory.mktemp("home"), embedder=str(MODEL))
    return ServiceSettings(corpus=corpus, key_secret="a" * 32)


def unwatched(_doing: str, _done: int, _of: int) -> None:
    """Nobody looks."""


@pytest.mark.parametrize("every", [PART, pytest.param(1, marks=pytest.mark.slow)])
def test_the_quoting_generator_may_ship(settings: ServiceSettings, every: int) -> None:
    case_set, embedder = part_of(read_case_set(SET), every), open_embedder(settings)
    before, asked = read_sheet(BASELINE), {case.id for case in case_set.cases}
    baseline = replace(before, scores={name: of for name, of in before.scores.items() if name in asked})
    run = run_set(case_set, settings, embedder, unwatched)
    sheet = score_run(run, case_set, LexicalSemanticJudge(embedder))
    assert [one.what for one in faults(sheet, case_set, baseline)] == []
    assert unmet(sanity_rows(case_set, run.texts)) == ()


def part_of(whole: CaseSet, every: int) -> CaseSet:
    """Every so manyth question, over all documents; quoting takes a second or two for each."""
    return replace(whole, name=f"{whole.name}-{every}", cases=whole.cases[::every])


def test_no_bad_draft_is_shown(settings: ServiceSettings) -> None:
    few, embedder = part_of(read_case_set(SET), FEW), open_embedder(settings)

    run = run_set(few, settings, embedder, unwatched, with_bad_drafts, BadDrafts().version)
    assert sum(len(one.statements) for one in run.attempts) > len(few.cases)
    assert shown_drafts(run) == ()
