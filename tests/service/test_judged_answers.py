"""A whole answer whose statements a language model judges: shown, dropped, and read apart by tenant."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest
from anyio import to_thread

from ingest.corpus.database import Database
from ingest.corpus.errors import ModelTimeout
from ingest.corpus.types import Principal
from service.admitted import AdmittedGenerator
from service.answer import answer_question
from service.capacity.admission import Admission, Limits
from service.capacity.engine_room import EngineRoom
from service.capacity.reservations import read_ledger
from service.capacity.room import Room
from service.checking.asked import AskedJudge
from service.checking.both import BothJudges
from service.engine.cache import CacheSeen
from service.parts import Parts
from service.types import (
    Answer,
    Done,
    DraftStatement,
    GenerationPolicy,
    GenerationTask,
    Message,
    Prompt,
    Question,
)
from tests.fakes import ScriptedGenerator, SharedWordsChooser, WordChatTokenizer, make_prompting
from tests.service.passages import evidence
from tests.world import EVERYONE, found_company, keep_text, make_parts

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
FACT = "The canteen does open at 8 o'clock."
OTHERWISE = DraftStatement("At 8 o'clock the canteen does open.", ("C1",))
ASKED = Question("When does the canteen open?", "en", collections=("handbook",))


@pytest.fixture
def parts(database: Database, tmp_path: Path) -> Parts:
    parts = make_parts(database, tmp_path)
    for company in ("acme", "globex"):
        found_company(parts, company)
        keep_text(
            parts,
            company,
            "handbook",
            "canteen.txt",
            f"Opening hours\n\n{FACT} It closes at 14 o'clock.",
            EVERYONE,
        )
    return replace(parts, prompting=make_prompting())


def judged(parts: Parts, chooser: SharedWordsChooser, *drafts: DraftStatement) -> Parts:
    judge = BothJudges(parts.judge, AskedJudge(chooser, WordChatTokenizer(), b"secret"))
    return replace(parts, generator=ScriptedGenerator(*drafts), judge=judge)


async def answered(parts: Parts, tenant: str = "acme") -> Answer:
    *_, done = [event async for event in answer_question(ASKED, Principal(tenant, "bob"), parts)]
    assert isinstance(done, Done)
    return done.answer


async def test_what_both_uphold_is_shown_and_the_answer_names_both_judges(parts: Parts) -> None:
    chooser = SharedWordsChooser()
    answer = await answered(judged(parts, chooser, OTHERWISE))
    [statement] = answer.statements
    assert statement.text == OTHERWISE.text
    assert "A language model finds" in statement.verdict.reason
    assert len(chooser.asked) == 1
    version = answer.versions["judge"]
    assert all(name in version for name in ("both-", "words-and-meaning-", "judge.v1.zh@", "shared-words"))


async def test_where_the_model_cannot_be_asked_nothing_but_quotations_is_shown(parts: Parts) -> None:
    """The same draft is shown without that judge: it is its failure that drops it."""
    assert (await answered(replace(parts, generator=ScriptedGenerator(OTHERWISE)))).statements
    failing = SharedWordsChooser(ModelTimeout("The language model was too slow."))
    refused = await answered(judged(parts, failing, OTHERWISE))
    assert refused.refusal is not None
    assert (refused.outcome, refused.refusal.code) == ("refused", "unsupported_answer")
    assert failing.asked
    quoted = await answered(judged(parts, failing, OTHERWISE, DraftStatement(FACT, ("C1",))))
    assert [one.text for one in quoted.statements] == [FACT]


async def test_what_the_rules_reject_is_never_asked_about(parts: Parts) -> None:
    chooser = SharedWordsChooser()
    refused = await answered(judged(parts, chooser, DraftStatement("Helmets are worn by welders.", ("C1",))))
    assert refused.outcome == "refused"
    assert not chooser.asked


async def test_each_tenants_passages_are_read_with_its_own_salt(parts: Parts) -> None:
    chooser = SharedWordsChooser()
    of_both = judged(parts, chooser, OTHERWISE)
    for tenant in ("acme", "globex"):
        await answered(of_both, tenant)
    assert of_both.prompting is not None
    salts = [salt for _, salt in chooser.asked]
    assert salts == [of_both.prompting.salt(tenant) for tenant in ("acme", "globex")]


async def test_no_model_is_asked_what_disagrees_once_the_draft_is_over(parts: Parts) -> None:
    """The other document's figure is found and shown by rules, and quoted."""
    keep_text(
        parts,
        "acme",
        "handbook",
        "other.txt",
        "Old hours\n\nThe canteen does open daily at 9 o'clock.",
        EVERYONE,
    )
    chooser = SharedWordsChooser()
    answer = await answered(judged(parts, chooser, DraftStatement(FACT, ("C1", "C2"))))
    assert answer.disagreements
    assert not chooser.asked


async def test_a_draft_holds_room_for_one_judgement_beside_it(database: Database) -> None:
    """The engine goes on with the draft while it is asked about what the draft has stated."""
    room = EngineRoom(lambda: CacheSeen(Room(64, 8192, 64, 128, 0.0)), 8192)
    limits = Limits(10, {"interactive": 60.0, "batch": 60.0}, 60.0)
    admission = Admission(database, "http://engine", room, limits)
    prompt = Prompt((Message("user", "When?"),), "of a test", tokens=100)
    task = GenerationTask(ASKED, evidence(FACT), prompt, GenerationPolicy("of a test", 156), "5a17")
    held = []

    async def look() -> None:
        held.append(await to_thread.run_sync(lambda: read_ledger(database, "http://engine").held))

    for judgement in (0, 2064):
        generator = AdmittedGenerator(ScriptedGenerator(look), admission, (), judgement)
        async with aclosing(generator.draft(task)) as drafts:
            assert [one async for one in drafts]
    assert held == [2, 2 + 17]
    assert read_ledger(database, "http://engine").held == 0
