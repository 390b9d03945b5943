"""The time of day as it is stored."""

from __future__ import annotations

from datetime import UTC, date, datetime


def now_utc() -> str:
    """RFC 3339 in UTC, always with microseconds, so that times sort as text."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def today_utc() -> date:
    return datetime.now(UTC).date()
