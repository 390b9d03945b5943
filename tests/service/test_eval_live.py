"""A set put onto a running service and asked there over HTTP, by a real client of a real server."""

from __future__ import annotations

import hashlib
import json
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select
from typer.testing import CliRunner

from ingest.corpus import people
from ingest.corpus.database import Database
from ingest.corpus.errors import Conflict, InvalidInput
from service.cli import app
from service.cli.local import Installation
from service.client import Client, Problem
from service.evaluation.asking.attempts import Run
from service.evaluation.asking.install_live import install_live
from service.evaluation.asking.keys import EVALUATOR, Keys, read_keys, write_keys
from service.evaluation.asking.live import Live, collection_of, run_live
from service.evaluation.asking.run import run_set
from service.evaluation.scoring.sheet import Sheet, write_sheet
from service.evaluation.sets.cases import CaseSet
from service.evaluation.sets.released import read_case_set
from service.history import RECORD, AnswerRow
from service.parts import Parts
from tests.fakes import HashEmbedder
from tests.serving import serving
from tests.world import KEY_SECRET, make_parts

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
DOCUMENTS = {
    "leave.md": ("Employees of the mill have 25 days of annual leave.", ""),
    "lunch.md": ("Lunch is served from 12 to 14 in the hall.\n\nDogs are walked elsewhere.", ""),
    "deal.md": ("The merger is called Kingfisher and closes on 4 May.", 'allow = ["group:board"]'),
    "zh/trip.md": ("差旅费须在三十天内报销。", 'deny = ["user:bob"]\nallow = ["everyone"]'),
}
QUESTIONS = [
    ("leave", "bob", "How many days of annual leave do employees have?", "leave.md", "25 days"),
    ("lunch", "ana", "When is lunch served in the hall?", "lunch.md", "12 to 14"),
    ("merger", "bob", "What is the merger called?", None, ""),
    ("merger-ana", "ana", "What is the merger called?", "deal.md", "Kingfisher"),
    ("opera", "ana", "Which opera by Verdi was sung in Milan?", None, ""),
]
ADMIN_OF_SET = '[[users]]\nid = "mia"\nname = "Mia"\nrole = "admin"\ngroups = []\n'


def unwatched(_doing: str, _done: int, _of: int) -> None:
    """Nobody looks."""


def written(folder: Path) -> Path:
    """A small set, as its folder."""
    corpus = folder / "small" / "v1" / "corpus"
    (corpus / "zh").mkdir(parents=True)
    lines = "\n".join(json.dumps(_question(*one), ensure_ascii=False) for one in QUESTIONS) + "\n"
    (corpus.parent / "questions.jsonl").write_text(lines, "utf-8")
    manifest = [
        'name = "small"\nversion = "v1"\nwhat = "a mill"\nlicence = "Apache-2.0"',
        f'questions_sha256 = "{hashlib.sha256(lines.encode()).hexdigest()}"',
        '[collection]\nallow = ["everyone"]',
        '[[groups]]\nid = "board"\nname = "Board"',
        '[[users]]\nid = "ana"\nname = "Ana"\nrole = "reader"\ngroups = ["board"]',
        '[[users]]\nid = "bob"\nname = "Bob"\nrole = "reader"\ngroups = []',
        ADMIN_OF_SET,
    ]
    for name, (text, access) in DOCUMENTS.items():
        (corpus / name).write_text(text, "utf-8")
        digest = hashlib.sha256(text.encode()).hexdigest()
        manifest.append(
            f'[[documents]]\npath = "{name}"\ntitle = "{name}"\ndomain = "mill"\nsha256 = "{digest}"\n'
            f'language = "{"zh" if "zh" in name else "en"}"\n{access}'
        )
    (corpus.parent / "manifest.toml").write_text("\n".join(manifest), "utf-8")
    return corpus.parent


