"""A part of the shipped set, asked over HTTP of a real server and in this process: the same figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ingest.corpus import people
from ingest.corpus.database import open_database
from ingest.corpus.seams import Embedder
from ingest.corpus.settings import CorpusSettings
from service.bootstrap import open_embedder, put_together
from service.checking.judge import LexicalSemanticJudge
from service.client import Client
from service.evaluation.asking.attempts import Attempt, Run
from service.evaluation.asking.cached import CACHE, CachedEmbedder
from service.evaluation.asking.install_live import install_live
from service.evaluation.asking.keys import EVALUATOR, Keys
from service.evaluation.asking.live import Live, run_live
from service.evaluation.asking.run import run_set
from service.evaluation.failing.attribute import layers
from service.evaluation.scoring.gate import faults
from service.evaluation.scoring.sanity import sanity_rows
from service.evaluation.scoring.sheet import score_run
from service.evaluation.sets.cases import CaseSet
from service.evaluation.sets.released import read_case_set
from service.migrate import migrate
from service.settings import ServiceSettings
from tests.serving import serving

ROOT = Path(__file__).parents[2]
SET = ROOT / "eval_sets" / "company_handbook" / "v1"
MODEL = ROOT / "var" / "models" / "multilingual-e5-small"
KEY_SECRET = "a" * 32
EVERY, BESIDE = 31, 18  # so manyth question, with the documents that answer it; so manyth other document
PLACE = "handbook"

pytestmark = [pytest.mark.timeout(900), pytest.mark.slow]


def unwatched(_doing: str, _done: int, _of: int) -> None:
    """Nobody looks."""


def a_part() -> CaseSet:
    whole = read_case_set(SET)
    cases = whole.cases[::EVERY]
    needed = {quote.document for case in cases for group in case.evidence for quote in group}
    needed |= {one.name for one in whole.documents[::BESIDE]}
    documents = tuple(one for one in whole.documents if one.name in needed)
    return replace(whole, name=f"{whole.name}-part", documents=documents, cases=cases)


def asked_over_http(case_set: CaseSet, settings: ServiceSettings, embedder: Embedder, cache: Path) -> Run:
    database = open_database(settings.corpus.sqlalchemy_url)
    migrate(database)
    with database.writing() as session:
        people.create_tenant(session, "evaluation")
        people.create_user(session, "evaluation", "root", "admin")
        admin = people.create_key(session, KEY_SECRET.encode(), "evaluation", "root").credential
    with serving(put_together(settings, database, embedder)) as port:
        url = f"http://127.0.0.1:{port}"
        keys = dict(install_live(case_set, Client(url, admin), PLACE, unwatched))
        return run_live(case_set, Live(url, PLACE, Keys(keys.pop(EVALUATOR), keys)), cache, unwatched)


def without_times(attempt: Attempt) -> Attempt:
    return replace(attempt, timings_ms={})


def test_over_http_and_in_this_process_the_same_is_seen_and_scored(tmp_path: Path) -> None:
    case_set = a_part()
    settings = ServiceSettings(
        corpus=CorpusSettings(home=tmp_path, embedder=str(MODEL)), key_secret=KEY_SECRET
    )
    embedder = CachedEmbedder(open_embedder(settings), tmp_path / CACHE)
    here = run_set(case_set, settings, embedder, unwatched)
    there = asked_over_http(case_set, settings, embedder, tmp_path / "there")

    assert {one.ended for one in here.attempts} == {"answered", "refused"}
    assert [without_times(one) for one in there.attempts] == [without_times(one) for one in here.attempts]
    assert all(one.timings_ms["e2e"] > 0 for one in there.attempts)
    assert (there.texts, there.versions, there.generator) == (here.texts, here.versions, here.generator)
    judge = LexicalSemanticJudge(embedder)
    scored_here, scored_there = (score_run(one, case_set, judge) for one in (here, there))
    assert scored_there.scores == scored_here.scores
    assert list(faults(scored_there, case_set, scored_here)) == []
    assert sanity_rows(case_set, there.texts) == sanity_rows(case_set, here.texts)
    failed_here, failed_there = layers(here, case_set), layers(there, case_set)
    assert failed_there.keys() == failed_here.keys()
    not_shown = {"not_in_a_chunk"}  # where chunks begin and end: such a one is not found, over HTTP
    assert {name: one.layer for name, one in failed_there.items()} == {
        name: "not_found" if one.layer in not_shown else one.layer for name, one in failed_here.items()
    }
