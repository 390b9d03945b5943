"""The gate lets pass what is as good as before, and names each of six regressions that are planted."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ingest import pipeline
from ingest.corpus.errors import InvalidInput
from ingest.corpus.index import CollectionIndex
from ingest.corpus.settings import CorpusSettings
from ingest.corpus.types import AccessList
from ingest.read.text import read_text
from service import answer, bootstrap, checked, fuse, strength
from service.answerable import shipped_answerability
from service.checking.judge import LexicalSemanticJudge
from service.evaluation.asking import run
from service.evaluation.asking.attempts import Run
from service.evaluation.asking.bad_drafts import shown_drafts, with_bad_drafts
from service.evaluation.asking.run import run_set
from service.evaluation.scoring.compare import compare
from service.evaluation.scoring.gate import Fault, faults
from service.evaluation.scoring.sheet import Sheet, of_these, read_sheet, score_run, write_sheet
from service.evaluation.sets.cases import Case, CaseDocument, CaseSet, CaseUser, Quote, part_of
from service.evaluation.sets.released import read_case_set
from service.parts import Parts
from service.settings import ServiceSettings
from service.types import Verdict
from tests.fakes import HashEmbedder

ROOT = Path(__file__).parents[2]
EVERYONE = AccessList(frozenset({"everyone"}))
ONLY_ANA = AccessList(frozenset({"user:ana"}))
RECORDS = {
    f"K-{number}": f"Record K-{number}. The meter of K-{number} stands in street {number * 7}."
    for number in range(1001, 1025)
}
SECRET = "The merger is called Kingfisher and closes on 4 May."
MENU = "Lunch is served from 12 to 14 in the hall."


def document(name: str, text: str, allow: AccessList | None = None) -> CaseDocument:
    return CaseDocument(f"{name}.txt", name, "en", "register", allow, text.encode())


def case(name: str, question: str, quote: tuple[str, str] | None, answers: str = "", **other: object) -> Case:
    evidence = ((Quote(f"{quote[0]}.txt", quote[1]),),) if quote else ()
    plain = Case(
        id=name,
        question=question,
        language="en",
        domain="register",
        kind="single_fact",
        risk="low",
        difficulty="easy",
        asker="bob",
        outcome="answered" if quote else "refused",
        evidence=evidence,
        answers=(answers,) if answers else (),
    )
    return replace(plain, **other)  # type: ignore[arg-type]


CASES = (
    *(
        case(
            name,
            f"In which street stands the meter of {name}?",
            (name, text.split(". ")[1]),
            f"street {street}",
        )
        for name, text in RECORDS.items()
        for street in [int(name[2:]) * 7]
    ),
    case("lunch", "When is lunch served in the hall?", ("menu", MENU.strip(".")), "12 to 14"),
    case("gym", "Does the sports club have a sauna and a steam bath?", None, kind="unanswerable"),
    case("moon", "Who was the first astronaut that walked on the moon?", None, kind="unanswerable"),
    case("opera", "Which opera by Verdi was sung in Milan last winter?", None, kind="unanswerable"),
    case("merger", "What is the merger called?", None, kind="forbidden", must_not_contain=("Kingfisher",)),
    case("merger-ana", "What is the merger called?", ("merger", SECRET), "Kingfisher", asker="ana"),
)
SMALL = CaseSet(
    name="small",
    version="v1",
    sha256=hashlib.sha256(repr(CASES).encode()).hexdigest(),
    what="a register",
    licence="Apache-2.0",
    access=EVERYONE,
    groups=(),
    users=(CaseUser("ana", "Ana", "reader", ()), CaseUser("bob", "Bob", "reader", ())),
    documents=(
        *(document(name, text) for name, text in RECORDS.items()),
        document("menu", MENU),
        document("merger", SECRET, ONLY_ANA),
    ),
    cases=CASES,
)
EMBEDDER = HashEmbedder()


def unwatched(_doing: str, _done: int, _of: int) -> None:
    """Nobody looks."""


def asked(home: Path, change: Callable[[Parts], Parts] = run.unchanged, name: str = "") -> Run:
    settings = ServiceSettings(corpus=CorpusSettings(home=home), key_secret="a" * 32)
    return run_set(SMALL, settings, EMBEDDER, unwatched, change, name)


def scored(found: Run) -> Sheet:
    return score_run(found, SMALL, LexicalSemanticJudge(EMBEDDER))


def checks(home: Path, baseline: Sheet) -> set[str]:
    return {one.check for one in faults(scored(asked(home)), SMALL, baseline)}


@pytest.fixture(scope="module", autouse=True)
def read_here() -> Iterator[None]:
    """A process of its own for each of the files of each run would take most of the time."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pipeline, "read_file", lambda data, name, *_: read_text(data, name))
        yield


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Sheet:
    return scored(asked(tmp_path_factory.mktemp("baseline")))


