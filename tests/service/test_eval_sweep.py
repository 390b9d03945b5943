"""The same questions with more and more room for evidence; the report draws what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ingest import pipeline
from ingest.corpus.errors import InvalidInput
from ingest.corpus.settings import CorpusSettings
from ingest.read.text import read_text
from service.checking.judge import LexicalSemanticJudge
from service.evaluation.asking.attempts import Attempt, Run
from service.evaluation.scoring.sheet import Sheet
from service.evaluation.sets.cases import CaseSet, part_of
from service.evaluation.sweep import AtRoom, Swept, curve, sweep_report, sweep_set
from service.settings import ServiceSettings
from tests.fakes import HashEmbedder
from tests.service.reports import read
from tests.service.test_cli_commands import command_line
from tests.service.test_eval_gate import SMALL
from tests.service.test_eval_release import write_set

EMBEDDER = HashEmbedder()
FEW = replace(SMALL, documents=SMALL.documents[-6:], cases=SMALL.cases[-8:])
ROOMS = (400, 5, 5, 60)


@pytest.fixture(scope="module", autouse=True)
def read_here() -> Iterator[None]:
    """A process of its own for each of the files of each run would take most of the time."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pipeline, "read_file", lambda data, name, *_: read_text(data, name))
        yield


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the answers of all tests are kept."""
    return tmp_path_factory.mktemp("home")


def swept(home: Path, rooms: tuple[int, ...], watched: list[str], case_set: CaseSet = FEW) -> Swept:
    settings = ServiceSettings(corpus=CorpusSettings(home=home), key_secret="a" * 32)

    def watch(doing: str, _done: int, _of: int) -> None:
        watched.append(doing)

    return sweep_set(case_set, settings, EMBEDDER, LexicalSemanticJudge(EMBEDDER), rooms, watch)


def test_more_room_gives_more_evidence_and_better_answers(home: Path) -> None:
    watched: list[str] = []
    found = swept(home, ROOMS, watched)
    assert list(found) == [5, 60, 400]
    most = [max(one.evidence_tokens for one in of.run.attempts) for of in found.values()]
    assert most[0] == 0 < most[1] <= 60 < most[2] <= 400
    points = curve(found, FEW).points
    assert [one.evidence_tokens for one in points] == [5, 60, 400]
    assert points[0].quality < points[1].quality  # without any evidence all is refused
    assert all(one.low <= one.quality <= one.high and one.ttft_ms is None for one in points)
    assert any(doing.startswith("60 tokens: ") for doing in watched)
    page = read(sweep_report(found, FEW, ("citeward eval sweep",)))
    assert "Quality and TTFT by evidence budget" in page.shown()
    assert "at most 400 tokens" in page.shown()


def test_each_room_has_answers_of_its_own_which_are_not_asked_anew(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = swept(home, ROOMS[2:], [])
    monkeypatch.setattr("service.evaluation.asking.run.ask_through", None)  # asking would fail
    again = swept(home, ROOMS[2:], [])
    assert {room: of.run.attempts for room, of in again.items()} == {
        room: of.run.attempts for room, of in first.items()
    }


def test_the_median_ttft_is_over_those_that_an_engine_answered() -> None:
    times = (100.0, 300.0, 200.0)
    attempts = tuple(
        Attempt(case.id, "answered", timings_ms={"ttft": times[place]} if place < 3 else {})
        for place, case in enumerate(FEW.cases)
    )
    scores = {case.id: {"right": float(place < 2)} for place, case in enumerate(FEW.cases)}
    run = Run(FEW.label, FEW.sha256, {}, "vllm", attempts)
    (point,) = curve({512: AtRoom(run, Sheet(FEW.label, FEW.sha256, "vllm", {}, scores))}, FEW).points  # type: ignore[arg-type]
    assert (point.evidence_tokens, point.quality, point.ttft_ms) == (512, 0.25, 200.0)


@pytest.mark.parametrize(("every", "asked"), [(1, 30), (3, 10), (100, 1)])
def test_a_part_of_a_set_is_every_so_manyth_question_over_all_documents(every: int, asked: int) -> None:
    part = part_of(SMALL, every)
    assert len(part.cases) == asked
    assert part.documents == SMALL.documents


@pytest.mark.parametrize("rooms", [(), (0, 100), (-1,), (10_000,)])
def test_a_budget_that_cannot_be_is_refused_before_anything_is_asked(
    tmp_path: Path, rooms: tuple[int, ...]
) -> None:
    watched: list[str] = []
    with pytest.raises(InvalidInput):
        swept(tmp_path, rooms, watched)
    assert watched == []


def test_the_command_writes_a_report_and_prints_the_curve(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "sets" / "chat" / "v1")
    citeward = command_line(tmp_path / "home")
    found = citeward.done("eval", "sweep", str(folder), "--evidence-tokens", "50,500", "--every", "1")
    assert [one["evidence_tokens"] for one in found["sweep"]["points"]] == [50, 500]
    assert found["questions"] == 1
    page = (tmp_path / "home" / "eval" / "chat" / "v1" / "sweep.html").read_text("utf-8")
    assert "--evidence-tokens 50,500 --every 1" in page
    for wrong in (("--evidence-tokens", "many"), ("--every", "0")):
        assert citeward("eval", "sweep", str(folder), *wrong).code == 2
