"""Counts and dates as a person reads them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any


def many(count: int, noun: str) -> str:
    """A count with its noun: `1 token`, `1,200 tokens`."""
    return f"{count:,} {noun if count == 1 else f'{noun}s'}"


def utc(moment: datetime) -> str:
    """A date with its time: `22 Nov 2026, 05:35 UTC`. `moment` knows its time zone."""
    return f"{moment.astimezone(UTC):%d %b %Y, %H:%M} UTC"


def as_label(text: str) -> str:
    """A text that plotly shows character by character: it takes `<s>` for a tag, `&amp;` for `&` and `$a$` for a formula."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("$", "&#36;")


def held_sentences(model: Mapping[str, Any]) -> str:
    """How much a model holds, by its attributes: `4,000 sentences (105,232 tokens)`, and of which there are vectors."""
    stored = f"{many(model['sentences'], 'sentence')} ({many(model['tokens'], 'token')})"
    if "counted_sentences" not in model:
        return stored
    counted = f"{many(model['counted_sentences'], 'sentence')} ({many(model['counted_tokens'], 'token')})"
    return f"{counted} with vectors of the first {stored}"