def _question(name: str, asker: str, text: str, document: str | None, answer: str) -> dict[str, Any]:
    return {
        "id": name,
        "question": text,
        "language": "en",
        "domain": "mill",
        "kind": "single_fact" if document else "forbidden" if name == "merger" else "unanswerable",
        "risk": "low",
        "difficulty": "easy",
        "asker": asker,
        "outcome": "answered" if document else "refused",
        "evidence": [[{"document": document, "quote": answer}]] if document else [],
        "answers": [answer] if document else [],
        "must_not_contain": {"merger": ["Kingfisher"], "lunch": ["Dogs are walked"]}.get(name, []),
    }


@dataclass(frozen=True, slots=True)
class There:
    """A running service with one tenant and its admin, and a set that may be put onto it."""

    parts: Parts
    url: str
    folder: Path  # of the set
    admin: Client

    @property
    def case_set(self) -> CaseSet:
        return read_case_set(self.folder)

    def installed(self) -> Keys:
        made = dict(install_live(self.case_set, self.admin, collection_of(self.case_set), unwatched))
        return Keys(made.pop(EVALUATOR), made)

    def run(self, keys: Keys, cache: Path, case_set: CaseSet | None = None) -> Run:
        live = Live(self.url, collection_of(self.case_set), keys)
        return run_live(case_set or self.case_set, live, cache, unwatched)

    def answers(self) -> int:
        """How many were given so far."""
        with self.parts.database.reading() as session:
            return session.scalar(select(func.count()).select_from(AnswerRow)) or 0


@pytest.fixture
def there(database: Database, tmp_path: Path) -> Iterator[There]:
    parts = make_parts(database, tmp_path / "home")
    with database.writing() as session:
        people.create_tenant(session, "evaluation")
        people.create_user(session, "evaluation", "root", "admin")
        key = people.create_key(session, KEY_SECRET.encode(), "evaluation", "root").credential
    with serving(parts) as port:
        url = f"http://127.0.0.1:{port}"
        yield There(parts, url, written(tmp_path / "sets"), Client(url, key))


def citeward(there: There, *arguments: str) -> Any:
    here = Installation(there.parts.settings, HashEmbedder())
    return CliRunner().invoke(app, ["eval", *arguments], obj=here)


def test_it_is_installed_asked_and_judged_as_in_this_process(there: There, tmp_path: Path) -> None:
    admin_key, keys = tmp_path / "admin", tmp_path / "keys.json"
    admin_key.write_text(there.admin.key + "\n")
    reached = ("--url", there.url, "--key-file", str(keys))
    ended = citeward(
        there, "install", str(there.folder), *reached[:2], "--key-file", str(admin_key), "--keys", str(keys)
    )
    assert ended.exit_code == 0, ended.output
    assert stat.S_IMODE(keys.stat().st_mode) == 0o600
    made = json.loads(keys.read_text())
    assert made.keys() == {"ana", "bob", "mia", EVALUATOR}
    assert not any(key in ended.output for key in made.values())

    baseline = tmp_path / "here" / "scores.jsonl"
    ended = citeward(there, "run", str(there.folder), "--out", str(baseline.parent))
    assert ended.exit_code == 0, ended.output
    ended = citeward(there, "run", str(there.folder), *reached, "--out", str(tmp_path / "there"))
    assert ended.exit_code == 0, ended.output
    _, *scores_here = baseline.read_text().splitlines()
    head, *scores_there = (tmp_path / "there" / "scores.jsonl").read_text().splitlines()
    assert scores_there == scores_here
    assert json.loads(head)["versions"] == there.parts.versions()
    attempts_here, attempts_there = (told(tmp_path / place / "run.json") for place in ("here", "there"))
    assert attempts_there == attempts_here
    assert any(one["candidates"] and one["statements"] and one["citations"] for one in attempts_there)

    ended = citeward(there, "gate", str(there.folder), *reached, "--baseline", str(baseline))
    assert (ended.exit_code, ended.stdout) == (0, "small v1: it may ship.\n")


