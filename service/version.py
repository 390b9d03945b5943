"""Which program this is, to the byte: one that is being worked on has no number of its own."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

KINDS = frozenset({".py", ".toml", ".txt"})  # of files that it is made of


def code_version() -> str:
    """As "0.1.0+3fa9c1d20b7e": the release, and 12 hex digits over its files."""
    digest = hashlib.sha256()
    for package in ("service", "ingest"):
        root = Path(str(files(package)))
        for path in sorted(one for one in root.rglob("*") if one.suffix in KINDS):
            digest.update(path.relative_to(root.parent).as_posix().encode() + b"\0" + path.read_bytes())
    return f"{version('citeward')}+{digest.hexdigest()[:12]}"
