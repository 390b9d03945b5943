"""A generator in front of another: where the first fails before it has said anything, the second answers."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Literal

from ingest.corpus.errors import ModelFailed, Overloaded
from service.seams import Generator
from service.types import DraftStatement, Generated, GenerationTask

LOG = logging.getLogger("citeward.engine")


@dataclass(frozen=True, slots=True)
class FallbackGenerator:
    """What was yielded stays: a failure after that is the draft's."""

    first: Generator
    second: Generator
    failures: tuple[type[ModelFailed | Overloaded], ...] = (ModelFailed,)  # in which the second answers

    @property
    def kind(self) -> Literal["vllm", "quoting"]:
        return self.first.kind

    @property
    def version(self) -> str:
        return self.first.version

    async def draft(self, task: GenerationTask) -> AsyncGenerator[DraftStatement | Generated]:
        """:raises ModelFailed: if the first fails after its first statement.
        :raises CitewardError: whatever is none of `failures`.
        """
        begun = False
        try:
            async with aclosing(self.first.draft(task)) as drafts:
                async for drafted in drafts:
                    begun = True
                    yield drafted
                return
        except self.failures as error:
            if begun:
                raise
            failure = error.code
        LOG.warning(json.dumps({"event": "fallback", "code": failure, "to": self.second.kind}))
        async with aclosing(self.second.draft(task)) as drafts:
            async for drafted in drafts:
                yield self._marked(drafted, failure) if isinstance(drafted, Generated) else drafted

    def _marked(self, end: Generated, failure: str) -> Generated:
        return replace(
            end,
            faults=(failure, *end.faults),
            degraded=(self.second.kind, *end.degraded),
            generator=self.second.kind,
            version=self.second.version,
        )
