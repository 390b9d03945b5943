"""What a running server says of its KV cache: how much there is, how much is used, how often it ran short."""

from __future__ import annotations

from dataclasses import dataclass
from socket import gaierror
from urllib.error import HTTPError, URLError

from service.capacity.room import Room, one_at_a_time, room_of
from service.engine.chat import unavailable
from service.engine.probe import ANSWER_SECONDS, cache_labels, exchange, sample, served_model


@dataclass(frozen=True, slots=True)
class CacheSeen:
    room: Room
    labels: tuple[tuple[str, str], ...] = ()  # of `vllm:cache_config_info`, by name
    used: int | None = None  # blocks; those that are cached and free are not among them
    preemptions: int | None = None  # since it started


def look_at_cache(url: str, context_window: int, headroom: float) -> CacheSeen:
    """One that answers and does not say enough has room for one sequence at a time.

    :raises ModelUnavailable: if nothing can be reached there.
    :raises OSError: if it does not answer now, as one that is busy.
    """
    try:
        metrics = exchange(f"{url}/metrics", ANSWER_SECONDS).decode("utf-8", "replace")
    except HTTPError:
        return CacheSeen(one_at_a_time(context_window))
    except URLError as error:
        if not isinstance(error.reason, ConnectionRefusedError | gaierror):
            raise  # an OSError: a connection that was slow or broke tells of work, not of absence
        raise unavailable("Nothing can be reached at its address.") from error
    longest = served_model(url).get("max_model_len")
    labels = cache_labels(metrics)
    room = room_of(labels, longest if isinstance(longest, int) else context_window, headroom)
    share, preemptions = (
        sample(metrics, "vllm:kv_cache_usage_perc"),
        sample(metrics, "vllm:num_preemptions_total"),
    )
    return CacheSeen(
        room,
        tuple(sorted(labels.items())),
        used=None if share is None or not room.is_said else round(share * room.usable),
        preemptions=None if preemptions is None else int(preemptions),
    )
