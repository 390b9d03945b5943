"""What clients send, nothing unknown allowed, and what they get where that is no word of the service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ingest.corpus.permissions import parse_access
from ingest.corpus.types import AccessList, Document, DocumentInfo, Role
from ingest.jobs import JobState
from service.equality import Equality
from service.evaluation.scoring.gate_result import GateResult
from service.history import AnswerRecord
from service.releases.release import ALL
from service.releases.standing import Activation
from service.trace import TracedCandidate
from service.types import Answer, Priority

MOST_COLLECTIONS = 100  # of one question
MOST_SUBJECTS = 1000  # of one access list


class Sent(BaseModel):
    """A request body: exactly these fields, exactly of these types."""

    model_config = ConfigDict(extra="forbid", strict=True)


Collections = Annotated[
    list[str] | None,
    Field(max_length=MOST_COLLECTIONS, description="Absent: all that you may read. Empty: none."),
]


class AskRequest(Sent):
    question: Annotated[str, Field(examples=["How many days of annual leave do I have?", "年假有几天？"])]
    collections: Collections = None
    conversation_id: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=64,
            description="Of the answer before, to ask a follow-up. Absent: a new conversation.",
        ),
    ] = None
    max_citations: Annotated[int | None, Field(ge=1, le=1000, description="Most passages used.")] = None
    include_citations: bool = True
    output: Annotated[
        Literal["statements", "text"],
        Field(description="How a language model is asked to write; the same answer's shape, checked alike."),
    ] = "statements"
    priority: Annotated[
        Priority,
        Field(description="batch: everybody else's questions come first. Nobody gets ahead by it."),
    ] = "interactive"


class SearchRequest(Sent):
    query: Annotated[str, Field(examples=["annual leave", "年假"])]
    collections: Collections = None
    top_k: Annotated[int, Field(ge=1, le=50)] = 10


class NewCollection(Sent):
    id: Annotated[str, Field(examples=["handbook"])]
    title: Annotated[str, Field(examples=["Employee handbook"])]


class Access(Sent):
    """Who may read. Entries are "everyone", "user:<id>" or "group:<id>"; a denied one wins."""

    allow: Annotated[list[str], Field(max_length=MOST_SUBJECTS, examples=[["everyone"], ["group:hr"]])] = []
    deny: Annotated[list[str], Field(max_length=MOST_SUBJECTS, examples=[["user:trainee"]])] = []

    def to_access(self) -> AccessList:
        """:raises InvalidInput: for an entry that is no subject."""
        return parse_access(frozenset(self.allow), frozenset(self.deny))


class NewUser(Sent):
    id: Annotated[str, Field(examples=["ana"])]
    role: Role = "reader"


class NewGroup(Sent):
    id: Annotated[str, Field(examples=["hr"])]


class NewKeyRequest(Sent):
    name: Annotated[str, Field(max_length=100, examples=["laptop"])] = ""


class GateRun(Sent):
    """What `citeward eval gate … --out FILE` has written."""

    set: str
    set_sha256: str
    baseline_sha256: str
    versions: dict[str, str]
    questions: int
    written: int
    faults: list[str]

    def to_result(self) -> GateResult:
        return GateResult(**(self.model_dump() | {"faults": tuple(self.faults)}))


class NewActivation(Sent):
    """Needs a gate run that the release has passed, or a reason to do without; none if its canary runs."""

    release: Annotated[str, Field(examples=["answer.v2+default.v1"])]
    share: Annotated[
        int, Field(ge=1, le=ALL, description="Percent of the users; the same ones each time.")
    ] = ALL
    gate: GateRun | None = None
    override: Annotated[str | None, Field(description="Why it is put in force without. It is kept.")] = None


# --- answers of the API ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CollectionShown:
    id: str
    title: str
    created_at: str


@dataclass(frozen=True, slots=True)
class AccessShown:
    allow: list[str]
    deny: list[str]
    inherited: bool  # a document without a list of its own is as open as its collection


@dataclass(frozen=True, slots=True)
class DocumentPage:
    documents: tuple[DocumentInfo, ...]
    total: int  # of those that the caller may read
    next: str | None  # the `after` of the page behind this one; null on the last


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The canonical text with its blocks; offsets are code points in `document.text`."""

    document_id: str
    version: int
    document: Document


@dataclass(frozen=True, slots=True)
class JobShown:
    id: str
    collection_id: str
    document_id: str
    version: int
    state: JobState
    attempts: int
    failure_code: str | None
    failure_reason: str | None
    created_at: str
    finished_at: str | None


@dataclass(frozen=True, slots=True)
class ServiceVersions:
    generator: str
    versions: dict[str, str]


@dataclass(frozen=True, slots=True)
class PromptsShown:
    asked: bool  # whether there is a language model; without one answers are quoted and need no prompt
    releases: tuple[str, ...]  # that can be put in force, with their hashes
    in_force: str
    canary: Activation | None
    history: tuple[Activation, ...]  # the oldest first


@dataclass(frozen=True, slots=True)
class AnswerShown:
    answer_id: str
    created_at: str
    finish_reason: str
    question: str
    answer: Answer | None  # null: it was cancelled or failed
    record: AnswerRecord | None  # null unless the caller may see how it was made
    candidates: tuple[TracedCandidate, ...] | None = None  # as `record`: what was found, in its fused order
    equality: Equality | None = None  # can the same text be expected again? null: there is no answer


@dataclass(frozen=True, slots=True)
class Uploaded:
    document_id: str
    version: int
    job_id: str | None  # null: the same bytes were there already
    state: Literal["queued", "reading", "ready", "failed"]  # of this version
    failure_code: str | None = None
    failure_reason: str | None = None


@dataclass(frozen=True, slots=True)
class KeyShown:
    """A key without its secret."""

    prefix: str
    user_id: str
    name: str
    created_at: str
    revoked_at: str | None


@dataclass(frozen=True, slots=True)
class KeyMade:
    """The only time that the key itself is shown."""

    key: str
    prefix: str
    user_id: str
    name: str
    created_at: str


@dataclass(frozen=True, slots=True)
class BudgetShown:
    """A token budget with what follows from it."""

    context_window: int
    reserved_output: int
    system: int
    current_input: int
    history: int
    tool_schema: int
    tool_results: int
    template_overhead: int
    safety_margin: int
    used: int  # by everything but evidence
    prompt: int  # that the whole prompt may have, evidence included
    evidence: int  # left for it


@dataclass(frozen=True, slots=True)
class ScoresShown:
    """How a passage came to its rank; for admins and evaluators."""

    chunk_id: int
    score: float
    meaning: float
    words: float | None


@dataclass(frozen=True, slots=True)
class PassageShown:
    rank: int  # from 1
    collection_id: str
    document_id: str
    version: int
    title: str
    page: int | None
    section: str
    start: int  # code points in the text of that document version, end excluded
    end: int
    text: str
    url: str
    scores: ScoresShown | None  # null unless the caller is an admin or an evaluator


@dataclass(frozen=True, slots=True)
class SearchResult:
    hits: tuple[PassageShown, ...]
