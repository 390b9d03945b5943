"""How long an engine reads a prompt before its first token, at 1, 2, 4 and 8 times a length.

It is not linear. Short prompts do not fill a processor that reckons many tokens at once, so each costs more;
in long ones each token attends to all before it, so it costs more the later it comes; and what is more than a
step holds is read in several.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from itertools import count

from ingest.corpus.errors import InvalidInput, Unavailable
from service.engine.probe import exchange, served_model

TIMES = (1, 2, 4, 8)
ROUNDS = 3  # of which the quickest counts: what else the machine does only adds
TOKENS = range(1_000, 20_000)  # ids that any vocabulary has, and that end nothing
SEED = count(20_26)


@dataclass(frozen=True, slots=True)
class Prefill:
    tokens: int
    seconds: float
    against_linear: float  # of the time that the shortest would take so many times

    @property
    def tokens_a_second(self) -> float:
        return self.tokens / self.seconds


def prefill_at(url: str, tokens: int, patience_seconds: float) -> tuple[Prefill, ...]:
    """Of lengths that the engine takes, with nobody else asking it.

    :raises InvalidInput: if not even the shortest fits.
    :raises Unavailable: if there is no engine, or it does not answer.
    """
    served = served_model(url)
    longest = served.get("max_model_len")
    if not isinstance(longest, int):
        raise Unavailable(f"No engine is seen at {url}.", next_step="Start it, or correct its address.")
    lengths = [tokens * times for times in TIMES if tokens * times < longest]
    if tokens < 1 or not lengths:
        raise InvalidInput(
            f"A prompt of {tokens} tokens cannot be sent.",
            why=f"The engine takes from 1 to {longest - 1}.",
            next_step="Give a number between.",
            field="prefill",
        )
    timed = [(length, _seconds(url, str(served["id"]), length, patience_seconds)) for length in lengths]
    base = timed[0][1] / timed[0][0]
    return tuple(Prefill(length, seconds, seconds / (base * length)) for length, seconds in timed)


def _seconds(url: str, model: str, tokens: int, patience_seconds: float) -> float:
    return min(_once(url, model, tokens, patience_seconds) for _ in range(ROUNDS))


def _once(url: str, model: str, tokens: int, patience_seconds: float) -> float:
    """To the first token, of a prompt that no cache has."""
    drawn = random.Random(next(SEED))
    body = {"model": model, "prompt": drawn.choices(TOKENS, k=tokens), "max_tokens": 1, "temperature": 0}
    began = time.perf_counter()
    try:
        exchange(f"{url}/v1/completions", patience_seconds, body)
    except OSError as error:
        raise Unavailable(
            f"The engine at {url} did not read {tokens} tokens.", why=f"{error}.", next_step="See its log."
        ) from error
    return time.perf_counter() - began
