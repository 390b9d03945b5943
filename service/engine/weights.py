"""Which weights a folder holds, so that an answer can say what made it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ingest.models import MANIFEST

DIGITS = 12
SAMPLED_BYTES = 2**20  # of each end of a file: reading all of it would take minutes at each start
DECIDE = ("config.json", "*.safetensors", "*.bin", "*.gguf")


def revision(folder: Path) -> str:
    """Another one for other weights: the commit of a hub's snapshot, a pack's hashes, else of file ends."""
    if folder.parent.name == "snapshots":  # as the hub's library keeps them: by commit
        return folder.name[:DIGITS]
    manifest = folder / MANIFEST
    if manifest.is_file():
        return hashlib.sha256(manifest.read_bytes()).hexdigest()[:DIGITS]
    digest = hashlib.sha256()
    for path in _files(folder):
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode() + _ends(path))
    return digest.hexdigest()[:DIGITS]


def weight_bytes(folder: Path) -> int:
    """Of the files that hold them: what they take in memory as they are stored."""
    return sum(path.stat().st_size for path in _files(folder) if path.suffix != ".json")


def _files(folder: Path) -> list[Path]:
    return sorted(path for pattern in DECIDE for path in folder.glob(pattern))


def _ends(path: Path) -> bytes:
    with path.open("rb") as file:
        head = file.read(SAMPLED_BYTES)
        file.seek(max(path.stat().st_size - SAMPLED_BYTES, 0))
        return head + file.read()
