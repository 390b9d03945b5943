"""A question that has ended to the spans of its trace: what took how long, with codes, counts and versions.

No text of a question, a document, a prompt or an answer is in a span, nor who asked. Names that begin with
`gen_ai` are OpenTelemetry's for generative AI, which are in development still: they stand here alone.
Knows nothing of OpenTelemetry itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal
from urllib.parse import urlsplit

from service.assemble import AnswerInProgress
from service.clock import CANCELLED, Visit
from service.settings import ServiceSettings
from service.types import Generated, GenerationPolicy

Value = str | bool | int | float | tuple[str, ...]
Kind = Literal["server", "internal", "client"]
ROOT = "ask"
DRAFTING = "generate"  # the stage within which others are gone through
CHAT = "chat"  # the name that the conventions have for it, and the clock for the request to the engine
SAMPLED = ("temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty", "seed")


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of work within a trace; nanoseconds since 1970."""

    name: str
    kind: Kind
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Value] = field(default_factory=dict)
    error: str = ""  # the code of what failed; empty: nothing did. A refusal is no failure, nor is who left.
    children: tuple[Span, ...] = ()

    def walk(self) -> Iterator[Span]:
        yield self
        for child in self.children:
            yield from child.walk()


def question_span(making: AnswerInProgress, request_id: str) -> Span:
    """The whole trace of a question that has just ended, whichever way."""
    visits = sorted(making.clock.visits, key=lambda one: one.start)
    drafting = [one for one in visits if one.stage == DRAFTING]
    return Span(
        ROOT,
        "server",
        making.clock.started_at_ns,
        making.clock.at_ns(time.perf_counter()),
        _with_fault(_of_question(making, request_id), making.fault),
        _error(making.fault),
        tuple(
            _draft_span(one, visits, making, drafting.index(one))
            if one.stage == DRAFTING
            else _stage_span(one, making)
            for one in visits
            if not any(_is_within(one, draft) for draft in drafting)
        ),
    )


def _draft_span(draft: Visit, visits: Sequence[Visit], making: AnswerInProgress, number: int) -> Span:
    """With what was gone through meanwhile: the wait for room, the model's call, the checks."""
    end = making.drafts[number] if number < len(making.drafts) else None  # the last may have none
    within = (one for one in visits if _is_within(one, draft))
    children = (
        _chat_span(one, making, end) if one.stage == CHAT else _stage_span(one, making) for one in within
    )
    return replace(_stage_span(draft, making), children=tuple(children))


def _is_within(one: Visit, other: Visit) -> bool:
    return one is not other and other.start <= one.start and one.end <= other.end


def _stage_span(visit: Visit, making: AnswerInProgress) -> Span:
    clock, fault = making.clock, visit.fault
    start_ns, end_ns = clock.at_ns(visit.start), clock.at_ns(visit.end)
    return Span(visit.stage, "internal", start_ns, end_ns, _with_fault({}, fault), _error(fault))


def _chat_span(visit: Visit, making: AnswerInProgress, end: Generated | None) -> Span:
    """:param end: of the draft that called; None: it had none."""
    return replace(
        _stage_span(visit, making),
        name=f"{CHAT} {making.parts.settings.llm}",
        kind="client",
        attributes=_with_fault(_of_chat(visit, making, end), visit.fault),
    )


def _error(fault: str) -> str:
    return "" if fault == CANCELLED else fault


def _with_fault(attributes: Mapping[str, Value], fault: str) -> Mapping[str, Value]:
    if not fault:
        return attributes
    return {**attributes, **({"citeward.cancelled": True} if fault == CANCELLED else {"error.type": fault})}


