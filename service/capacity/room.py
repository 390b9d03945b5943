"""How many sequences an engine's KV cache has room for, in its own blocks and by what it says of itself.

vLLM says how many blocks there are, how many sequences of the longest kind these are worth, and how many
tokens a block of its full-attention layers holds. From that follows what a shorter sequence can take at most,
whatever other layers there are: those of windows and states take no more for fewer tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from ingest.corpus.errors import OverBudget

NEVER_GIVEN_OUT = 1  # vLLM's null block


@dataclass(frozen=True, slots=True)
class Room:
    """What may be reserved of one engine's KV cache; blocks serve all its layers together."""

    usable: int  # blocks, without the one that is never given out
    longest: int  # tokens of the longest sequence that the engine takes
    longest_blocks: int  # that such a sequence takes, of all groups of layers together
    attention_block: (
        int | None
    )  # tokens of a full-attention block; None: not said, or there are several kinds
    headroom: float  # share of the blocks that is never reserved, 0 <= share < 1
    is_said: bool = True  # False: the engine does not say, and is taken to hold one sequence at a time

    @property
    def reservable(self) -> int:
        """Blocks. One sequence may always have what it takes: the engine would not have started otherwise."""
        with_headroom = self.usable - ceil(self.usable * self.headroom)
        return max(with_headroom, min(self.longest_blocks, self.usable))

    @property
    def longest_at_once(self) -> int:
        """Sequences of the longest kind that fit for certain, whatever the engine prints."""
        return self.reservable // self.longest_blocks

    def blocks(self, tokens: int) -> int:
        """What a sequence of so many tokens, prompt and answer, takes at most."""
        if self.attention_block is None:
            return self.longest_blocks
        saved = _up(self.longest, self.attention_block) - _up(tokens, self.attention_block)
        return self.longest_blocks - max(saved, 0)

    def holds(self, tokens: int) -> bool:
        """Whether a sequence of so many tokens fits if nothing else is there."""
        return tokens <= self.longest and self.blocks(tokens) <= self.reservable

    def require_holding(self, prompt: int, answer: int) -> None:
        """:raises OverBudget: if no such sequence can ever be held; names the numbers."""
        if self.holds(prompt + answer):
            return
        raise OverBudget(
            f"The request needs {prompt + answer} tokens, {prompt} to be read and {answer} for the answer.",
            why=f"The language model's server takes {self.longest} tokens in one sequence, and these are "
            f"{self.blocks(prompt + answer)} blocks of its KV cache; one may have {self.reservable}.",
            next_step="Ask in fewer words, or for fewer passages (max_citations).",
            field="question",
        )


def room_of(labels: Mapping[str, str], longest: int, headroom: float) -> Room:
    """From the labels of `vllm:cache_config_info`; `longest` is the model's `max_model_len`.

    Nothing is guessed: an engine that does not say enough has room for one sequence at a time.
    """
    blocks, at_once = _count(labels, "num_gpu_blocks"), _ratio(labels, "kv_cache_max_concurrency")
    if blocks <= NEVER_GIVEN_OUT or at_once <= 0 or longest <= 0:
        return one_at_a_time(longest)
    return Room(
        usable=blocks - NEVER_GIVEN_OUT,
        longest=longest,
        longest_blocks=max(round(blocks / at_once), 1),
        attention_block=_count(labels, "effective_attention_block_size") or None,
        headroom=headroom,
    )


def one_at_a_time(longest: int) -> Room:
    """Of an engine that says nothing of its cache: it would not run if it could not hold one sequence."""
    return Room(1, longest, 1, None, 0.0, is_said=False)


def _up(tokens: int, block: int) -> int:
    return -(-tokens // block)


def _count(labels: Mapping[str, str], name: str) -> int:
    """0 where it is not said."""
    value = labels.get(name, "")
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 16 else 0


def _ratio(labels: Mapping[str, str], name: str) -> float:
    """0 where it is not said, or is no number that is finite."""
    try:
        value = float(labels.get(name, ""))
    except ValueError:
        return 0.0
    return value if 0 < value < float("inf") else 0.0
