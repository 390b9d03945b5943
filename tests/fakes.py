"""Small real things that stand in for heavy ones; each passes the contract suite of its Protocol."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ingest.corpus.arrays import FloatMatrix, FloatVector
from ingest.corpus.errors import OverBudget
from ingest.corpus.seams import TokenVectors
from ingest.corpus.types import EmbedderFingerprint
from service.evaluation.releasing.perplexity import Likelihood
from service.parts import Prompting
from service.releases.release import SHIPPED, load_releases
from service.seams import ChatTokenizer
from service.types import DraftStatement, Generated, GenerationTask, Message

WORD = re.compile(r"[0-9A-Za-z_]+|[^\s0-9A-Za-z_]")


class WordTokenizer:
    """One token a Latin word, one for any other visible character: near enough for zh and en."""

    def count(self, text: str) -> int:
        return len(WORD.findall(text))

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        return [match.span() for match in WORD.finditer(text)]


class HashEmbedder:
    """Feature hashing of tokens: texts that share words are near, and nothing has to be downloaded."""

    def __init__(self, dimension: int = 64, max_tokens: int = 512) -> None:
        self.fingerprint = EmbedderFingerprint(f"hash-{dimension}", dimension, digest=f"hash-{dimension}-v1")
        self.max_tokens = max_tokens
        self.tokenizer = WordTokenizer()

    def count_query(self, text: str) -> int:
        return self.tokenizer.count(text)

    def embed_passages(self, texts: Sequence[str]) -> FloatMatrix:
        if not texts:
            return np.zeros((0, self.fingerprint.dimension), dtype=np.float32)
        return np.stack([self._embed(text) for text in texts])

    def embed_query(self, text: str) -> FloatVector:
        return self._embed(text)

    def embed_tokens(self, texts: Sequence[str]) -> Sequence[TokenVectors]:
        spans = [self.tokenizer.spans(text) for text in texts]
        self.embed_passages(texts)  # refuses what is too long
        return [
            TokenVectors(cut, self._embed_words([text[start:end] for start, end in cut]))
            for text, cut in zip(texts, spans, strict=True)
        ]

    def _embed_words(self, words: Sequence[str]) -> FloatMatrix:
        """Every number of a vector is set: in buckets, one word in a hundred would be the same as another."""
        rows = np.ones((len(words), self.fingerprint.dimension), dtype=np.float32)
        for row, word in zip(rows, words, strict=True):
            digest = hashlib.shake_128(word.lower().encode()).digest(len(row) // 8 + 1)
            row[np.unpackbits(np.frombuffer(digest, np.uint8))[: len(row)] == 0] = -1
        return rows / np.sqrt(self.fingerprint.dimension, dtype=np.float32)

    def _embed(self, text: str) -> FloatVector:
        tokens = WORD.findall(text.lower())
        if len(tokens) > self.max_tokens:
            raise OverBudget(f"{len(tokens)} tokens, but the embedder takes {self.max_tokens}.")
        vector = np.full(self.fingerprint.dimension, 1e-3, dtype=np.float32)
        for token in tokens:
            digest = hashlib.blake2b(token.encode(), digest_size=8).digest()
            bucket = int.from_bytes(digest[:4], "little") % self.fingerprint.dimension
            vector[bucket] += 1.0 if digest[4] % 2 else -1.0
        return (vector / np.linalg.norm(vector)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class LetterModel:
    """A language model to which a text is as likely as its letters; the greater `worse`, the less likely."""

    worse: float = 1.0

    def likelihood(self, text: str, scored_from: int = 0) -> Likelihood:
        scored = text[scored_from:]
        if not scored:
            raise ValueError(f"There is nothing after {scored_from} of {len(text)} code points.")
        return Likelihood(self.worse * sum(1.0 + ord(sign) % 5 / 5 for sign in scored), len(scored))


class WordChatTokenizer:
    """A chat template and a word a token. As in an engine, a control token is one wherever it stands."""

    version = "words"
    control_tokens: Mapping[str, int] = {"<|turn|>": 0, "<|over|>": 1, "[INST]": 2, "<tool>": 3}

    def __init__(self) -> None:
        self._controls = re.compile("|".join(re.escape(text) for text in self.control_tokens))
        self._words: dict[str, int] = {}

    def count(self, text: str) -> int:
        return len(WORD.findall(text))

    def ids(self, messages: Sequence[Message]) -> Sequence[int]:
        turns = (f"<|turn|>{one.role}\n{one.content}<|over|>\n" for one in messages)
        text = "".join([*turns, "<|turn|>assistant\n"])
        ids = [self._id(word) for word in WORD.findall(self._controls.sub(" ", text))]
        return ids + [self.control_tokens[found] for found in self._controls.findall(text)]

    def _id(self, word: str) -> int:
        return self._words.setdefault(word, len(self.control_tokens) + len(self._words))


def make_prompting(chat: ChatTokenizer | None = None, max_new_tokens: int = 1024) -> Prompting:
    """The shipped release over a tokenizer, the fake one unless another is given."""
    chat = chat or WordChatTokenizer()
    releases = load_releases(max_new_tokens)
    return Prompting(chat, releases[SHIPPED], b"what tenants are salted with in tests", releases)


class ScriptedGenerator:
    """Says what it is told to, whatever it is asked; without evidence nothing.

    Of a script, statements are drafted, errors raised, and functions awaited.
    """

    kind: Literal["vllm", "quoting"] = "vllm"
    version = "scripted"

    def __init__(self, *script: DraftStatement | Exception | Callable[[], Awaitable[object]]) -> None:
        self.script = script
        self.begun = self.ended = 0  # drafts
        self.tasks: list[GenerationTask] = []

    async def draft(self, task: GenerationTask) -> AsyncGenerator[DraftStatement | Generated, None]:
        self.begun += 1
        self.tasks.append(task)
        try:
            for one in self.script if task.evidence else ():
                if isinstance(one, Exception):
                    raise one
                if isinstance(one, DraftStatement):
                    yield one
                else:
                    await one()
            yield Generated("stop", 120, 30)
        finally:
            self.ended += 1


class SharedWordsChooser:
    """Says yes of a statement whose words the passage before it has, the likelier the more of them.

    Both stand in the last message, in tags.
    """

    version = "shared-words"

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure  # raised in place of an answer
        self.asked: list[tuple[tuple[Message, ...], str]] = []  # with their salts

    def choose(
        self, messages: Sequence[Message], answers: Sequence[str], salt: str = ""
    ) -> Mapping[str, float]:
        self.asked.append((tuple(messages), salt))
        if self.failure is not None:
            raise self.failure
        passage, _, statement = messages[-1].content.partition("</passage")
        words = set(WORD.findall(statement.partition(">")[2].partition("</statement")[0].lower()))
        held = len(words & set(WORD.findall(passage.lower()))) / max(len(words), 1)
        likely = min(max(held**4, 1e-3), 1 - 1e-3)
        return {answer: float(np.log(likely if answer == "yes" else 1 - likely)) for answer in answers}


class SharedWords:
    """A cross-encoder for which a pair is as good as the share of the shorter text's words in the other.

    The label that means support has the number, 5 for all words and -5 for none, the others 0.
    """

    version = "shared-words"
    special_tokens = 3

    def __init__(
        self, labels: Sequence[str] = ("LABEL_0",), supporting: int | None = None, max_tokens: int = 64
    ) -> None:
        """:param supporting: place of that label; None: "entailment", or the only one."""
        self.labels = tuple(labels)
        self.max_tokens = max_tokens
        self.tokenizer = WordTokenizer()
        self.read: list[tuple[str, str]] = []
        self._supporting = supporting if supporting is not None else self._entailment()

    def _entailment(self) -> int:
        return self.labels.index("entailment") if "entailment" in self.labels else 0

    def logits(self, pairs: Sequence[tuple[str, str]]) -> FloatMatrix:
        self.read.extend(pairs)
        found = np.zeros((len(pairs), len(self.labels)), dtype=np.float32)
        for row, pair in zip(found, pairs, strict=True):
            if sum(map(self.tokenizer.count, pair)) + self.special_tokens > self.max_tokens:
                raise OverBudget(f"The fake takes {self.max_tokens} tokens.")
            words = sorted((frozenset(WORD.findall(text.lower())) for text in pair), key=len)
            row[self._supporting] = 10 * len(words[0] & words[1]) / max(len(words[0]), 1) - 5
        return found
