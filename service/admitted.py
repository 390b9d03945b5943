"""A generator that asks for room first: for the whole task or, where there is none, for less of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace
from typing import Literal

from service.capacity.admission import Admission
from service.capacity.hold import Hold, Size
from service.seams import Generator
from service.types import DraftStatement, Generated, GenerationTask

Step = Literal["fewer_evidence", "shorter_output"]


@dataclass(frozen=True, slots=True)
class AdmittedGenerator:
    """Holds the room of a draft until the draft ends, whichever way."""

    model: Generator
    admission: Admission
    steps: Sequence[Step]  # how a task may be made smaller, in this order
    judgement: int = 0  # tokens of what the engine is asked of each statement; 0: it is not its judge

    @property
    def kind(self) -> Literal["vllm", "quoting"]:
        return self.model.kind

    @property
    def version(self) -> str:
        return self.model.version

    async def draft(self, task: GenerationTask) -> AsyncGenerator[DraftStatement | Generated]:
        """Without evidence nothing is held. Errors as of `Admission.hold`, and the model's."""
        if not task.evidence:
            async with aclosing(self.model.draft(task)) as drafts:
                async for drafted in drafts:
                    yield drafted
            return
        ways = Ways(task, self._smaller, self.judgement)
        held = self.admission.hold(task.tenant_salt, task.question.priority, ways.size, ways.sizes)
        async with AsyncExitStack() as ending:
            with task.clock.visit("queue"):
                hold = await ending.enter_async_context(held)
            drafts = await ending.enter_async_context(aclosing(self.model.draft(ways.task(hold.step))))
            async for drafted in drafts:
                if isinstance(drafted, Generated):
                    hold.is_over = True
                    yield told(drafted, hold, ways)
                else:
                    yield drafted

    def _smaller(self, task: GenerationTask) -> Iterator[tuple[Step, GenerationTask]]:
        for step in self.steps:
            made = with_fewer_evidence(task) if step == "fewer_evidence" else with_shorter_output(task)
            if made is not None:
                task = made
                yield step, task


@dataclass(slots=True)
class Ways:
    """A task and what may be made of it; made when it is asked for, as it has to be counted anew."""

    whole: GenerationTask
    make: Callable[[GenerationTask], Iterator[tuple[Step, GenerationTask]]]
    judgement: int  # tokens
    smaller: list[tuple[Step, GenerationTask]] = field(default_factory=list)

    @property
    def size(self) -> Size:
        return size_of(self.whole, self.judgement)

    def sizes(self) -> Sequence[Size]:
        """Of the smaller ones."""
        self.smaller = list(self.make(self.whole))
        return [size_of(task, self.judgement) for _, task in self.smaller]

    def task(self, step: int) -> GenerationTask:
        return self.smaller[step - 1][1] if step else self.whole

    def steps(self, step: int) -> tuple[str, ...]:
        """What was done to make this one."""
        return tuple(name for name, _ in self.smaller[:step])


def with_fewer_evidence(task: GenerationTask) -> GenerationTask | None:
    """The better half."""
    half = task.evidence[: (len(task.evidence) + 1) // 2]
    if len(half) == len(task.evidence):
        return None
    assert task.prompt_of is not None, "a language model must be given a prompt"
    return replace(task, evidence=half, prompt=task.prompt_of(half))


def with_shorter_output(task: GenerationTask) -> GenerationTask | None:
    """Half of the tokens to be written."""
    assert task.policy is not None, "a language model must be given a policy"
    half = task.policy.max_new_tokens // 2
    return replace(task, policy=replace(task.policy, max_new_tokens=half)) if half else None


def size_of(task: GenerationTask, judgement: int) -> Size:
    """Of the draft and of one judgement beside it: the engine goes on with a draft while what it has stated
    is judged, one statement after the other, and no room of its own is asked for that.
    """
    assert task.prompt is not None, "a language model must be given a prompt"
    assert task.policy is not None, "a language model must be given a policy"
    return Size(task.prompt.tokens, task.policy.max_new_tokens, beside=judgement)


def told(end: Generated, hold: Hold, ways: Ways) -> Generated:
    """With the time that it waited here as `queue`; in the engine's own queue it should wait no time."""
    timings = dict(end.timings_ms)
    if "queue" in timings:
        timings["engine_queue"] = timings.pop("queue")
    timings["queue"] = round(hold.waited_ms, 3)
    task = ways.task(hold.step)
    return replace(
        end,
        timings_ms=timings,
        degraded=(*ways.steps(hold.step), *end.degraded),
        policy=task.policy,
        passages=None if len(task.evidence) == len(ways.whole.evidence) else len(task.evidence),
    )
