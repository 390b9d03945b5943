"""GPUs by name: memory as CUDA reports it, and how fast they read and reckon. From vendors' data sheets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ingest.corpus.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Gpu:
    """`gib`: what is there for programs, some less than is printed on the box."""

    name: str
    gib: float
    bandwidth: float  # bytes a second
    flops: float  # of 16-bit floats, dense, a second


KNOWN = (
    Gpu("t4-16gb", 14.5, 0.32e12, 65e12),
    Gpu("l4-24gb", 22.0, 0.30e12, 121e12),
    Gpu("a10-24gb", 22.0, 0.60e12, 125e12),
    Gpu("rtx3090-24gb", 23.5, 0.936e12, 71e12),
    Gpu("rtx4090-24gb", 23.5, 1.008e12, 165e12),
    Gpu("rtx5090-32gb", 31.3, 1.79e12, 209e12),
    Gpu("v100-32gb", 31.7, 0.90e12, 125e12),
    Gpu("a100-40gb", 39.3, 1.555e12, 312e12),
    Gpu("l40s-48gb", 44.3, 0.864e12, 362e12),
    Gpu("a100-80gb", 79.1, 2.04e12, 312e12),
    Gpu("h100-80gb", 79.1, 3.35e12, 989e12),
    Gpu("h20-96gb", 95.0, 4.0e12, 148e12),
    Gpu("h200-141gb", 139.7, 4.8e12, 989e12),
    Gpu("b200-180gb", 178.0, 8.0e12, 2250e12),
)
GPUS: Mapping[str, Gpu] = {one.name: one for one in KNOWN}


def gpu_of(name: str, gib: float | None = None) -> Gpu:
    """`gib` is the memory of a GPU that is not in the table, or of one that has less than its kind.

    :raises InvalidInput: a name that is not known, and no memory given.
    """
    known = GPUS.get(name.lower())
    if gib is not None:
        if not gib > 0:
            raise InvalidInput(f"A GPU's memory must be above 0 GiB, was: {gib}.", field="gpu_gib")
        return Gpu(name, gib, known.bandwidth if known else 0.0, known.flops if known else 0.0)
    if known is None:
        raise InvalidInput(
            f"How much memory a {name!r} has is not known.",
            why=f"Known are: {', '.join(GPUS)}.",
            next_step="Name one of these, or give the memory with --gpu-gib.",
            field="gpu",
        )
    return known


def larger(than: Gpu) -> Gpu | None:
    """The next larger of the table; None if there is none."""
    return next((one for one in sorted(KNOWN, key=lambda one: one.gib) if one.gib > than.gib * 1.1), None)
