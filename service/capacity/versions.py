"""What changed between versions of vLLM, by version. Older ones are known so that old logs can be read."""

from __future__ import annotations

import re
from typing import Literal

# How "GPU KV cache size: N tokens" was made.
Reporting = Literal["blocks*block_size", "blocks//groups*block_size", "concurrency*max_model_len"]
Version = tuple[int, int, int]

NEWEST: Version = (0, 32, 0)  # whose rules hold where no version is given
BY_GROUPS: Version = (0, 10, 0)  # the hybrid cache came, and tokens were counted by groups
BY_CONCURRENCY: Version = (0, 20, 1)
GRAPHS_ESTIMATED: Version = (0, 21, 0)  # CUDA graphs are inside the budget from here on
TWO_BATCHES: Version = (0, 26, 0)  # in flight at once, where scheduling is asynchronous


def version_of(name: str | None) -> Version | None:
    """`0.20.2rc1`, `0.6.x (V0)` → three numbers; None where there are none."""
    found = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?", name or "")
    if not found:
        return None
    major, minor, patch = (int(one or 0) for one in found.groups())
    return major, minor, patch


def reporting_of(version: Version) -> Reporting:
    if version >= BY_CONCURRENCY:
        return "concurrency*max_model_len"
    return "blocks//groups*block_size" if version >= BY_GROUPS else "blocks*block_size"


def batches_in_flight(version: Version, *, asynchronous: bool, pipeline_parallel: int = 1) -> int:
    """How many steps may be scheduled and not yet settled, as the memory for windows is reckoned."""
    if version < TWO_BATCHES:
        return 1
    if pipeline_parallel > 1:
        return pipeline_parallel + int(asynchronous)  # the newer runner's, the larger figure
    return 2 if asynchronous else 1


def default_batch(gpu_gib: float | None, gpu: str = "") -> int:
    """max_num_batched_tokens of an API server that was told none; `gpu_gib` None: on a CPU."""
    if gpu_gib is None or gpu_gib < 70:
        return 2048
    if gpu_gib >= 160:
        return 16384
    return 2048 if "A100" in gpu else 8192
