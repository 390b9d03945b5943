"""All that is known of an answer while it is made, and the answer and the record made of that."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from secrets import token_hex
from typing import Literal, ParamSpec, TypeVar

from anyio import CancelScope, to_thread

from ingest.corpus.database import Database
from ingest.corpus.ids import new_id
from ingest.corpus.types import Principal
from service.checking.cite import render
from service.clock import StageClock
from service.editions import period_of
from service.fit import BOUNDARY_BYTES, prompt_of
from service.history import AnswerRecord, RememberedFrom, ScoredChunk, keep_answer
from service.parts import Parts
from service.safety import inspect_output
from service.trace import RetrievedChunk
from service.types import (
    Answer,
    Candidate,
    Citation,
    Disagreement,
    Evidence,
    FinishReason,
    Fused,
    Generated,
    GenerationTask,
    Packed,
    Prompt,
    Question,
    RankedChunk,
    Refusal,
    Statement,
    Trace,
    Usage,
)

P = ParamSpec("P")
T = TypeVar("T")
NOTHING_FUSED = Fused((), 0.0, "nothing searched")
NOTHING_PACKED = Packed((), (), 0)


@dataclass(slots=True)
class AnswerInProgress:
    """The one changing object of a question: each stage leaves here what it found."""

    question: Question
    principal: Principal
    parts: Parts
    answer_id: str
    trace_id: str = field(default_factory=lambda: new_id("trc"))
    conversation_id: str = field(default_factory=lambda: new_id("cnv"))  # of a new one
    clock: StageClock = field(default_factory=StageClock)
    generation: str = ""  # of the indexes that were searched
    fused: Fused = NOTHING_FUSED
    ranked: tuple[RankedChunk, ...] = ()
    rerank_fault: str | None = None  # why they are in the fused order though another was to be found
    boundary: str = field(default_factory=lambda: token_hex(BOUNDARY_BYTES))  # of evidence in a prompt
    packed: Packed = NOTHING_PACKED
    answerable: float | None = None  # probability that the evidence answers; None: there is none
    prompt: Prompt | None = None  # None: nothing was generated, or not by a language model
    generated: Generated | None = None
    drafts: list[Generated] = field(default_factory=list)  # the same, of each draft by itself
    statements: list[Statement] = field(default_factory=list)  # dropped ones included
    repair: str = ""  # "tried", or a code: why a second draft came to nothing; empty: none was called for
    disagreements: list[Disagreement] = field(default_factory=list)  # among the statements shown
    refusal: Refusal | None = None
    failure: FinishReason | None = None  # "cancelled" or "error" when it ended before its time
    fault: str = ""  # what ended it then, a code; also where the record could not be kept
    answer: Answer | None = None  # made once, at the end: what is kept is what is handed out

    def __post_init__(self) -> None:
        self.conversation_id = self.question.conversation_id or self.conversation_id

    async def timed(self, stage: str, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Blocking work in a thread, its time added to the stage."""
        with self.clock.stage(stage):
            return await to_thread.run_sync(lambda: work(*args, **kwargs))

    @asynccontextmanager
    async def kept_whatever_happens(self, database: Database) -> AsyncIterator[None]:
        """The record is written when the block ends: also on an error, also when the client has gone."""
        try:
            yield
        except Exception:
            self.failure = "error"
            raise
        except BaseException:  # cancelled, or the reader of the events left
            self.failure = "cancelled"
            raise
        finally:
            self.answer = None if self.failure else self._make_answer()
            with CancelScope(shield=True):
                await to_thread.run_sync(self._keep, database)

    def _keep(self, database: Database) -> None:
        with database.writing() as session:
            keep_answer(session, self.record(), self.answer)

    # --- what was made of it -------------------------------------------------------------------

    @property
    def shown(self) -> tuple[Statement, ...]:
        return tuple(one for one in self.statements if one.verdict.status == "supported")

    @property
    def finish_reason(self) -> FinishReason:
        if self.failure:
            return self.failure
        if self.refusal:
            return "refused"
        return self.generated.finish_reason if self.generated else "error"

    @property
    def generator(self) -> Literal["vllm", "quoting"]:
        """The one that made the answer, which need not be the one that was asked."""
        return self.made.generator or self.parts.generator.kind

    @property
    def made(self) -> Generated:
        """The end of the generation, or that of none."""
        return self.generated or Generated("stop", 0, 0)

    def usage(self) -> Usage:
        return Usage(self.made.input_tokens, self.made.output_tokens, self.packed.tokens)

    def versions(self) -> dict[str, str]:
        """With the model that made the answer, were it not the one that was asked."""
        prompting = self.parts.prompting
        asked_with = prompting.versions(self.question.language) if prompting else {}
        versions = {**self.parts.versions(), **asked_with, "index_generation": self.generation}
        made_by = {"model": self.made.version or versions["model"], "engine": self.made.engine or "none"}
        return {**versions, **made_by}

    def task(self, note: str = "") -> GenerationTask:
        """All that the generator is given; with a note, what it is told of its first draft."""
        prompting = self.parts.prompting
        noted = partial(self._prompt_of, note=note)
        return GenerationTask(
            question=self.question,
            evidence=self.packed.evidence,
            prompt=noted(self.packed.evidence) if note else self.prompt,
            policy=prompting.policy if prompting else None,
            tenant_salt=prompting.salt(self.principal.tenant_id) if prompting else "",
            prompt_of=noted if prompting else None,
            clock=self.clock,
        )

    def _prompt_of(self, evidence: tuple[Evidence, ...], note: str) -> Prompt:
        assert self.parts.prompting is not None, "without a language model there is no prompt"
        return prompt_of(self.question, evidence, token_hex(BOUNDARY_BYTES), self.parts.prompting, note)

    def timings_ms(self) -> dict[str, float]:
        """With `tokens_per_second` among them, the one that is no time."""
        rate = self.made.tokens_per_second
        decoded = {} if rate is None else {"tokens_per_second": rate}
        return {**self.made.timings_ms, **decoded, **self.clock.timings_ms()}

    def _make_answer(self) -> Answer:
        """With its citations even where none were asked for: what is kept must say what it rests on."""
        shown = () if self.refusal else self.shown
        return Answer(
            answer_id=self.answer_id,
            trace_id=self.trace_id,
            outcome="refused" if self.refusal else "answered",
            answer=render(shown),
            language=self.question.language,
            statements=shown,
            citations=tuple(cite(shown, self.packed.evidence)),
            refusal=self.refusal,
            generator=self.generator,
            degraded=(*(("fused_order",) if self.rerank_fault else ()), *self.made.degraded),
            usage=self.usage(),
            timings_ms=self.timings_ms(),
            versions=self.versions(),
            finish_reason=self.finish_reason,
            conversation_id=self.conversation_id,
            understood_as=self._understood_as,
            disagreements=() if self.refusal else tuple(self.disagreements),
        )

    def trace(self) -> Trace:
        missing = tuple(one.chunk_id for one in self._denied())
        return Trace(
            fused=self.fused,
            missing=missing,
            ranked=self.ranked,
            packed=self.packed,
            answerable=self.answerable,
            statements=tuple(self.statements),
            faults=self.made.faults,
        )

    def record(self) -> AnswerRecord:
        usage = self.usage()
        return AnswerRecord(
            answer_id=self.answer_id,
            trace_id=self.trace_id,
            tenant_id=self.principal.tenant_id,
            user_id=self.principal.user_id,
            question=self.question.as_asked or self.question.text,
            collections=self.question.collections,
            versions=self.versions(),
            sampling=self._sampling(),
            language=self.question.language,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            evidence_tokens=usage.evidence_tokens,
            words_weight=self.fused.words_weight,
            words_reason=self.fused.reason,
            answerable=self.answerable,
            repair=self.repair,
            retrieved=tuple(
                RetrievedChunk(c.chunk_id, c.score, c.words_rank, c.meaning_rank)
                for c in self.fused.candidates
            ),
            denied=tuple(ScoredChunk(c.chunk_id, c.score) for c in self._denied()),
            ranked=tuple(one.stored.id for one in self.ranked),
            used=tuple(ScoredChunk(e.stored.id, e.ranked.score) for e in self.packed.evidence),
            left_out={str(d.chunk_id): d.reason for d in self.packed.decisions if not d.taken},
            timings_ms=self.answer.timings_ms if self.answer else self.timings_ms(),
            finish_reason=self.finish_reason,
            statements=tuple(self.statements),
            refusal_code=self.refusal.code if self.refusal else None,
            safety=inspect_output(self.answer.answer) if self.answer else None,
            conversation_id=self.conversation_id,
            understood_as=self._understood_as,
            remembered=tuple(RememberedFrom(one.kind, one.answer_id) for one in self.question.remembered),
            heard=tuple(turn.answer_id for turn in self.question.turns if turn.answer_id)
            if self.question.about
            else (),
        )

    @property
    def _understood_as(self) -> str | None:
        return None if self.question.as_asked is None else self.question.text

    def _sampling(self) -> dict[str, int | float | list[str] | None]:
        """The values as they were sent; none where nothing was, or quoting took over."""
        prompting = self.parts.prompting
        sent = prompting is not None and self.prompt is not None and self.generator == "vllm"
        return (self.made.policy or prompting.policy).sampling() if prompting and sent else {}

    def _denied(self) -> tuple[Candidate, ...]:
        given = {one.stored.id for one in self.ranked}
        looked_up = self.fused.candidates[: self.parts.settings.search_depth]
        return tuple(one for one in looked_up if one.chunk_id not in given)


def cite(statements: Sequence[Statement], evidence: Iterable[Evidence]) -> Iterable[Citation]:
    """One citation for each marker used, quoting from its first to its last supporting span."""
    used = {marker for statement in statements for marker in statement.citations}
    for one in evidence:
        if one.marker in used:
            yield _citation(one, statements)


def _citation(evidence: Evidence, statements: Sequence[Statement]) -> Citation:
    stored, chunk = evidence.stored, evidence.stored.chunk
    spans = [span for one in statements for span in one.verdict.spans if span.marker == evidence.marker]
    start = min((span.start for span in spans), default=chunk.start)
    end = max((span.end for span in spans), default=chunk.end)
    return Citation(
        marker=evidence.marker,
        collection_id=stored.collection_id,
        document_id=stored.document_id,
        version=stored.version,
        title=stored.title,
        page=chunk.page,
        section=chunk.section,
        start=start,
        end=end,
        quote=chunk.text[start - chunk.start : end - chunk.start],
        url=f"/v1/documents/{stored.document_id}/versions/{stored.version}#char={start},{end}",
        in_force=str(period) if (period := period_of(stored.opening)) else None,
    )
