"""What is recorded of a question, however it ends."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from ingest.corpus.database import Database
from ingest.corpus.store import delete_document
from ingest.corpus.types import Principal
from service.answer import answer_question
from service.history import RECORD, AnswerRecord, AnswerRow, get_answer
from service.parts import Parts
from service.rerank import FusedOrder
from service.seams import Reranked
from service.types import (
    Done,
    DraftStatement,
    Event,
    EvidenceFound,
    Generated,
    GenerationTask,
    Progress,
    Question,
    RankedChunk,
    Refused,
    StatementPassed,
)
from tests.fakes import ScriptedGenerator, make_prompting
from tests.world import EVERYONE, found_company, keep_text, make_parts

BOB = Principal("acme", "bob")
FACT = "The canteen does open at 8 o'clock."
ASKED = Question("When does the canteen open?", "en", collections=("handbook",))


@pytest.fixture
def parts(database: Database, tmp_path: Path) -> Parts:
    parts = make_parts(database, tmp_path)
    found_company(parts, "acme")
    keep_text(parts, "acme", "handbook", "canteen.txt", f"{FACT} It closes at 14 o'clock.", EVERYONE)
    return parts


async def events(parts: Parts, question: Question = ASKED) -> list[Event]:
    return [event async for event in answer_question(question, BOB, parts)]


def record_of(parts: Parts) -> AnswerRecord:
    with parts.database.reading() as session:
        return RECORD.validate_json(session.scalars(select(AnswerRow.record)).one())


def scripted(parts: Parts, *drafts: DraftStatement | Exception) -> Parts:
    return replace(parts, generator=ScriptedGenerator(*drafts))


async def test_the_way_is_told_in_order_and_ends_with_the_whole_answer(parts: Parts):
    told = await events(scripted(parts, DraftStatement(FACT, ("C1",))))
    stages = [event.stage for event in told if isinstance(event, Progress)]
    assert stages == ["retrieve", "look_up", "rerank", "pack", "generate"]
    done = told[-1]
    assert isinstance(done, Done)
    assert [event.statement for event in told if isinstance(event, StatementPassed)] == list(
        done.answer.statements
    )
    assert sum(isinstance(event, EvidenceFound) for event in told) == 1
    assert done.answer.answer.count("[C1]") == 1
    (citation,) = done.answer.citations
    assert citation.quote == FACT


async def test_an_answer_in_the_fused_order_though_another_was_to_be_found_says_so(parts: Parts):
    class Failing(FusedOrder):
        def rerank(self, question: str, chunks: Sequence[RankedChunk]) -> Reranked:
            return replace(super().rerank(question, chunks), fault="rerank_timeout")

    (*_, done) = await events(replace(parts, reranker=Failing()))
    assert isinstance(done, Done)
    assert done.answer.outcome == "answered"
    assert done.answer.degraded == ("fused_order",)


async def test_every_field_of_the_record_is_filled_for_an_answer(parts: Parts):
    wrong = DraftStatement("The canteen does open at 9 o'clock.", ("C1",))
    (*_, done) = await events(scripted(parts, DraftStatement(FACT, ("C1",)), wrong))
    assert isinstance(done, Done)
    record = record_of(parts)
    assert (record.answer_id, record.trace_id) == (done.answer.answer_id, done.answer.trace_id)
    with parts.database.reading() as session:
        assert get_answer(session, BOB, record.answer_id).answer == done.answer  # its timings too
    assert (record.tenant_id, record.user_id, record.question) == ("acme", "bob", ASKED.text)
    assert record.collections == ("handbook",)
    assert {
        "prompt",
        "policy",
        "model",
        "engine",
        "embedder",
        "reranker",
        "judge",
        "config",
        "code",
    } <= record.versions.keys()
    assert record.versions["model"] == "scripted"
    assert record.versions["index_generation"].startswith("handbook=")
    assert record.sampling == {}  # nothing is sampled
    assert (record.input_tokens, record.output_tokens) == (120, 30)
    assert record.evidence_tokens > 0
    assert record.words_weight is not None
    assert record.words_reason
    assert {one.chunk_id for one in record.used} <= {one.chunk_id for one in record.retrieved}
    assert record.denied == ()
    assert record.left_out.keys().isdisjoint({str(one.chunk_id) for one in record.used})
    assert record.tool_calls == ()
    assert {
        "retrieve",
        "look_up",
        "rerank",
        "pack",
        "generate",
        "check",
        "check_longest",
        "first_statement",
        "e2e",
    } <= record.timings_ms.keys()
    assert 0 < record.timings_ms["check_longest"] < record.timings_ms["check"]  # of two statements
    assert record.finish_reason == "stop"
    assert [one.verdict.status for one in record.statements] == ["supported", "not_supported"]
    assert record.refusal_code is None
    assert record.safety is not None
    assert (record.safety.links, record.safety.images) == (0, 0)


async def test_a_language_model_is_given_a_prompt_a_policy_and_a_salt_and_the_record_says_which(parts: Parts):
    asking = replace(scripted(parts, DraftStatement(FACT, ("C1",))), prompting=make_prompting())
    assert asking.prompting is not None
    assert isinstance(asking.generator, ScriptedGenerator)
    told = await events(asking)
    stages = [event.stage for event in told if isinstance(event, Progress)]
    assert stages == ["retrieve", "look_up", "rerank", "pack", "generate"]
    (task,) = asking.generator.tasks
    assert task.prompt is not None
    assert task.policy is not None
    assert FACT in task.prompt.messages[1].content
    assert ASKED.text in task.prompt.messages[1].content
    assert task.policy.max_new_tokens == asking.settings.reserved_output
    assert task.tenant_salt == asking.prompting.salt(BOB.tenant_id)
    record = record_of(parts)
    assert record.versions["prompt"] == task.prompt.version == asking.prompting.templates["en"].version
    assert record.versions["policy"] == task.policy.version
    assert record.sampling == task.policy.sampling()
    assert (*told,)[-1].answer.versions == record.versions  # type: ignore[union-attr]


async def test_before_a_refusal_nothing_was_sampled_and_it_has_its_versions(parts: Parts):
    asking = replace(scripted(parts, AssertionError("generated")), prompting=make_prompting())
    await events(asking, Question("附近有地铁站吗？", "zh", collections=()))
    record = record_of(parts)
    assert record.versions["prompt"].startswith("answer.v1.zh@")
    assert record.sampling == {}


async def test_where_quoting_took_over_nothing_was_sampled(parts: Parts):
    class Fallen(ScriptedGenerator):
        async def draft(self, task: GenerationTask) -> AsyncGenerator[DraftStatement | Generated, None]:  # noqa: ARG002
            yield DraftStatement(FACT, ("C1",))
            yield Generated("stop", 0, 0, degraded=("quoting",), generator="quoting", version="quoting-test")

    await events(replace(parts, generator=Fallen(), prompting=make_prompting()))
    record = record_of(parts)
    assert record.sampling == {}
    assert record.versions["model"] == "quoting-test"


async def test_every_request_has_a_boundary_of_its_own(parts: Parts):
    asking = replace(scripted(parts, DraftStatement(FACT, ("C1",))), prompting=make_prompting())
    assert isinstance(asking.generator, ScriptedGenerator)
    for _ in range(2):
        await events(asking)
    first, second = (task.prompt for task in asking.generator.tasks)
    assert first is not None
    assert second is not None
    assert first.messages[0] == second.messages[0]
    assert first.messages[1] != second.messages[1]


def test_a_salt_tells_tenants_apart_and_not_their_names():
    salts = {make_prompting().salt(tenant) for tenant in ("acme", "acme2", "globex", "")}
    assert len(salts) == 4
    assert all(re.fullmatch("[0-9a-f]{32}", salt) for salt in salts)
    other = replace(make_prompting(), key_secret=b"another secret of the same length")
    assert other.salt("acme") not in salts
    assert make_prompting().salt("acme") in salts
    assert "salted" not in repr(other) + repr(make_prompting())  # the secret is in no log of a crash


async def test_what_no_statement_supports_is_refused_and_the_drafts_are_kept_out_of_the_answer(parts: Parts):
    told = await events(scripted(parts, DraftStatement("The canteen does open at 9 o'clock.", ("C1",))))
    assert not any(isinstance(event, StatementPassed) for event in told)
    refused = next(event for event in told if isinstance(event, Refused))
    assert refused.refusal.code == "unsupported_answer"
    record = record_of(parts)
    assert (record.finish_reason, record.refusal_code) == ("refused", "unsupported_answer")
    assert [one.verdict.level for one in record.statements] == ["facts"]


async def test_without_collections_nothing_is_generated(parts: Parts):
    never = scripted(parts, AssertionError("generated without evidence"))
    (*_, done) = await events(never, replace(ASKED, collections=()))
    assert isinstance(done, Done)
    assert done.answer.refusal is not None
    assert done.answer.refusal.code == "no_evidence"
    assert record_of(parts).retrieved == ()


async def test_an_error_is_recorded_with_all_that_was_known(parts: Parts):
    broken = scripted(parts, DraftStatement(FACT, ("C1",)), RuntimeError("engine gone"))
    with pytest.raises(RuntimeError, match="engine gone"):
        await events(broken)
    record = record_of(parts)
    assert record.finish_reason == "error"
    assert record.used
    assert [one.verdict.status for one in record.statements] == ["supported"]
    assert record.safety is None


async def test_a_reader_who_leaves_is_recorded_as_cancelled(parts: Parts):
    async with aclosing(answer_question(ASKED, BOB, parts)) as told:
        async for event in told:
            if isinstance(event, EvidenceFound):
                break
    record = record_of(parts)
    assert (record.finish_reason, record.statements) == ("cancelled", ())
    assert record.used


async def test_a_citation_of_what_was_revoked_while_it_was_written_is_withheld(parts: Parts):
    class Revoking(ScriptedGenerator):
        async def draft(self, task: GenerationTask) -> AsyncGenerator[DraftStatement | Generated, None]:
            remove(parts, task)
            async for each in super().draft(task):
                yield each

    changed = replace(parts, generator=Revoking(DraftStatement(FACT, ("C1",))))
    told = await events(changed)
    assert not any(isinstance(event, StatementPassed) for event in told)
    assert [one.verdict.level for one in record_of(parts).statements] == ["permitted"]


def remove(parts: Parts, task: GenerationTask) -> None:
    with parts.database.writing() as session:
        for document_id in {one.stored.document_id for one in task.evidence}:
            delete_document(session, "acme", document_id)