def test_what_is_as_before_may_ship(baseline: Sheet, tmp_path: Path) -> None:
    write_sheet(baseline, tmp_path / "baseline.jsonl")
    right = [scores["right"] for scores in baseline.scores.values()]
    assert sum(filter(None, right)) / len(right) >= 0.85
    assert checks(tmp_path, read_sheet(tmp_path / "baseline.jsonl")) == set()


def test_a_fusion_that_gives_words_no_weight_is_seen(
    baseline: Sheet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuse, "FULL_COVERAGE_WEIGHT", 0.0)
    assert checks(tmp_path, baseline) == {"slice"}


def test_a_permission_filter_that_is_gone_is_seen(
    baseline: Sheet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CollectionIndex, "permitted_rows", lambda index, _: index.alive)
    monkeypatch.setattr(
        "ingest.corpus.lookup.readable_documents", lambda _s, _p, pairs: {d for _, d in pairs}
    )
    assert "leak" in checks(tmp_path, baseline)


def test_offsets_that_are_shifted_are_seen(
    baseline: Sheet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = answer.look_up

    def shifted(*arguments: object) -> object:
        found = given(*arguments)  # type: ignore[arg-type]
        return tuple(
            replace(
                one,
                stored=replace(
                    one.stored,
                    chunk=replace(
                        one.stored.chunk, start=one.stored.chunk.start + 3, end=one.stored.chunk.end + 3
                    ),
                ),
            )
            for one in found
        )

    monkeypatch.setattr(answer, "look_up", shifted)
    assert "citation_validity" in checks(tmp_path, baseline)


def test_a_checker_that_is_off_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown_drafts(asked(tmp_path, with_bad_drafts, "bad")) == ()

    def passed(draft: object, evidence: object, permitted: object, judge: object) -> object:
        statement = given(draft, evidence, permitted, judge)  # type: ignore[arg-type]
        return replace(statement, verdict=Verdict("supported", "support", "never looked"))

    given = checked.check_statement
    monkeypatch.setattr(checked, "check_statement", passed)
    assert shown_drafts(asked(tmp_path, with_bad_drafts, "bad, unchecked"))


def test_a_threshold_of_refusal_at_nothing_is_seen(
    baseline: Sheet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = shipped_answerability()
    without = {way: replace(one, threshold=0.0) for way, one in shipped.fitted.items()}
    monkeypatch.setattr(bootstrap, "shipped_answerability", lambda: replace(shipped, fitted=without))
    monkeypatch.setattr(strength, "LEAST", dict.fromkeys(strength.LEAST, -100.0))
    assert "slice" in checks(tmp_path, baseline)


def test_a_released_set_that_was_edited_is_seen(baseline: Sheet, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "eval_sets", tmp_path / "eval_sets")
    folder = tmp_path / "eval_sets" / "company_handbook" / "v1"
    original = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    read_case_set(folder)
    for path in (folder / "manifest.toml", folder / "questions.jsonl", next(folder.glob("corpus/*/*.md"))):
        path.write_bytes(original[path] + b"\n")
        with pytest.raises(InvalidInput, match="of a released set was changed"):
            read_case_set(folder)
        path.write_bytes(original[path])
    edited = replace(SMALL, sha256="0" * 64)
    assert [one.check for one in faults(baseline, edited, baseline)] == ["set"]


def test_an_answer_that_never_came_is_seen(baseline: Sheet) -> None:
    less = replace(baseline, scores={name: of for name, of in baseline.scores.items() if name != "lunch"})
    assert list(faults(less, SMALL, baseline)) == [Fault("missing", "lunch was not asked.")]


def test_a_baseline_of_a_part_is_none(baseline: Sheet) -> None:
    """Else nothing would be compared, and anything might ship."""
    part = of_these(baseline, part_of(SMALL, 4))
    (fault,) = faults(baseline, SMALL, part)
    assert (fault.check, "part of the set" in fault.what) == ("set", True)


def test_parts_are_compared_in_what_both_were_asked(baseline: Sheet) -> None:
    part = of_these(baseline, part_of(SMALL, 4))
    found = compare(part.scores, part.scores, SMALL)
    assert {one.change for one in found} == {0.0}
    assert max(one.items for one in found) == len(part.scores)