def test_a_follow_up_is_asked_in_one_conversation_with_what_it_follows(there: There, tmp_path: Path) -> None:
    first = there.case_set.cases[0]
    follow_up = replace(
        first, id="follow-up", question="And why?", follows=first.id, standalone=first.question
    )
    case_set = replace(there.case_set, cases=(first, follow_up))
    over_http = there.run(there.installed(), tmp_path / "there", case_set).attempts
    settings = replace(
        there.parts.settings, corpus=replace(there.parts.settings.corpus, home=tmp_path / "here")
    )
    in_process = run_set(case_set, settings, HashEmbedder(), unwatched).attempts
    for alone, within in (over_http, in_process):
        assert alone.by_itself == ()
        assert within.by_itself[0] == alone.candidates[0].passage
    with there.parts.database.reading() as session:
        records = [RECORD.validate_json(one) for one in session.scalars(select(AnswerRow.record))]
    asked = [(one.question, one.understood_as) for one in records if one.question == "And why?"]
    assert asked == [("And why?", f"{first.question} And why?")]
    conversations = Counter(one.conversation_id for one in records)
    assert sorted(conversations.values()) == [1, 2]  # the first alone, and once more before the follow-up


def test_a_part_of_a_set_without_what_a_question_follows_asks_its_standalone_form(there: There) -> None:
    first = there.case_set.cases[0]
    follow_up = replace(first, id="follow-up", follows=first.id, standalone="Why does the mill turn?")
    whole = replace(there.case_set, cases=(first, follow_up))
    assert whole.before(follow_up) == (first,)
    assert replace(whole, cases=(follow_up,)).before(follow_up) == ()


def told(path: Path) -> list[dict[str, Any]]:
    """All of the attempts but their times."""
    return [
        {name: value for name, value in one.items() if name != "timings_ms"}
        for one in json.loads(path.read_text())["attempts"]
    ]


def test_what_was_asked_before_is_asked_anew_only_after_a_change(there: There, tmp_path: Path) -> None:
    keys = there.installed()
    first = there.run(keys, tmp_path)
    assert there.answers() == len(QUESTIONS)
    assert there.run(keys, tmp_path) == first
    assert there.answers() == len(QUESTIONS)
    again = there.installed()  # the keys are other ones now, and the permissions may be
    assert there.run(again, tmp_path).attempts != ()
    assert there.answers() == 2 * len(QUESTIONS)


def test_a_run_that_was_stopped_goes_on(there: There, tmp_path: Path) -> None:
    live = Live(there.url, collection_of(there.case_set), there.installed())

    def stopping(doing: str, done: int, _of: int) -> None:
        if "asked" in doing and done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_live(there.case_set, live, tmp_path, stopping)
    assert there.answers() == 2
    assert len(run_live(there.case_set, live, tmp_path, unwatched).attempts) == len(QUESTIONS)
    assert there.answers() == len(QUESTIONS)


def test_a_set_is_put_there_twice_and_its_keys_of_before_open_nothing(there: There) -> None:
    before, after = there.installed(), there.installed()
    with pytest.raises(Problem, match="No valid key came") as refused:
        Client(there.url, before.of("ana")).send("GET", "/v1/collections")
    assert refused.value.status == 401
    [shown] = Client(there.url, after.of("ana")).send("GET", "/v1/collections")
    assert shown["id"] == "small-v1"


def test_one_key_asks_everything_as_one_person(there: There, tmp_path: Path) -> None:
    run = there.run(Keys(there.installed().evaluator), tmp_path)
    assert run.versions["asked as"] == "one person"
    ended = {one.case_id: one.ended for one in run.attempts}
    assert ended["merger"] == ended["merger-ana"] == "answered"  # the evaluator may know it


def test_other_documents_than_the_set_s_are_not_asked(there: There, tmp_path: Path) -> None:
    keys = there.installed()
    changed = replace(there.case_set.documents[1], original=b"Lunch is served at 15.")
    others = {
        "lunch.md": replace(there.case_set, documents=(there.case_set.documents[0], changed)),
        "deal.md": replace(there.case_set, documents=there.case_set.documents[:2]),
    }
    for name, case_set in others.items():
        with pytest.raises(InvalidInput, match="are not those of the set") as refused:
            there.run(keys, tmp_path, case_set)
        assert name in refused.value.why
    nowhere = Live(there.url, "nowhere", keys)
    with pytest.raises(InvalidInput, match="no collection nowhere"):
        run_live(there.case_set, nowhere, tmp_path, unwatched)
    assert there.answers() == 0


