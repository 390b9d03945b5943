"""How many requests of mixed lengths fit at once: draws of what is in flight, against the blocks there are.

A request is met in flight in proportion to how long it stays, which its answer's length decides. Every draw
reserves the worst case of each request, as admission does, so the answer holds without any luck.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random

from service.capacity.shapes import Request

DRAWS = 400
SURE = 0.99  # the share of draws in which all must fit
AT_MOST = 4096  # requests at once


@dataclass(frozen=True, slots=True)
class Mixed:
    """What a mixture of lengths comes to."""

    requests: int  # different ones that were drawn from
    at_once: int  # as many fit in at least `sure` of the draws
    mean_at_once: float  # as many fit on average
    sure: float
    draws: int
    never: int  # requests of the mixture that fit at no time


def simulate(
    requests: Sequence[Request], blocks_of: Callable[[int], int], usable: int, longest: int, seed: int = 7
) -> Mixed:
    """`blocks_of`: tokens to blocks in the worst case. `usable`: blocks. `longest`: tokens of the window."""
    sizes = [(blocks_of(one.tokens), max(1, one.output_tokens)) for one in requests if one.tokens <= longest]
    fitting = [(blocks, stay) for blocks, stay in sizes if blocks <= usable]
    never = len(requests) - len(fitting)
    if not fitting:
        return Mixed(len(requests), 0, 0.0, SURE, 0, never)
    random, blocks = Random(seed), [one for one, _ in fitting]
    stays = list(accumulate(stay for _, stay in fitting))
    reached = sorted(_how_many(random, blocks, stays, usable) for _ in range(DRAWS))
    surely = reached[int(DRAWS * (1 - SURE))]
    return Mixed(len(requests), surely, sum(reached) / DRAWS, SURE, DRAWS, never)


def _how_many(random: Random, blocks: Sequence[int], stays: Sequence[int], usable: int) -> int:
    """Requests drawn one after the other until one no longer fits."""
    enough = min(AT_MOST, usable // min(blocks) + 1)
    held = accumulate(random.choices(blocks, cum_weights=stays, k=enough))
    return bisect_right(list(held), usable)
