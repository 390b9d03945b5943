"""A candidate ships only where nothing is worse and enough was measured to tell; each reason is named."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from math import inf, nan
from pathlib import Path

import pytest

from ingest.corpus.errors import InvalidInput
from ingest.corpus.types import AccessList
from service.cli.exits import CANNOT_TELL, FAILED, MAY_NOT_SHIP, WRONG_USE
from service.engine.weights import revision
from service.evaluation.asking.attempts import Attempt, Run
from service.evaluation.asking.run import write_run
from service.evaluation.releasing.enough import LEAST_DOCUMENTS, LEAST_QUESTIONS
from service.evaluation.releasing.excerpts import Excerpt, excerpts_of
from service.evaluation.releasing.perplexity import Likelihood, perplexity_rows
from service.evaluation.releasing.release import Folders, Release, compare_models
from service.evaluation.releasing.rows import finding
from service.evaluation.scoring.sheet import Sheet, write_sheet
from service.evaluation.sets.cases import Case, CaseDocument, CaseSet, CaseUser
from service.evaluation.sets.released import read_case_set
from service.types import AnswerLanguage
from tests.fakes import LetterModel
from tests.service.test_cli_commands import command_line

WORDS: dict[AnswerLanguage, str] = {
    "en": "The meter of street {} is read in May. ",
    "zh": "第{}街的水表五月读数。",
}
VERSIONS = {"code": "1", "embedder": "e", "reranker": "r", "judge": "j", "prompt": "none", "policy": "none"}


def document(number: int, language: AnswerLanguage, domain: str = "register", times: int = 3) -> CaseDocument:
    text = WORDS[language].format(number) * times
    return CaseDocument(f"{language}-{number}.md", "", language, domain, None, text.encode())


def case(number: int, language: AnswerLanguage, domain: str = "register") -> Case:
    """Every fourth is to be refused."""
    outcome = "refused" if number % 4 == 0 else "answered"
    name = f"{language}-{domain}-{number}"
    return Case(
        name, f"{number}?", language, domain, "single_fact", "low", "easy", "ana", outcome, (), ()
    )  # fmt: skip


def a_set(documents: int = 12, questions: int = 44, **other: object) -> CaseSet:
    """So many documents and questions in each language."""
    languages: tuple[AnswerLanguage, ...] = ("en", "zh")
    whole = CaseSet(
        "meters", "v1", "", "what", "Apache-2.0", AccessList(frozenset({"everyone"})), (),
        (CaseUser("ana", "Ana", "reader", ()),),
        tuple(document(number, language) for language in languages for number in range(documents)),
        tuple(case(number, language) for language in languages for number in range(questions)),
    )  # fmt: skip
    return replace(whole, sha256=hashlib.sha256(repr(other).encode()).hexdigest(), **other)  # type: ignore[arg-type]


def model_folder(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    (folder / name / "config.json").write_text("{}")
    (folder / name / "model.safetensors").write_bytes(name.encode() * 2**18)
    return folder / name


def attempt(one: Case, **other: object) -> Attempt:
    times = {"ttft": 100.0, "itl_p50": 10.0, "generate": 1000.0}
    plain = Attempt(
        one.id, one.outcome, finish_reason="stop", generator="vllm", timings_ms=times,
        input_tokens=500, output_tokens=20,
    )  # fmt: skip
    return replace(plain, **other)  # type: ignore[arg-type]


Answers = Callable[[int, Case], tuple[Attempt, float]]  # the attempt at a question, and whether it is right


def all_right(_: int, one: Case) -> tuple[Attempt, float]:
    return attempt(one), 1.0


def folders(model: Path, case_set: CaseSet, answers: Answers = all_right, **versions: str) -> Folders:
    """With a run in which the model answered so."""
    made = [answers(number, one) for number, one in enumerate(case_set.cases)]
    versions = {**VERSIONS, "model": f"vllm:{model.name}@{revision(model)}", **versions}
    run = Run(case_set.label, case_set.sha256, versions, "vllm", tuple(one for one, _ in made), seconds=60.0)
    scores = {one.case_id: {"right": right, "leak": 0.0} for one, right in made}
    place = model.parent / f"run-{model.name}"
    write_run(run, place / "run.json")
    write_sheet(Sheet(run.set, run.set_sha256, "vllm", versions, scores), place / "scores.jsonl")  # type: ignore[arg-type]
    return Folders(model, place)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return model_folder(tmp_path, "base")


@pytest.fixture
def candidate(tmp_path: Path) -> Path:
    return model_folder(tmp_path, "candidate")


def released(before: Folders, after: Folders, case_set: CaseSet, worse: float = 1.0) -> Release:
    def load(folder: Path) -> LetterModel:
        return LetterModel(worse if folder == after.model else 1.0)

    return compare_models(before, after, case_set, load, lambda *_: None)


def findings(found: Release, figure: str) -> dict[str, str]:
    return {row.slice: row.finding for row in found.rows if row.figure == figure}


# --- the verdict -------------------------------------------------------------------------------


def test_what_is_as_good_in_everything_ships(base: Path, candidate: Path) -> None:
    case_set = a_set()
    found = released(folders(base, case_set), folders(candidate, case_set), case_set)
    assert found.verdict.said == "ships"
    beyond = {"code": "not measured", "mathematics": "not measured", "long context": "not measured"}
    for figure in ("perplexity", "task quality", "stability"):
        assert findings(found, figure) == {"en": "no worse", "zh": "no worse", **beyond}
    assert "perplexity, mathematics: not measured, 0 of 10." in found.verdict.reasons
    told = {one.figure: (one.before, one.after) for one in found.served}
    assert told["TTFT p50"] == (100.0, 100.0)
    assert told["ITL p50"] == (10.0, 10.0)
    assert told["throughput"] == (20.0, 20.0)
    assert told["memory of the weights"] == (1.0, 2.25)
    assert told["power"] == (None, None)


def test_without_runs_nobody_can_tell_however_likely_the_texts_are(base: Path, candidate: Path) -> None:
    found = released(Folders(base, None), Folders(candidate, None), a_set())
    assert found.verdict.said == "cannot tell"
    assert findings(found, "perplexity")["zh"] == "no worse"
    assert found.verdict.reasons[0].startswith("task quality, en: not measured")
    assert any(one.startswith("TTFT p50: not measured") for one in found.verdict.reasons)


def test_a_perplexity_that_grew_by_more_than_its_margin_does_not_ship(base: Path, candidate: Path) -> None:
    case_set = a_set()
    found = released(folders(base, case_set), folders(candidate, case_set), case_set, worse=1.1)
    assert found.verdict.said == "does not ship"
    assert [one.partition(":")[0] for one in found.verdict.reasons[:2]] == [
        "perplexity, en",
        "perplexity, zh",
    ]


def test_a_language_in_which_answers_got_worse_does_not_ship(base: Path, candidate: Path) -> None:
    def no_chinese(number: int, one: Case) -> tuple[Attempt, float]:
        return attempt(one), float(one.language == "en" or number % 3 > 0)

    case_set = a_set()
    found = released(folders(base, case_set), folders(candidate, case_set, no_chinese), case_set)
    assert found.verdict.said == "does not ship"
    assert findings(found, "task quality")["zh"] == "worse"
    assert findings(found, "task quality")["en"] == "no worse"


def test_an_answer_that_quoting_stood_in_for_is_none_of_the_model(base: Path, candidate: Path) -> None:
    def quoted(number: int, one: Case) -> tuple[Attempt, float]:
        stands_in = attempt(one, generator="quoting", degraded=("quoting",))
        return stands_in if number % 3 == 0 else attempt(one), 1.0

    case_set = a_set()
    found = released(folders(base, case_set), folders(candidate, case_set, quoted), case_set)
    assert found.verdict.said == "does not ship"
    assert findings(found, "stability")["en"] == "worse"
    both = released(folders(base, case_set, quoted), folders(candidate, case_set, quoted), case_set)
    assert both.verdict.said == "cannot tell"  # 29 or so of each language are too few


def test_an_answer_that_is_cut_off_is_not_stable(base: Path, candidate: Path) -> None:
    def cut_off(number: int, one: Case) -> tuple[Attempt, float]:
        return attempt(one, finish_reason="length" if number % 3 == 0 else "stop"), 1.0

    case_set = a_set()
    found = released(folders(base, case_set), folders(candidate, case_set, cut_off), case_set)
    assert findings(found, "stability")["zh"] == "worse"
    assert findings(found, "task quality")["zh"] == "no worse"


def test_a_leak_does_not_ship_whatever_the_figures(base: Path, candidate: Path) -> None:
    case_set = a_set()
    after = folders(candidate, case_set)
    assert after.run is not None
    scores = after.run / "scores.jsonl"
    scores.write_text(scores.read_text().replace('"leak": 0.0', '"leak": 1.0', 1))
    found = released(folders(base, case_set), after, case_set)
    assert found.verdict.said == "does not ship"
    assert found.verdict.reasons[0].startswith("leak: en-register-0")


def test_a_set_that_has_code_and_long_prompts_is_told_by_them_too(base: Path, candidate: Path) -> None:
    def long(_: int, one: Case) -> tuple[Attempt, float]:
        return attempt(one, input_tokens=5000 if one.language == "zh" else 100), 1.0

    def no_code(number: int, one: Case) -> tuple[Attempt, float]:
        return long(number, one)[0], float(one.domain != "code")

    plain = a_set()
    case_set = replace(plain, cases=(*plain.cases, *(case(number, "en", "code") for number in range(40))))
    found = released(folders(base, case_set, long), folders(candidate, case_set, no_code), case_set)
    assert findings(found, "task quality") == {
        "en": "worse", "zh": "no worse", "code": "worse", "mathematics": "not measured",
        "long context": "no worse",
    }  # fmt: skip


# --- too little to tell ------------------------------------------------------------------------


def test_the_least_numbers_are_those_at_which_the_interval_is_as_narrow_as_the_margin() -> None:
    assert LEAST_DOCUMENTS == 10
    assert LEAST_QUESTIONS == 39


@pytest.mark.parametrize(
    ("case_set", "said"),
    [
        (a_set(documents=LEAST_DOCUMENTS - 1), "en: 9, zh: 9 documents"),
        (a_set(questions=LEAST_QUESTIONS - 1), "en: 38, zh: 38 questions"),
        (a_set(questions=1), "en: 1, zh: 1 questions"),
        (a_set(cases=(case(1, "en"),)), "en: 1, zh: 0 questions"),
        (a_set(documents=0), "en: 0, zh: 0 documents"),
        (a_set(cases=tuple(case(number, "en") for number in range(200))), "zh: 0 questions"),
        (
            a_set(cases=tuple(one for one in a_set(questions=100).cases if one.outcome == "answered")),
            "every question must be answered",
        ),
    ],
)
def test_a_set_that_is_too_small_or_one_sided_is_refused(
    base: Path, candidate: Path, case_set: CaseSet, said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        released(folders(base, case_set), folders(candidate, case_set), case_set)


def test_one_chat_question_is_refused_as_wrong_use(base: Path, candidate: Path, tmp_path: Path) -> None:
    folder = write_set(tmp_path / "sets" / "chat" / "v1")
    ended = command_line(tmp_path)("eval", "release", str(base), str(candidate), "--set", str(folder))
    assert ended.code == WRONG_USE
    assert "too small or too one-sided to tell: en: 1, zh: 0 documents" in ended.err
    assert "at least 10 in each of en and zh" in ended.err


@pytest.mark.parametrize(
    ("right", "code", "said"),
    [(1.0, 0, "ships"), (0.0, MAY_NOT_SHIP, "does not ship"), (None, CANNOT_TELL, "cannot tell")],
)
def test_the_command_says_the_verdict_with_its_reasons_and_ends_so(
    base: Path, candidate: Path, tmp_path: Path, right: float | None, code: int, said: str
) -> None:
    folder = write_set(tmp_path / "sets" / "chat" / "v1", a_set().cases)
    case_set = read_case_set(folder)

    def answered(number: int, one: Case) -> tuple[Attempt, float]:
        return attempt(one), (number % 12 > 0) if right is None else right

    runs = (folders(base, case_set).run, folders(candidate, case_set, answered).run)
    asked = [
        *("eval", "release", str(base), str(candidate), "--set", str(folder), "--no-perplexity"),
        *("--base-run", str(runs[0]), "--candidate-run", str(runs[1])),
    ]
    shown = command_line(tmp_path)(*asked)
    assert shown.code == code
    assert f"{case_set.label}@{case_set.sha256[:12]}: {said}." in shown.out
    assert "task quality, long context: not measured, 0 of 39." in shown.out
    assert "power" in shown.out
    assert command_line(tmp_path)(*asked, "--json").json["verdict"]["said"] == said


def write_set(folder: Path, cases: Sequence[Case] = (case(1, "en"),)) -> Path:
    """One document, and these questions."""
    (folder / "corpus").mkdir(parents=True)
    (folder / "corpus" / "a.md").write_text("Hello.")
    (folder / "questions.jsonl").write_text("".join(json.dumps(asdict(one)) + "\n" for one in cases))
    hashes = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in ("questions.jsonl", "corpus/a.md")
    }
    (folder / "manifest.toml").write_text(
        f"""name = "chat"\nversion = "v1"\nwhat = "w"\nlicence = "Apache-2.0"
