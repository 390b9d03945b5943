"""Why is it slow, or out of memory? Ten steps in one order: what was read, a verdict, what to do.

The order goes from what is asked for to what could be bought: real lengths first, hardware last. What cannot
be seen is `unknown` and says how to make it seen; it is never taken for well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from service.capacity.geometry import Geometry
from service.capacity.model.kv_dtype import kv_dtype_of
from service.capacity.room import Room
from service.capacity.shapes import Request
from service.engine.metrics import Counted
from service.percentile import percentile

Verdict = Literal["well", "look", "wrong", "unknown"]
FULL = 0.9  # share
WASTED = 0.2  # share of a sequence's blocks that is rounding: beyond it blocks are too large
OVERSIZED = 4  # times what is written: so much more is reserved than is used
GIB = 2**30
TOLD = ("cache_dtype", "block_size", "gpu_memory_utilization", "enable_prefix_caching", "num_gpu_blocks")
TITLES = (
    "Real tokens of an active sequence",
    "KV bytes by the model's own geometry",
    "Weights, and what of them is quantised",
    "Concurrency, queue, KV use, preemption, fragmentation",
    "Room reserved that nobody uses: max_new_tokens and the longest sequence",
    "Prefill against decode",
    "Capacity when context, output or concurrency is lowered",
    "KV dtype, parallelism and the engine's settings",
    "Real lengths against those of the load test",
    "Head-room",
)


@dataclass(frozen=True, slots=True)
class Step:
    """One of the ten. `read` is figures as they were found, with their unit."""

    number: int
    title: str
    read: tuple[str, ...]
    verdict: Verdict
    why: str
    next_step: str


@dataclass(frozen=True, slots=True)
class Findings:
    """All that the steps are made of. None and () are what could not be seen."""

    counted: Counted | None  # of the engine, since it started
    room: Room | None
    drift: str | None  # what of its blocks is not as the config says
    geometry: Geometry | None
    real: tuple[Request, ...]  # lengths of the answers that were given
    tested: tuple[Request, ...]  # lengths that it was load tested with
    max_new_tokens: int
    context_window: int
    headroom: float


def diagnose(found: Findings) -> tuple[Step, ...]:
    """All ten, in order."""
    steps = (
        _tokens(found),
        _geometry(found),
        _weights(found),
        _crowding(found),
        _reserved(found),
        _phases(found),
        _curve(found),
        _settings(found),
        _lengths(found),
        _headroom(found),
    )
    return tuple(
        Step(number, title, *said) for number, (title, said) in enumerate(zip(TITLES, steps, strict=True), 1)
    )


Said = tuple[tuple[str, ...], Verdict, str, str]
NO_ENGINE: Said = ((), "unknown", "The engine is not seen.", "Start it, or give its address with --vllm.")
NO_MODEL: Said = (
    (),
    "unknown",
    "The model's config.json is not seen.",
    "Give its folder with --model.",
)


def _tokens(found: Findings) -> Said:
    told = [f"{count}: {value}" for count, value in _percentiles(found.real)]
    seen = found.counted
    if seen is not None and seen.prompt_tokens is not None and seen.output_tokens is not None:
        told.append(f"engine, mean: {seen.prompt_tokens:.0f} in, {seen.output_tokens:.0f} out")
    active = _active(found)
    if active is not None:
        told.append(f"held now by one of {_running(found):.0f} active: {active:.0f} tokens")
    if not told:
        return (), "unknown", "Nothing was asked yet.", "Ask questions, then come back."
    if not found.real:
        return (
            tuple(told),
            "unknown",
            "Means tell nothing of the longest.",
            "Ask through Citeward, then come back.",
        )
    longest = max(one.tokens for one in found.real)
    if longest > FULL * found.context_window:
        why = f"The longest took {longest:,} of the {found.context_window:,} tokens of the window."
        return tuple(told), "look", why, "Lower CITEWARD_MAX_EVIDENCE_TOKENS, or raise the window."
    why, do = "No sequence comes near the window.", "Plan with these lengths, not with the window."
    return tuple(told), "well", why, do


def _geometry(found: Findings) -> Said:
    if found.geometry is None:
        return NO_MODEL
    if found.geometry.unknown and not found.geometry.kept:
        return (), "unknown", f"Not known: {found.geometry.unknown[0]}", "Plan for another model, or measure."
    kv = kv_dtype_of(_label(found, "cache_dtype") or "auto", found.geometry.dtype)
    token = found.geometry.kv_bytes_per_token(kv)
    told = [f"{token:,} bytes a token as {kv.name}"]
    told += [f"{one.count} {one.kind} layers" for one in found.geometry.kept if one.kind != "none"]
    if found.room is not None and found.room.is_said:
        told.append(
            f"{found.room.usable:,} blocks, {found.room.longest_blocks} for {found.room.longest:,} tokens"
        )
    if found.drift is not None:
        why, do = found.drift, "Serve the model that is set, or set the one that is served."
        return tuple(told), "wrong", why, do
    if found.room is None or not found.room.is_said:
        return tuple(told), "unknown", "The engine's blocks are not seen.", "Give its address with --vllm."
    return tuple(told), "well", "The engine's blocks are as the config says.", ""


def _weights(found: Findings) -> Said:
    if found.geometry is None or found.geometry.weights is None:
        return NO_MODEL
    parts = found.geometry.weights
    told: tuple[str, ...] = (f"{parts.total / GIB:.2f} GiB in all",)
    if parts.method is None:
        why = f"Nothing is quantised: {parts.dtype}, counted."
        return told, "well", why, "If memory is short, a quantised checkpoint takes a half to a quarter."
    told += (
        f"{parts.quantised / GIB:.2f} GiB quantised ({parts.method})",
        f"{parts.scales / GIB:.2f} GiB of scales",
        f"{parts.unquantised / GIB:.2f} GiB left alone",
    )
    if _cache_is_wide(found):
        why = "The weights are quantised, the KV cache is not: it takes its full width."
        do = "Try --kv-cache-dtype fp8, and compare answers with `citeward eval release`."
        return told, "look", why, do
    return told, "well", "Estimated from the checkpoint's own metadata.", ""


def _crowding(found: Findings) -> Said:
    seen = found.counted
    if seen is None or seen.running is None:
        return NO_ENGINE
    told = (
        f"{seen.running:.0f} running, {_number(seen.waiting)} waiting in the engine",
        f"KV used: {_share(seen.kv_share)}",
        f"preemptions since it started: {_number(seen.preemptions)}",
        f"mean wait in the engine's queue: {_ms(seen.queue_seconds)}",
        f"lost to rounding: {_share(_fragmentation(found))} of a sequence's blocks",
    )
    if seen.preemptions:
        why = "The engine has put generations back: it was let hold more than fits."
        return told, "wrong", why, "Let only Citeward ask it, and raise CITEWARD_KV_HEADROOM."
    if seen.waiting and (seen.kv_share or 0) >= FULL:
        return told, "wrong", "Requests wait for KV.", "Shorten prompts or answers; see step 7."
    if seen.waiting:
        return told, "look", "Requests wait, and not for KV.", "Raise max_num_seqs, or see step 6."
    if (_fragmentation(found) or 0) > WASTED:
        why, do = "Blocks are large for sequences so short.", "Start the engine with a smaller --block-size."
        return told, "look", why, do
    return told, "well", "Nothing waits, nothing was put back.", ""


def _reserved(found: Findings) -> Said:
    written = [one.output_tokens for one in found.real]
    longest = max((one.tokens for one in found.real), default=0)
    seen = found.counted
    told = [f"max_new_tokens: {found.max_new_tokens:,}"]
    if written:
        told.append(f"longest answer of {len(written):,}: {max(written):,} tokens")
    if seen is not None and seen.allowed_tokens is not None:
        told.append(f"engine, mean max_tokens: {seen.allowed_tokens:.0f}")
    if found.room is not None:
        told.append(f"longest sequence that the engine takes: {found.room.longest:,}; asked: {longest:,}")
    if not written:
        return tuple(told), "unknown", "No answer was written yet.", "Ask questions, then come back."
    if found.max_new_tokens > OVERSIZED * max(written):
        why = f"{found.max_new_tokens:,} tokens are held for answers of {max(written):,} at most."
        return tuple(told), "look", why, f"Set CITEWARD_RESERVED_OUTPUT to {_round_up(2 * max(written))}."
    if found.room is not None and found.room.longest > OVERSIZED * longest:
        why = "The engine is made for sequences far longer than any that was asked."
        do = "Start it with a shorter --max-model-len: it needs less beside the cache."
        return tuple(told), "look", why, do
    return tuple(told), "well", "What is held is about what is used.", ""


def _phases(found: Findings) -> Said:
    seen = found.counted
    if seen is None or seen.prefill_seconds is None or seen.decode_seconds is None:
        return (
            NO_ENGINE if seen is None else ((), "unknown", "Nothing was asked yet.", "Ask, then come back.")
        )
    told = [
        f"queue {_ms(seen.queue_seconds)}, prefill {_ms(seen.prefill_seconds)}",
        f"decode {_ms(seen.decode_seconds)}",
        f"between two tokens: {_ms(seen.token_seconds)}",
        f"prompt tokens that were in the cache: {_share(seen.prefix_hits)}",
    ]
    if seen.prompt_tokens:
        told.append(f"prefill: {seen.prompt_tokens / max(seen.prefill_seconds, 1e-9):,.0f} tokens a second")
    waits = seen.queue_seconds or 0.0
    if waits > seen.prefill_seconds + seen.decode_seconds:
        why = "Bound by capacity: time goes into waiting for room."
        return tuple(told), "wrong", why, "Steps 5, 7 and 8: hold less, or have more."
    if seen.prefill_seconds > seen.decode_seconds:
        why = "Bound by reckoning: reading prompts takes longest."
        do = "Less evidence (CITEWARD_MAX_EVIDENCE_TOKENS), prefix caching, more ranks."
        return tuple(told), "look", why, do
    why = "Bound by memory bandwidth: writing answers takes longest."
    do = "Shorter answers, quantised weights, or more requests at once: a step costs the same."
    return tuple(told), "look", why, do


def _curve(found: Findings) -> Said:
    room = found.room
    if room is None or not room.is_said:
        return NO_ENGINE
    prompt = found.context_window - found.max_new_tokens
    shapes = {
        "as set": (prompt, found.max_new_tokens),
        "half the context": (prompt // 2, found.max_new_tokens),
        "half the output": (prompt, found.max_new_tokens // 2),
    }
    if found.real:
        long = percentile([one.tokens for one in found.real], 95)
        shapes["as asked, p95"] = (long, 0)
    at_once = {name: room.reservable // room.blocks(sum(shape)) for name, shape in shapes.items()}
    told = tuple(f"{name}: {number} at once" for name, number in at_once.items())
    running = found.counted.running if found.counted else None
    if running is not None and running > at_once["as set"]:
        why = f"{running:.0f} run, and only {at_once['as set']} of the longest kind fit for certain."
        return told, "look", why, "Let only Citeward ask the engine: it holds room for each."
    lowered = [name for name in at_once if name.startswith("half")]
    best = max(lowered, key=lambda name: at_once[name])
    return told, "well", f"More fit with {best}.", "If too few fit, lower that first."


def _settings(found: Findings) -> Said:
    labels = found.counted.labels if found.counted else {}
    if not labels:
        return NO_ENGINE
    told = tuple(f"{name}: {labels[name]}" for name in TOLD if name in labels)
    hidden = "Its log tells max_num_batched_tokens, max_num_seqs, ranks and graphs."
    if labels.get("enable_prefix_caching") == "False":
        why = "Prefix caching is off: the same instructions are read for each question."
        return told, "look", f"{why} {hidden}", "Start the engine without --no-enable-prefix-caching."
    if _cache_is_wide(found) and (_share_used(found) or 0) >= FULL:
        why = "The cache is full, and keeps values in full width."
        return told, "look", f"{why} {hidden}", "Try --kv-cache-dtype fp8; then more ranks, or another GPU."
    return told, "well", hidden, "Compare with `citeward capacity plan` before you change one."


def _lengths(found: Findings) -> Said:
    told = tuple(f"asked, {name}: {value}" for name, value in _percentiles(found.real))
    told += tuple(f"tested, {name}: {value}" for name, value in _percentiles(found.tested))
    if not found.tested:
        why, do = "No load test is known.", "Run `citeward capacity load`, and give its lengths with --trace."
        return told, "unknown", why, do
    if not found.real:
        return told, "unknown", "Nothing was asked yet.", "Ask questions, then come back."
    real, tested = (percentile([one.tokens for one in some], 95) for some in (found.real, found.tested))
    if real > tested:
        why = f"Real sequences are longer: p95 {real:,} tokens, tested with {tested:,}."
        return told, "wrong", why, "Repeat the load test with real questions."
    return told, "well", "It was tested with sequences at least as long.", ""


def _headroom(found: Findings) -> Said:
    told = [f"never reserved of the KV cache: {found.headroom:.0%}"]
    share = _share_used(found)
    if share is not None:
        told.append(f"used now: {share:.0%}")
    used = _label(found, "gpu_memory_utilization")
    if used is not None:
        told.append(f"of the GPU's memory given to the engine: {used}")
    if found.headroom <= 0:
        why = "All of the cache may be promised: what is reckoned wrong by a block stops a generation."
        return tuple(told), "wrong", why, "Set CITEWARD_KV_HEADROOM to 0.05 or more."
    if used in ("1", "1.0"):
        why, do = "The engine takes all of the GPU.", "Lower --gpu-memory-utilization to 0.9."
        return tuple(told), "wrong", why, do
    return tuple(told), "well", "Theory is never filled to the last block.", "Keep it."


# --- figures -----------------------------------------------------------------------------------


def _percentiles(requests: Sequence[Request]) -> Iterator[tuple[str, str]]:
    inputs, outputs = [one.input_tokens for one in requests], [one.output_tokens for one in requests]
    for name, percent in (("p50", 50), ("p95", 95), ("longest", 100)) if requests else ():
        told = f"{percentile(inputs, percent):,} in, {percentile(outputs, percent):,} out"
        yield f"{name} of {len(requests):,}", told


def _active(found: Findings) -> float | None:
    """Tokens that one running sequence holds now, as blocks that are used."""
    share, running, room = _share_used(found), _running(found), found.room
    if not share or not running or room is None or room.attention_block is None:
        return None
    return share * room.usable * room.attention_block / running


def _fragmentation(found: Findings) -> float | None:
    """Half a block is lost by each sequence, on average."""
    seen, room = found.counted, found.room
    if seen is None or room is None or room.attention_block is None or not seen.prompt_tokens:
        return None
    mean = seen.prompt_tokens + (seen.output_tokens or 0.0)
    half = room.attention_block / 2
    return half / (mean + half)


def _running(found: Findings) -> float:
    return (found.counted.running if found.counted else None) or 0.0


def _share_used(found: Findings) -> float | None:
    return found.counted.kv_share if found.counted else None


def _label(found: Findings, name: str) -> str | None:
    return found.counted.labels.get(name) if found.counted else None


def _cache_is_wide(found: Findings) -> bool:
    if found.geometry is None or not found.geometry.dtype:
        return False
    return kv_dtype_of(_label(found, "cache_dtype") or "auto", found.geometry.dtype).width >= 2


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.0f}"


def _ms(seconds: float | None) -> str:
    return "unknown" if seconds is None else f"{seconds * 1000:,.0f} ms"


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.0%}"


def _round_up(tokens: int, to: int = 64) -> int:
    return -(-tokens // to) * to
