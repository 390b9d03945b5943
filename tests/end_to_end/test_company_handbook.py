"""The gate on the shipped set, with the real embedder: what was right stays right, no bad draft is shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ingest.corpus.settings import CorpusSettings
from service.bootstrap import open_embedder
from service.evaluation.asking.bad_drafts import BadDrafts, shown_drafts, with_bad_drafts
from service.evaluation.asking.cached import CACHE, CachedEmbedder
from service.evaluation.asking.install import Installed, install
from service.evaluation.asking.run import run_installed
from service.evaluation.asking.scratch import scratch_installation
from service.evaluation.scoring.gate import faults
from service.evaluation.scoring.sanity import sanity_rows, unmet
from service.evaluation.scoring.sheet import of_these, read_sheet, score_run
from service.evaluation.sets.cases import CaseSet, part_of
from service.evaluation.sets.released import read_case_set
from service.parts import Parts
from service.settings import ServiceSettings

ROOT = Path(__file__).parents[2]
SET = ROOT / "eval_sets" / "company_handbook" / "v1"
BASELINE = ROOT / "eval_sets" / "baselines" / "company_handbook-v1.quoting.jsonl"
MODEL = ROOT / "var" / "models" / "multilingual-e5-small"
PART, FEW = 20, 31  # each so manyth question; the whole set is a slow test

pytestmark = pytest.mark.timeout(900)


@dataclass(frozen=True, slots=True)
class Handbook:
    """The whole set, installed once."""

    case_set: CaseSet
    parts: Parts
    installed: Installed
    cache: Path

    def every(self, so_manyth: int) -> CaseSet:
        """Every so manyth question, over all documents; quoting takes a second or two for each."""
        return part_of(self.case_set, so_manyth)


@pytest.fixture(scope="module")
def handbook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Handbook]:
    corpus = CorpusSettings(home=tmp_path_factory.mktemp("home"), embedder=str(MODEL))
    settings = ServiceSettings(corpus=corpus, key_secret="a" * 32)
    cache, case_set = corpus.home / CACHE, read_case_set(SET)
    with scratch_installation(settings, CachedEmbedder(open_embedder(settings), cache)) as parts:
        yield Handbook(case_set, parts, install(case_set, parts, unwatched), cache)


def unwatched(_doing: str, _done: int, _of: int) -> None:
    """Nobody looks."""


@pytest.mark.parametrize("every", [PART, pytest.param(1, marks=pytest.mark.slow)])
def test_the_quoting_generator_may_ship(handbook: Handbook, every: int) -> None:
    case_set = handbook.every(every)
    baseline = of_these(read_sheet(BASELINE), case_set)
    run = run_installed(case_set, handbook.parts, handbook.installed, handbook.cache, unwatched)
    sheet = score_run(run, case_set, handbook.parts.judge)
    assert [one.what for one in faults(sheet, case_set, baseline)] == []
    assert unmet(sanity_rows(case_set, run.texts)) == ()


def test_no_bad_draft_is_shown(handbook: Handbook) -> None:
    few, parts = handbook.every(FEW), with_bad_drafts(handbook.parts)
    run = run_installed(few, parts, handbook.installed, handbook.cache, unwatched, BadDrafts().version)
    assert sum(len(one.statements) for one in run.attempts) > len(few.cases)
    assert shown_drafts(run) == ()