questions_sha256 = "{hashes["questions.jsonl"]}"
groups = []
[collection]
allow = ["everyone"]
[[users]]
id = "ana"\nname = "Ana"\nrole = "reader"\ngroups = []
[[documents]]
path = "a.md"\ntitle = ""\nlanguage = "en"\ndomain = "chat"\nsha256 = "{hashes["corpus/a.md"]}"
"""
    )
    return folder


def damaged(manifest: str, how: str) -> str:
    return {
        "no TOML": "name =",
        "without its users": manifest.replace("[[users]]", "[[people]]"),
        "a user without groups": manifest.replace("groups = []\n[[documents]]", "[[documents]]"),
        "a list for a text": manifest.replace('path = "a.md"', 'path = ["a.md"]'),
    }[how]


@pytest.mark.parametrize(
    "how", ["no TOML", "without its users", "a user without groups", "a list for a text"]
)
def test_a_set_that_cannot_be_read_is_wrong_use_and_no_verdict(base: Path, tmp_path: Path, how: str) -> None:
    folder = write_set(tmp_path / "sets" / "chat" / "v1")
    manifest = folder / "manifest.toml"
    manifest.write_text(damaged(manifest.read_text(), how))
    ended = command_line(tmp_path)("eval", "release", str(base), str(base), "--set", str(folder))
    assert ended.code == WRONG_USE
    assert f"{manifest} cannot be used." in ended.err


# --- runs that are not what they are said to be ------------------------------------------------


def test_a_run_of_another_model_or_set_or_service_is_refused(base: Path, candidate: Path) -> None:
    case_set = a_set()
    before = folders(base, case_set)
    with pytest.raises(InvalidInput, match="of another model"):
        released(before, replace(before, model=candidate), case_set)
    with pytest.raises(InvalidInput, match=r"more than the model.*judge j and other"):
        released(before, folders(candidate, case_set, judge="other"), case_set)
    with pytest.raises(InvalidInput, match="not of this meters v1"):
        released(before, folders(candidate, a_set(what="edited")), case_set)


@pytest.mark.parametrize("lost", ["run.json", "scores.jsonl"])
def test_a_folder_without_a_whole_run_is_refused(base: Path, candidate: Path, lost: str) -> None:
    case_set = a_set()
    after = folders(candidate, case_set)
    assert after.run is not None
    (after.run / lost).write_text("{")
    with pytest.raises(InvalidInput, match="cannot be used"):
        released(folders(base, case_set), after, case_set)


def test_one_run_alone_or_nothing_at_all_cannot_be_compared(base: Path, tmp_path: Path) -> None:
    citeward = command_line(tmp_path)
    assert citeward("eval", "release", str(base), str(base), "--base-run", str(tmp_path)).code == WRONG_USE
    assert citeward("eval", "release", str(base), str(base), "--no-perplexity").code == WRONG_USE


def test_no_failure_and_no_wrong_call_ends_as_a_verdict_does(base: Path, tmp_path: Path) -> None:
    """A script goes by the number: a name that was mistyped must not read as a model that lost something."""
    folder = str(write_set(tmp_path / "sets" / "chat" / "v1", a_set().cases))
    models, runs = ("eval", "release", str(base), str(base)), ("--base-run", "--candidate-run")
    nowhere = str(tmp_path / "nowhere")
    of_none = (runs[0], nowhere, runs[1], nowhere)
    calls = {
        (*models, "--set", nowhere): WRONG_USE,
        (*models, "--set", folder, "--no-perplexity", *of_none): WRONG_USE,
        (*models, "--set", folder, "--no-such-option"): WRONG_USE,
        ("eval", "release", str(base)): WRONG_USE,
        ("eval", "release", str(base), nowhere, "--set", folder): FAILED,  # it may be a hub's name
        ("eval", "gate", nowhere, "--baseline", nowhere): WRONG_USE,
        ("eval", "gate", folder, "--baseline", nowhere): WRONG_USE,
        ("eval", "gate", folder): WRONG_USE,
    }
    citeward = command_line(tmp_path)
    assert {call: citeward(*call).code for call in calls} == calls
    assert not {0, FAILED, WRONG_USE} & {MAY_NOT_SHIP, CANNOT_TELL}


# --- perplexity --------------------------------------------------------------------------------

TEXTS = tuple(Excerpt(str(number), "en", "text") for number in range(10))


def row_of(before: float, after: list[float]) -> tuple[str, float | None]:
    rows = perplexity_rows(TEXTS, [Likelihood(before, 2)] * 10, [Likelihood(nats, 2) for nats in after])
    (row,) = [one for one in rows if one.slice == "en"]
    return row.finding, row.loss


def test_a_loss_is_by_how_much_perplexity_grew() -> None:
    found, loss = row_of(2.0, [2.2] * 10)
    assert (found, loss) == ("worse", pytest.approx(0.105171, abs=1e-6))  # e ** .1 - 1


def test_documents_that_disagree_leave_it_open() -> None:
    assert row_of(2.0, [1.6, 2.6] * 5)[0] == "cannot tell"


@pytest.mark.parametrize("broken", [nan, inf])
def test_a_candidate_that_computes_no_number_is_worse_and_a_baseline_is_refused(broken: float) -> None:
    assert row_of(2.0, [broken] + [2.0] * 9) == ("worse", None)
    with pytest.raises(InvalidInput, match="baseline does not compute"):
        row_of(broken, [2.0] * 10)


@pytest.mark.parametrize(
    ("loss", "low", "high", "said"),
    [
        (0.0, -0.04, 0.04, "no worse"),
        (0.02, 0.01, 0.04, "no worse"),  # surely worse, and less than counts
        (0.06, 0.01, 0.11, "worse"),
        (0.04, 0.01, 0.07, "cannot tell"),
        (0.06, -0.01, 0.13, "cannot tell"),
        (-0.2, -0.3, -0.1, "no worse"),
    ],
)
def test_what_an_interval_allows_to_say(loss: float, low: float, high: float, said: str) -> None:
    assert finding(loss, low, high, 0.05) == said


def test_excerpts_are_whole_characters_of_plain_files_and_of_what_follows_a_long_context() -> None:
    documents = (
        document(1, "zh", times=4000),
        document(2, "en", "code", times=40),
        replace(document(3, "en"), name="scan.pdf"),
        replace(document(4, "en"), original=b"\xff\xfe"),
    )
    found = excerpts_of(replace(a_set(), documents=documents), most_bytes=100)
    assert [(one.document, one.slice) for one in found] == [
        ("zh-1.md", "zh"), ("zh-1.md", "long context"), ("en-2.md", "code"),
    ]  # fmt: skip
    assert 97 < len(found[0].text.encode()) <= 100
    assert "\ufffd" not in found[0].text
    whole = WORDS["zh"].format(1) * 4000
    assert whole.startswith(found[1].text)
    assert len(found[1].text.encode()) > 16_384
    assert 50 < len(found[1].text[found[1].scored_from :].encode()) <= 100
