"""A file to a document in a child process, so that a hostile or broken file can harm nothing but that child.

The child, one for each file, is forked by `nursery.py` and runs under limits on memory, time, files and
pages, with no secret in its environment. Whatever happens to it ends here as a `Document` or as `Unreadable`
with one of these codes:

    code                  what happened
    empty                 no bytes, or nothing visible in them
    unsupported_type      a kind of file that this version does not read
    corrupt_document      damaged, cut short, or breaking its own format's rules
    encrypted_document    needs a password
    no_text_layer         pages without text, as from a scanner
    garbled               text whose fonts or encoding do not say which characters are meant
    too_large             more bytes or more text than the limit
    too_many_pages        more pages than the limit
    zip_bomb              unpacks to far more than its size
    unsafe_archive        holds paths or links that lead out of it
    parse_timeout         took longer than the limit
    parse_memory          needed more memory than the limit
    parse_crashed         the parser died, or answered nothing that can be used
"""

from __future__ import annotations

import json
import math
import resource
import signal
import time
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, TextIO

from ingest.corpus.errors import Unreadable
from ingest.corpus.types import Block, BlockKind, Document
from ingest.read.canonical import display_name
from ingest.read.nursery import Exit, read_apart
from ingest.read.parse import DEFAULT_LIMITS, DEFAULT_OPTIONS, ReadLimits, ReadOptions, parse

OPEN_FILES = 64  # imports need a few at a time
FIELDS = (
    "text",
    "title",
    "language",
    "media_type",
    "pages",
    "left_out",
)  # of a document, that JSON takes as they are


@dataclass(frozen=True, slots=True)
class ReadReport:
    """How reading one file went: a document, or the code and reason of its failure."""

    document: Document | None
    code: str | None
    reason: str | None
    seconds: float
    peak_mib: float  # largest resident size of the child; an upper bound where it died

    @property
    def state(self) -> Literal["ready", "failed"]:
        return "ready" if self.document else "failed"


def read_file(
    data: bytes,
    source_name: str,
    limits: ReadLimits = DEFAULT_LIMITS,
    options: ReadOptions = DEFAULT_OPTIONS,
) -> Document:
    """The document that `data` holds.

    :raises Unreadable: with a code of this module's table; nothing else
    """
    outcome, _ = _outcome(data, source_name, limits, options)
    if isinstance(outcome, Unreadable):
        raise outcome
    return outcome


def measure_read(
    data: bytes,
    source_name: str,
    limits: ReadLimits = DEFAULT_LIMITS,
    options: ReadOptions = DEFAULT_OPTIONS,
) -> ReadReport:
    """What `read_file` would give or raise, with its cost."""
    begin = time.perf_counter()
    outcome, peak_mib = _outcome(data, source_name, limits, options)
    seconds = time.perf_counter() - begin
    if isinstance(outcome, Unreadable):
        return ReadReport(None, outcome.code, str(outcome), seconds, peak_mib)
    return ReadReport(outcome, None, None, seconds, peak_mib)


# --- the parent's side -------------------------------------------------------------------------


def _outcome(
    data: bytes, source_name: str, limits: ReadLimits, options: ReadOptions
) -> tuple[Document | Unreadable, float]:
    if len(data) > limits.file_bytes:
        error = Unreadable(
            "too_large",
            f"{display_name(source_name)} has {len(data)} bytes, more than the {limits.file_bytes} allowed.",
            next_step="Upload it in parts, or raise the limit.",
        )
        return error, 0.0
    asked = {"source_name": source_name, "limits": asdict(limits), "options": asdict(options)}
    left = read_apart(json.dumps(asked).encode() + b"\n" + data, limits.seconds)
    try:
        reply = json.loads(left.reply)
    except ValueError:
        return _death(left, source_name, limits), left.peak_mib
    if "error" in reply:
        return Unreadable(**reply["error"]), reply["peak_mib"]
    blocks = tuple(_block(*block) for block in reply["blocks"])
    return Document(**reply["document"], blocks=blocks, warnings=tuple(reply["warnings"])), reply["peak_mib"]


def _block(
    kind: BlockKind, start: int, end: int, page: int | None, section: str, header: Sequence[int]
) -> Block:
    """JSON has no tuples: the header's span comes back as a list."""
    return Block(kind, start, end, page, section, (header[0], header[1]) if header else None)


def _death(left: Exit, source_name: str, limits: ReadLimits) -> Unreadable:
    name = display_name(source_name)
    if left.timed_out or left.status == -signal.SIGXCPU:
        return Unreadable(
            "parse_timeout",
            f"Reading {name} took longer than {limits.seconds:g} seconds and was stopped.",
            next_step="Save it in a simpler form or in parts, or raise the limit.",
        )
    if left.status == -signal.SIGKILL:  # not ours: the system takes the largest process when memory runs out
        return _memory_error(source_name, limits)
    return Unreadable(
        "parse_crashed",
        f"The parser died while reading {name} (exit status {left.status}).",
        why="The file is damaged or made to break its reader.",
        next_step="Open it in its own program, save it again and upload that.",
    )


def _memory_error(source_name: str, limits: ReadLimits) -> Unreadable:
    return Unreadable(
        "parse_memory",
        f"Reading {display_name(source_name)} needed more than {limits.memory_bytes // 2**20} MiB of memory.",
        next_step="Save it in a simpler form or in parts, or raise the limit.",
    )


# --- the child's side --------------------------------------------------------------------------


def serve(order: BinaryIO, answer: TextIO) -> None:
    """One order and one file read, one JSON answer written; this process reads nothing else."""
    asked = json.loads(order.readline())
    limits = ReadLimits(**asked["limits"])
    options = ReadOptions(**asked["options"])
    _limit_self(limits)
    reply = _reply(order.read(), asked["source_name"], limits, options)
    json.dump(reply | {"peak_mib": _peak_mib()}, answer)


def _limit_self(limits: ReadLimits) -> None:
    seconds = math.ceil(limits.seconds)
    for what, most in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))


def _reply(data: bytes, source_name: str, limits: ReadLimits, options: ReadOptions) -> dict[str, Any]:
    try:
        document = parse(data, source_name, limits, options)
    except Unreadable as error:
        return _error_reply(error)
    except MemoryError:
        return _error_reply(_memory_error(source_name, limits))
    except (
        Exception
    ) as error:  # the edge of the parsers: whatever a broken file makes them raise is the file's fault
        return _error_reply(_corrupt(source_name, error))
    return {
        "document": {name: getattr(document, name) for name in FIELDS},
        "blocks": [astuple(block) for block in document.blocks],
        "warnings": document.warnings,
    }


def _error_reply(error: Unreadable) -> dict[str, Any]:
    return {"error": {"code": error.code, "what": error.what, "why": error.why, "next_step": error.next_step}}


def _corrupt(source_name: str, error: Exception) -> Unreadable:
    return Unreadable(
        "corrupt_document",
        f"{display_name(source_name)} breaks the rules of its format ({type(error).__name__}).",
        why="It is damaged, cut short, or written by a program that does not keep to the format.",
        next_step="Open it in its own program, save it again and upload that.",
    )


def _peak_mib() -> float:
    """Largest resident size of this program, or of one that it ran.

    Of its own, `getrusage` would count the parent's too, inherited through exec.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    own = int(status.split("VmHWM:")[1].split()[0])
    return max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024
