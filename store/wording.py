"""Counts and dates as a person reads them."""

from datetime import UTC, datetime


def many(count: int, noun: str) -> str:
    """A count with its noun: `1 token`, `1,200 tokens`."""
    return f"{count:,} {noun if count == 1 else f'{noun}s'}"


def utc(moment: datetime) -> str:
    """A date with its time: `22 Nov 2026, 05:35 UTC`. `moment` knows its time zone."""
    return f"{moment.astimezone(UTC):%d %b %Y, %H:%M} UTC"