def test_a_reader_s_key_opens_no_record(there: There, tmp_path: Path) -> None:
    """Of a set that he may read all of, so that nothing else is in the way."""
    keys = there.installed()
    admin = keys.of("mia")
    for one in there.admin.send("GET", "/v1/collections/small-v1/documents")["documents"]:
        there.admin.send("PUT", f"/v1/documents/{one['id']}/acl", {"allow": ["everyone"]})
    with pytest.raises(InvalidInput, match="does not open the record"):
        there.run(Keys(keys.of("bob")), tmp_path / "bob")
    assert there.run(Keys(admin), tmp_path / "mia").attempts[0].candidates


def test_nothing_is_put_where_other_people_are(there: There) -> None:
    there.admin.send("POST", "/v1/users", {"id": "clerk"})
    with pytest.raises(Conflict, match="other people in this tenant: 1, clerk"):
        there.installed()
    there.admin.send("DELETE", "/v1/users/clerk")
    there.admin.send("POST", "/v1/users", {"id": "ana", "role": "evaluator"})  # of another kind
    with pytest.raises(Conflict, match="ana among them"):
        there.installed()
    assert there.admin.send("GET", "/v1/collections") == []
    assert there.admin.send("GET", "/v1/groups") == []


def test_what_cannot_be_right_is_said_and_nothing_is_overwritten(there: There, tmp_path: Path) -> None:
    admin_key, other, reader = tmp_path / "admin", tmp_path / "letter.txt", tmp_path / "reader"
    admin_key.write_text(there.admin.key)
    other.write_text("Dear Ana")
    reader.write_text(there.installed().of("ana"))
    install = ("install", str(there.folder), "--url", there.url)
    calls = {
        (*install, "--key-file", str(admin_key), "--keys", str(other)): (2, "letter.txt cannot be used"),
        (*install, "--key-file", str(admin_key), "--keys", str(tmp_path / "a" / "b")): (2, "no folder"),
        (*install, "--key-file", str(admin_key), "--keys", str(tmp_path / ("k" * 253))): (2, "too long"),
        (*install, "--key-file", str(other), "--keys", str(tmp_path / "new")): (2, "letter.txt cannot"),
        (*install, "--key-file", str(reader), "--keys", str(tmp_path / "new")): (1, "(404)"),
        ("run", str(there.folder), "--url", there.url): (2, "go together"),
        ("run", str(there.folder), "--key-file", str(reader)): (2, "go together"),
        ("run", str(there.folder), "--url", "file:///etc", "--key-file", str(reader)): (2, "no address"),
        ("run", str(there.folder), "--url", "http://127.0.0.1:1", "--key-file", str(reader)): (1, "refused"),
    }
    for arguments, (code, said) in calls.items():
        ended = citeward(there, *arguments)
        assert (ended.exit_code, said in " ".join(ended.output.split())) == (code, True), ended.output
        assert there.admin.key not in ended.output
    assert other.read_text() == "Dear Ana"
    assert not (tmp_path / "new").exists()


def test_bad_drafts_are_not_for_a_running_service(there: There, tmp_path: Path) -> None:
    scores = tmp_path / "scores.jsonl"
    write_sheet(Sheet("small v1", there.case_set.sha256, "quoting", {}, {}), scores)
    ended = citeward(
        there, "gate", str(there.folder), "--baseline", str(scores), "--drafts", "bad", "--url", there.url
    )
    assert ended.exit_code == 2
    assert "--drafts bad goes without --url" in ended.output


def test_keys_are_written_for_their_owner_alone_whatever_was_there(there: There, tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("{}")
    path.chmod(0o644)
    write_keys(path, {EVALUATOR: there.admin.key, "ana": there.admin.key})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    keys = read_keys(path)
    assert (keys.evaluator, keys.of("ana")) == (there.admin.key, there.admin.key)
    with pytest.raises(InvalidInput, match="no key of bob"):
        keys.of("bob")
    assert there.admin.key not in repr(keys)
