"""Where a part of answering may be swapped. Each Protocol has one contract suite in `tests/contracts/`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from ingest.corpus.arrays import FloatMatrix
from ingest.corpus.seams import Tokenizer
from service.types import DraftStatement, Generated, GenerationTask, Message, RankedChunk


@dataclass(frozen=True, slots=True)
class Reranked:
    """The same chunks, best first, their scores falling."""

    chunks: tuple[RankedChunk, ...]
    fault: str | None = None  # a code: why the order that was given stands though another was to be found


class Reranker(Protocol):
    """A question and chunks to a better order."""

    @property
    def version(self) -> str: ...

    def rerank(self, question: str, chunks: Sequence[RankedChunk]) -> Reranked:
        """Never fails: without a better order the given one stands.

        :param chunks: best first, with the fused scores.
        """


class PairModel(Protocol):
    """Two texts read together, as a cross-encoder does, to a number for each of its labels."""

    @property
    def version(self) -> str: ...

    @property
    def labels(self) -> Sequence[str]:
        """As the model names them; one: it only scores."""

    @property
    def max_tokens(self) -> int:
        """Of both texts together, special tokens included; longer is an error, never cut."""

    @property
    def special_tokens(self) -> int:
        """That stand around and between the two texts."""

    @property
    def tokenizer(self) -> Tokenizer: ...

    def logits(self, pairs: Sequence[tuple[str, str]]) -> FloatMatrix:
        """Shape (len(pairs), len(labels)), as the model has them, whatever they are.

        :raises OverBudget: for a pair above `max_tokens`.
        """


class Generator(Protocol):
    """A task to drafted statements, one by one, then exactly one `Generated`."""

    @property
    def kind(self) -> Literal["vllm", "quoting"]: ...

    @property
    def version(self) -> str: ...

    def draft(self, task: GenerationTask) -> AsyncGenerator[DraftStatement | Generated, None]: ...


class ChatTokenizer(Protocol):
    """The target model's own tokenizer and chat template: what it counts is what the engine will count."""

    @property
    def version(self) -> str:
        """Another one for another tokenizer or chat template."""

    @property
    def control_tokens(self) -> Mapping[str, int]:
        """What the model takes for structure wherever it is written, as "<|im_end|>", with its id."""

    def count(self, text: str) -> int:
        """Tokens of a text that stands within a message and holds no control token."""

    def ids(self, messages: Sequence[Message]) -> Sequence[int]:
        """The final sequence: the chat template around the messages, with the head of the answer to come.

        As in the engine, a control token that is written in a message is one: see `service/neutral.py`.
        """


class Chooser(Protocol):
    """A language model that may say one of a few answers and nothing else."""

    @property
    def version(self) -> str:
        """Another one for other weights."""

    def choose(
        self, messages: Sequence[Message], answers: Sequence[str], salt: str = ""
    ) -> Mapping[str, float]:
        """Each answer to the natural logarithm of its probability, before it was made to say one of them.

        Waits, and is for threads. An answer that is less likely than all that the model tells of has the
        least of these.

        :param answers: different words of small ASCII letters.
        :param salt: keeps what is read apart from what is read with another one; empty: kept apart from none.
        :raises ModelFailed: one of its three kinds, for whatever goes wrong.
        """


@dataclass(frozen=True, slots=True)
class Support:
    """How far one passage carries one statement."""

    score: float | None  # 0..1, higher is more; None: the judge could not tell, which counts as not supported
    start: int  # of the supporting stretch, code points within the premise
    end: int
    reason: str


class Judge(Protocol):
    """Does the premise support the claim?"""

    @property
    def version(self) -> str: ...

    @property
    def threshold(self) -> float:
        """The lowest score that counts as supported."""

    def support(self, premise: str, claim: str) -> Support: ...
