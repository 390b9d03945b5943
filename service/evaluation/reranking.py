"""What the reranker that the settings name makes of the fused order of a question, and how long it takes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from statistics import median
from time import process_time

from ingest.corpus.errors import Unavailable
from ingest.corpus.seams import Embedder
from service.bootstrap import open_reranker
from service.evaluation.asking.scratch import ASKER
from service.look_up import look_up
from service.parts import Parts
from service.seams import Reranker
from service.settings import ServiceSettings
from service.types import Candidate, Fused, RankedChunk

TIMED = 10  # first questions of a slice: done once more with nothing remembered
NO_DEADLINE = 86_400.0  # seconds: figures are of the reranker, not of a machine that was too slow for it


def without_deadline(settings: ServiceSettings) -> ServiceSettings:
    return replace(settings, rerank_seconds=NO_DEADLINE)


@dataclass(frozen=True, slots=True)
class Reranking:
    """One slice's questions, reranked by the parts' reranker, which may remember vectors."""

    parts: Parts
    forgetful: Reranker  # the same, without memory
    _milliseconds: list[float] = field(default_factory=list)

    def of_another_slice(self) -> Reranking:
        return Reranking(self.parts, self.forgetful)

    @property
    def milliseconds(self) -> float | None:
        """CPU time of a question, all threads together, median of those timed; None: there was none."""
        return median(self._milliseconds) if self._milliseconds else None

    def reranked(self, question: str, fused: Fused) -> list[Candidate]:
        """All candidates; those that are too deep for the look-up stay behind as they are.

        :raises Unavailable: if the reranker failed.
        """
        found = look_up(fused, ASKER, self.parts)
        self._take_time(question, found)
        reranked = self.parts.reranker.rerank(question, found)
        if reranked.fault is not None:
            raise Unavailable(
                f"The reranker {self.parts.reranker.version} failed.",
                why=f"{reranked.fault}: figures would be those of the fused order.",
                next_step="The log says more of it. Unset CITEWARD_RERANKER to go without.",
            )
        given = [one.candidate for one in reranked.chunks]
        deep = [one for one in fused.candidates if one not in given]
        return [*given, *deep]

    def _take_time(self, question: str, found: tuple[RankedChunk, ...]) -> None:
        if len(self._milliseconds) == TIMED:
            return
        begun = process_time()
        self.forgetful.rerank(question, found)
        self._milliseconds.append(1000 * (process_time() - begun))


def open_reranking(settings: ServiceSettings, parts: Parts, embedder: Embedder) -> Reranking | None:
    """None: the settings name no reranker.

    :param embedder: the service's, without memory.
    """
    return Reranking(parts, open_reranker(settings, embedder)) if settings.reranker else None
