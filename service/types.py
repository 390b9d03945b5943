"""The words of answering: question, candidate, evidence, draft, statement, verdict, citation, answer.

Offsets are code points in the stored text of one document version, start included, end excluded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Literal

from ingest.corpus.errors import InvalidInput
from ingest.corpus.types import StoredChunk
from service.clock import StageClock

Outcome = Literal["answered", "refused"]
RefusalCode = Literal[
    "no_evidence", "insufficient_evidence", "conflicting_evidence", "unsupported_answer", "question_unclear"
]
FinishReason = Literal["stop", "length", "refused", "cancelled", "error"]
Status = Literal["supported", "not_supported", "unknown"]
Level = Literal["grammar", "exists", "permitted", "facts", "support"]
AnswerLanguage = Literal["en", "zh"]
Priority = Literal["interactive", "batch"]
Stage = Literal["understand", "retrieve", "look_up", "rerank", "pack", "generate"]


@dataclass(frozen=True, slots=True)
class Turn:
    """A question asked before in the same conversation, and what its reader may read of the answer."""

    answer_id: str  # "": a client tells of the question, and no answer of it is kept here
    question: str
    understood_as: str  # the question by itself
    said: str  # the statements shown, without markers: these mean nothing outside their answer
    cited: tuple[str, ...]  # titles
    refused: RefusalCode | None = None


RememberedKind = Literal["goal", "constraint", "open", "asked", "said", "cited", "named"]


@dataclass(frozen=True, slots=True)
class Remembered:
    """A piece of a conversation that a language model is told, never evidence; see `memory`."""

    kind: RememberedKind
    text: str
    answer_id: str  # of the turn that it is from; "" as there


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked, already validated: not blank, within the limits, free of control characters."""

    text: str  # by itself: a follow-up is written out before anything is searched
    language: AnswerLanguage  # which language to answer in
    collections: tuple[str, ...] | None = None  # None: all that the principal may read; (): none
    max_citations: int | None = None
    include_citations: bool = True
    output: Literal["statements", "text"] = "statements"
    priority: Priority = "interactive"  # batch waits for everybody else, and longer
    conversation_id: str = ""  # empty: a new one begins
    turns: tuple[Turn, ...] = ()  # of that conversation, oldest first
    as_asked: str | None = None  # None: as `text` has it
    remembered: tuple[Remembered, ...] = ()  # of those turns, for a language model
    about: tuple[str, ...] = ()  # of the turns before, nearest first; the search listens to it a little


# --- finding -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QuerySignals:
    """What about this question decides how far words are trusted."""

    coverage: float  # share of the question's IDF mass that the best lexical hit holds, 0..1


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that at least one search found, with what each search said of it."""

    chunk_id: int
    score: float  # fused; higher is better
    meaning: float  # nearness to the question, see service/nearness.py
    words: float | None  # BM25; None: it holds no word of the question and gets no credit for words
    words_rank: int | None  # from 1, among the rows that hold a query word; None: not in that ranking
    meaning_rank: int | None


@dataclass(frozen=True, slots=True)
class Fused:
    """Candidates, best first, and why the two rankings were weighed so."""

    candidates: tuple[Candidate, ...]
    words_weight: float  # 0..1
    reason: str


@dataclass(frozen=True, slots=True)
class RankedChunk:
    """A candidate with its text, read from the database for this request and permitted by it."""

    stored: StoredChunk
    candidate: Candidate
    score: float  # the reranker's, or the fused one; higher is better


# --- evidence ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Evidence:
    """One passage that the answer may cite."""

    marker: str  # "C1", "C2" … in the order of the evidence
    ranked: RankedChunk
    tokens: int

    @property
    def stored(self) -> StoredChunk:
        return self.ranked.stored


@dataclass(frozen=True, slots=True)
class PackDecision:
    """Why one candidate is in the evidence or not."""

    chunk_id: int
    taken: bool
    reason: str  # a code: "taken", "over_budget", "duplicate", "over_limit", …
    tokens: int


@dataclass(frozen=True, slots=True)
class Packed:
    evidence: tuple[Evidence, ...]
    decisions: tuple[PackDecision, ...]  # one for every candidate, in their order
    tokens: int  # of all evidence together


# --- answering ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of what a language model is given."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a language model is given for one question."""

    messages: tuple[Message, ...]
    version: str  # of the template that made it, with the hash of its text
    tokens: int  # of the final sequence that the target's chat template makes of it, exactly


