"""Ids that nobody can guess, made here alone."""

from __future__ import annotations

import secrets

ALPHABET = (
    "abcdefghijklmnopqrstuvwxyz234567"  # base32 in small letters: nothing to escape, nothing to misread
)
LENGTH = 20  # characters, 5 bits each: 100 bits


def new_id(kind: str) -> str:
    """`kind`, an underscore and 20 random characters: "doc_…", "job_…"."""
    return f"{kind}_{random_text(LENGTH)}"


def random_text(length: int) -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(length))
