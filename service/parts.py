"""What answering works with, put together once at the start; tests put fakes in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ingest.corpus.database import Database
from ingest.corpus.errors import NotFound
from ingest.corpus.seams import Embedder
from ingest.corpus.snapshot import Corpus
from service.capacity.admission import Admission
from service.memory import MemoryTemplate
from service.nearness import Background
from service.prompt import PromptTemplate
from service.releases.release import Release
from service.repair import RepairTemplate
from service.seams import ChatTokenizer, Generator, Judge, Reranker
from service.secret import tenant_salt
from service.settings import ServiceSettings
from service.sufficiency import SufficiencyJudge
from service.types import AnswerLanguage, GenerationPolicy, Question


@dataclass(frozen=True, slots=True)
class Prompting:
    """What a language model is asked with."""

    chat: ChatTokenizer
    release: Release
    key_secret: bytes = field(repr=False)
    releases: Mapping[str, Release] = field(repr=False)  # by name: what it may be asked with
    repairs: Mapping[AnswerLanguage, RepairTemplate] | None = None  # None: there is no second try
    memories: Mapping[AnswerLanguage, MemoryTemplate] | None = None  # None: nothing is told of a conversation

    @property
    def templates(self) -> Mapping[AnswerLanguage, PromptTemplate]:
        return self.release.templates

    @property
    def policy(self) -> GenerationPolicy:
        return self.release.policy

    def with_release(self, name: str) -> Prompting:
        """:raises NotFound: if there is no such release."""
        if name not in self.releases:
            raise NotFound(
                f"There is no release {name}.",
                why=f"There are {', '.join(self.releases)}.",
                next_step="Name one of these.",
            )
        return replace(self, release=self.releases[name])

    def salt(self, tenant_id: str) -> str:
        return tenant_salt(self.key_secret, tenant_id)

    def told_before(self, question: Question) -> str:
        """What is said of the conversation behind the question; "" where it is the first."""
        if self.memories is None:
            return ""
        return self.memories[question.language].note(question.remembered, self.chat.control_tokens)

    def versions(self, language: AnswerLanguage) -> dict[str, str]:
        repair = self.repairs[language].version if self.repairs else "none"
        memory = self.memories[language].version if self.memories else "none"
        return {
            "prompt": self.templates[language].version,
            "policy": self.policy.version,
            "repair": repair,
            "memory": memory,
        }


@dataclass(frozen=True, slots=True)
class Parts:
    settings: ServiceSettings
    database: Database
    corpus: Corpus
    embedder: Embedder
    background: Background
    reranker: Reranker
    generator: Generator
    judge: Judge
    sufficiency: SufficiencyJudge
    config_hash: str  # of every setting that can change an answer
    code_version: str
    prompting: Prompting | None = None  # None: there is no language model
    admission: Admission | None = None  # None: nothing has to be let in

    def versions(self) -> dict[str, str]:
        """What made an answer, apart from what each question decides: index generation, prompt and policy."""
        return {
            "code": self.code_version,
            "config": self.config_hash,
            "release": self.prompting.release.version if self.prompting else "none",
            "prompt": "none",
            "policy": "none",
            "model": self.generator.version,
            "embedder": f"{self.embedder.fingerprint.name}@{self.embedder.fingerprint.digest[:12]}",
            "reranker": self.reranker.version,
            "judge": self.judge.version,
            "sufficiency": self.sufficiency.answerability.version,
        }
