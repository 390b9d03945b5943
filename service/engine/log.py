"""What the server's log says: its last word while it starts, and why it did not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ingest.corpus.errors import Unavailable
from ingest.corpus.settings import variable

SHOWN_LINES = 15  # of a failed start
LINE_CHARS = 120
# "(EngineCore pid=12) INFO 11-30 08:54:25 [kv_cache_utils.py:2327] ": who says it, and when
ORIGIN = re.compile(r"^(\(.*?\) )?([A-Z]+ [\d-]+ [\d:.]+ \[.*?\] )?")

# What a log says when a start has failed -> why, next step.
CAUSES = (
    (
        r"KV cache is needed|No available memory for the cache blocks",
        "The KV cache cannot hold one sequence of that length.",
        f"Raise {variable('engine_kv_gib')} (without a GPU), or lower {variable('context_window')}.",
    ),
    (
        r"max_model_len \(\d+\) is greater than",
        "The model holds fewer tokens than one sequence may have.",
        f"Lower {variable('context_window')} to what the model holds.",
    ),
    (
        r"[Oo]ut ?[Oo]f ?[Mm]emory|MemoryError|Cannot allocate memory|can't allocate memory|: -9\b",
        "It ran out of memory.",
        f"Choose a smaller model, or lower {variable('engine_kv_gib')} or {variable('context_window')}; "
        f"{variable('engine_dtype')}=bfloat16 halves the weights of one that is run in float32.",
    ),
    (
        r"libnuma\.so",
        "The system library libnuma is missing.",
        "Install it (Debian and Ubuntu: apt-get install libnuma1), then start again.",
    ),
    (
        r"No module named '?vllm",
        "Its environment holds no vLLM.",
        f"Run `make install-engine`, or set {variable('engine_python')} to the interpreter that has it.",
    ),
)


def start_failed(lines: Sequence[str]) -> Unavailable:
    """For a server that ended before it was ready: with the line that tells why, or the end of its log."""
    for pattern, cause, next_step in CAUSES:
        telling = next((line for line in lines if re.search(pattern, line)), None)
        if telling is not None:
            return Unavailable("vLLM did not start.", why=f"{cause} It said: {telling}", next_step=next_step)
    silent = not any("rror" in line for line in lines)
    why = "It ended without a word on why, as what the system kills for its memory does." if silent else ""
    ending = "\n".join(["Its log ends so:", *lines[-SHOWN_LINES:]])
    next_step = "Mend what its log names, then start again."
    return Unavailable("vLLM did not start.", why=f"{why} {ending}".strip(), next_step=next_step)


def last_word(lines: Sequence[str]) -> str:
    """The last line of a log, without who said it and when."""
    said = ORIGIN.sub("", lines[-1]) if lines else "nothing yet"
    return said if len(said) <= LINE_CHARS else f"{said[:LINE_CHARS]}…"


def log_lines(log: Path) -> list[str]:
    """Those that say something; a progress bar is as it was shown last."""
    written = log.read_bytes().decode("utf-8", "replace")
    shown = (line.rstrip("\r").rpartition("\r")[2].strip() for line in written.split("\n"))
    return [line for line in shown if line]
