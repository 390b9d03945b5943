"""What answering works with, put together once at the start; tests put fakes in."""

from __future__ import annotations

from dataclasses import dataclass

from ingest.corpus.database import Database
from ingest.corpus.seams import Embedder
from ingest.corpus.snapshot import Corpus
from service.nearness import Background
from service.seams import Generator, Judge, Reranker
from service.settings import ServiceSettings


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
    config_hash: str  # of every setting that can change an answer
    code_version: str

    def versions(self) -> dict[str, str]:
        """What made an answer, apart from the index generation, which each question learns for itself."""
        return {
            "code": self.code_version,
            "config": self.config_hash,
            "prompt": "none",
            "policy": "none",
            "model": self.generator.version,
            "embedder": f"{self.embedder.fingerprint.name}@{self.embedder.fingerprint.digest[:12]}",
            "reranker": self.reranker.version,
            "judge": self.judge.version,
        }