@dataclass(frozen=True, slots=True)
class GenerationPolicy:
    """How a language model is sampled. What an engine is to be sent is `sampling()`, not the fields.

    :raises InvalidInput: a value out of its range, not finite, or a boolean for a number; names the field.
    """

    version: str
    max_new_tokens: int
    do_sample: bool = False  # False: always the likeliest token, whatever the temperature
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int | None = None  # None: all
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int | None = 0
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _require_number("max_new_tokens", self.max_new_tokens, int, above=0)
        _require_number("temperature", self.temperature, above=0)
        _require_number("top_p", self.top_p, above=0, most=1)
        _require_number("min_p", self.min_p, least=0, most=1)
        _require_number("repetition_penalty", self.repetition_penalty, above=0)
        _require_number("presence_penalty", self.presence_penalty, least=-2, most=2)
        _require_number("frequency_penalty", self.frequency_penalty, least=-2, most=2)
        if self.top_k is not None:
            _require_number("top_k", self.top_k, int, above=0)
        if self.seed is not None:
            _require_number("seed", self.seed, int)
        if not isinstance(self.do_sample, bool):
            raise InvalidInput(
                f"do_sample must be true or false, was: {self.do_sample!r}.", field="do_sample"
            )

    def sampling(self) -> dict[str, float | int | list[str] | None]:
        """Every value by the name that vLLM's API has for it, so that no default of an engine counts."""
        return {
            "max_tokens": self.max_new_tokens,
            "temperature": self.temperature if self.do_sample else 0.0,
            "top_p": self.top_p,
            "top_k": self.top_k or 0,
            "min_p": self.min_p,
            "repetition_penalty": self.repetition_penalty,
            "presence_penalty": self.presence_penalty,
            "frequency_penalty": self.frequency_penalty,
            "seed": self.seed,
            "stop": list(self.stop),
        }


def _require_number(
    name: str,
    value: float,
    kind: type[float] | type[int] = float,
    *,
    above: float = -inf,
    least: float = -inf,
    most: float = inf,
) -> None:
    """:raises InvalidInput: unless it is finite, above < value and least <= value <= most."""
    is_number = isinstance(value, int if kind is int else int | float) and not isinstance(value, bool)
    if is_number and isfinite(value) and above < value and least <= value <= most:
        return
    bounds = [f"above {above:g}"] * (above > -inf) + [f"at least {least:g}"] * (least > -inf)
    bounds += [f"at most {most:g}"] * (most < inf)
    wanted = f"a {'whole ' if kind is int else ''}number {' and '.join(bounds)}".strip()
    raise InvalidInput(f"{name} must be {wanted}, was: {value!r}.", field=name)


@dataclass(frozen=True, slots=True)
class GenerationTask:
    """All that a generator is given."""

    question: Question
    evidence: tuple[Evidence, ...]
    prompt: Prompt | None = None  # None: for a generator that is given none, as the quoting one
    policy: GenerationPolicy | None = None
    tenant_salt: str = ""  # keeps the engine's prefix cache of tenants apart; never the tenant's name
    prompt_of: Callable[[tuple[Evidence, ...]], Prompt] | None = None  # of other evidence, if it must be less
    clock: StageClock = field(default_factory=StageClock, compare=False, repr=False)  # of the question


@dataclass(frozen=True, slots=True)
class DraftStatement:
    """One statement as the generator wrote it, before any check. `text` holds no marker."""

    text: str
    citations: tuple[str, ...]
    malformed: tuple[str, ...] = ()  # what looks like a citation but is none, as it was written