def _of_question(making: AnswerInProgress, request_id: str) -> dict[str, Value]:
    question, usage = making.question, making.usage()
    ended: dict[str, Value] = {}
    if making.refusal is not None and not making.fault:
        ended["citeward.refusal_code"] = making.refusal.code
    if "first_statement" in making.clock.stages_ms:
        ended["citeward.first_statement_ms"] = making.clock.stages_ms["first_statement"]
    return {
        "citeward.trace_id": making.trace_id,
        "citeward.answer_id": making.answer_id,
        "citeward.request_id": request_id,
        "gen_ai.conversation.id": making.conversation_id,
        "citeward.outcome": _outcome(making),
        "citeward.finish_reason": making.finish_reason,
        "citeward.generator": making.generator,
        "citeward.degraded": making.answer.degraded if making.answer else making.made.degraded,
        "citeward.faults": making.made.faults,
        "citeward.repair": making.repair or "none",
        "citeward.language": question.language,
        "citeward.output": question.output,
        "citeward.priority": question.priority,
        "citeward.turns_before": len(question.turns),
        "citeward.candidates": len(making.fused.candidates),
        "citeward.ranked": len(making.ranked),
        "citeward.evidence": len(making.packed.evidence),
        "citeward.evidence_tokens": usage.evidence_tokens,
        "citeward.statements_shown": 0 if making.refusal else len(making.shown),
        "citeward.statements_dropped": len(making.statements) - len(making.shown),
        "citeward.disagreements": len(making.disagreements),
        **{f"citeward.version.{name}": version for name, version in _versions(making)},
        **ended,
    }


def _versions(making: AnswerInProgress) -> Iterator[tuple[str, str]]:
    """Without the indexes', which names the collections."""
    return ((name, version) for name, version in making.versions().items() if name != "index_generation")


def _outcome(making: AnswerInProgress) -> str:
    if making.fault:
        return CANCELLED if making.fault == CANCELLED else "error"
    return "refused" if making.refusal else "answered"


# --- the model's call ------------------------------------------------------------------------------


def _of_chat(visit: Visit, making: AnswerInProgress, end: Generated | None) -> dict[str, Value]:
    """A draft that quoting took over has an end, and it is not this call's."""
    settings, prompting = making.parts.settings, making.parts.prompting
    heard = end if end is not None and end.generator != "quoting" and not visit.fault else None
    policy = (heard.policy if heard else None) or (prompting.policy if prompting else None)
    return {
        "gen_ai.operation.name": CHAT,
        "gen_ai.provider.name": "vllm",
        "gen_ai.conversation.id": making.conversation_id,
        "gen_ai.output.type": "text" if making.question.output == "text" else "json",
        "gen_ai.request.model": settings.llm,
        "gen_ai.request.stream": True,
        **(_of_request(policy, heard is not None) if policy else {}),
        **_of_response(heard, settings),
        **_of_server(settings),
    }


def _of_request(policy: GenerationPolicy, is_known: bool) -> dict[str, Value]:
    """:param is_known: False: of a call without an end nobody has said for how many tokens it was let in."""
    sent = policy.sampling()
    told = {name: value for name in SAMPLED if isinstance(value := sent[name], int | float)}
    if not policy.top_k:  # 0 is vLLM's word for all
        del told["top_k"]
    if is_known:
        told["max_tokens"] = policy.max_new_tokens
    return {f"gen_ai.request.{name}": value for name, value in told.items()}


def _of_response(heard: Generated | None, settings: ServiceSettings) -> dict[str, Value]:
    if heard is None:
        return {"gen_ai.response.finish_reasons": ("error",)}  # the conventions' word for one that never came
    told: dict[str, Value] = {
        "gen_ai.response.model": settings.llm,  # the adapter takes no other
        "gen_ai.response.finish_reasons": (heard.finish_reason,),
    }
    if "usage_missing" not in heard.faults:
        told["gen_ai.usage.input_tokens"] = heard.input_tokens
        told["gen_ai.usage.output_tokens"] = heard.output_tokens
    if "ttft" in heard.timings_ms:
        told["gen_ai.response.time_to_first_chunk"] = heard.timings_ms["ttft"] / 1000  # seconds
    return told


def _of_server(settings: ServiceSettings) -> dict[str, Value]:
    address = urlsplit(settings.engine_url)
    return {"server.address": address.hostname or "", "server.port": address.port or 80}