@dataclass(frozen=True, slots=True)
class Generated:
    """The end of a generation."""

    finish_reason: FinishReason  # "length": cut off, so that the last statement may be missing
    input_tokens: int
    output_tokens: int
    timings_ms: Mapping[str, float] = field(default_factory=dict)  # of the engine's part
    tokens_per_second: float | None = None  # of decoding alone; None: not told, or too few to say
    faults: tuple[str, ...] = ()  # codes of what was not as it must be, though an answer came of it
    degraded: tuple[str, ...] = ()  # what the answer has to do without: "quoting" if it was to be a model's
    generator: Literal["vllm", "quoting"] | None = None  # None: the one that was asked
    version: str | None = None
    policy: GenerationPolicy | None = None  # None: the task's own
    passages: int | None = None  # first ones of the evidence that were shown to the model; None: all
    engine: str | None = None  # what made it, as its server says: program, version, hash of its settings


@dataclass(frozen=True, slots=True)
class Span:
    """A supporting stretch of the document version behind a marker."""

    marker: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the checks say of a statement; `level` decided. Anything but "supported" is not shown."""

    status: Status
    level: Level
    reason: str
    score: float | None = None
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """A drafted statement with its verdict."""

    text: str
    citations: tuple[str, ...]
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Citation:
    """What a marker stands for; bound to its answer, so nothing shifts later."""

    marker: str
    collection_id: str
    document_id: str
    version: int
    title: str
    page: int | None
    section: str
    start: int
    end: int
    quote: str
    url: str
    in_force: str | None = None  # when its document says that it holds, 2026-03-01/..; None: it does not say


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two documents that give different figures for what was asked; both are among the statements."""

    marker: str
    figure: str  # as it is written there
    other_marker: str
    other_figure: str
    text: str  # that in words, in the language of the answer


@dataclass(frozen=True, slots=True)
class Refusal:
    code: RefusalCode
    text: str


@dataclass(frozen=True, slots=True)
class Usage:
    input_tokens: int = 0
    output_tokens: int = 0
    evidence_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a reader gets; only supported statements."""

    answer_id: str
    trace_id: str
    outcome: Outcome
    answer: str  # with [C1] markers unless the question asked for none
    language: AnswerLanguage
    statements: tuple[Statement, ...]
    citations: tuple[Citation, ...]
    refusal: Refusal | None
    generator: Literal["vllm", "quoting"]
    degraded: tuple[str, ...]
    usage: Usage
    timings_ms: dict[str, float]
    versions: dict[str, str]
    finish_reason: FinishReason
    conversation_id: str | None = None  # to be sent with a follow-up
    understood_as: str | None = None  # the follow-up as a question by itself; None: answered as it was asked
    disagreements: tuple[Disagreement, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything that made an answer; scores and chunk ids are for admins only."""

    fused: Fused | None = None
    missing: tuple[int, ...] = ()  # candidates not given out: gone, replaced or not permitted
    ranked: tuple[RankedChunk, ...] = ()
    packed: Packed | None = None
    answerable: float | None = None  # probability that the evidence answers; None: there was nothing to weigh
    statements: tuple[Statement, ...] = ()  # dropped ones included
    faults: tuple[str, ...] = ()  # of the generation


# --- events of one answer, in this order -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Progress:
    stage: Stage


@dataclass(frozen=True, slots=True)
class EvidenceFound:
    """Count only: which documents were read is said by the citations."""

    passages: int


@dataclass(frozen=True, slots=True)
class StatementPassed:
    statement: Statement
    citations: tuple[Citation, ...]  # of the markers that this statement is the first to use


@dataclass(frozen=True, slots=True)
class Refused:
    refusal: Refusal


@dataclass(frozen=True, slots=True)
class Done:
    answer: Answer
    trace: Trace = field(default_factory=Trace)


Event = Progress | EvidenceFound | StatementPassed | Refused | Done
