"""Counts, dates, names and flags for people, whole numbers that people write, and texts of CSV files that are safe in spreadsheets.

A text that begins like a formula gets an apostrophe before it, and so does a text that looks like such a guarded text.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from shlex import quote
from typing import Any

#: Beginning of a cell that a spreadsheet takes for a formula (OWASP, CSV injection), also after apostrophes of the text.
FORMULA = r"\A'*[=+\-@\t\r\n]"
#: The last column of every file of Headscape: models, corpus and snapshot of the numbers.
PROVENANCE = "provenance"
#: Most digits of a whole number in a link, a flag or a file: enough for any count or index.
MOST_DIGITS = 11
#: Beginning of a name that is spoken with a vowel first: a vowel, or a letter that is spelled out, as in MPNet and X-MOD.
_VOWEL = re.compile("(?!Eu)[AEIOXaeio]|[FHLMNRS](?![a-z])")
_GUARDED = re.compile(FORMULA.replace(r"\A", r"\A'(?=") + ")")


def many(count: int, noun: str) -> str:
    """A count with its noun: `1 token`, `1,200 tokens`."""
    return f"{count:,} {noun if count == 1 else f'{noun}s'}"


def written_flags(settings: Mapping[str, Any]) -> list[str]:
    """Settings of a command as flags that a shell takes as they are: `--max-length=64`."""
    return [quote(f"--{name.replace('_', '-')}={value}") for name, value in settings.items()]


def one(name: str) -> str:
    """A name with its article: `a BERT`, `an ALBERT`."""
    return f"{'an' if _VOWEL.match(name) else 'a'} {name}"


def whole_number(text: str) -> int | None:
    """The number that the ASCII digits of a text spell; None where it has other characters, or more digits than any count."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else None


def first_reviews(first: int, total: int | None) -> str:
    """Reviews that a sample is drawn from: `the first 50,000 of 3,000,000 reviews`, or without the second number."""
    return f"the first {first:,} of {total:,} reviews" if total else f"the first {many(first, 'review')}"


def utc(moment: datetime) -> str:
    """A date with its time: `22 Nov 2026, 05:35 UTC`. `moment` knows its time zone."""
    return f"{moment.astimezone(UTC):%d %b %Y, %H:%M} UTC"


def as_label(text: str) -> str:
    """A text escaped for plotly, which would take `<s>` for a tag, `&amp;` for `&` and `$a$` for a formula."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("$", "&#36;")


#: Share of cut sentences above which pages warn: numbers of heads then miss much of the text.
MANY_CUT = 0.02


def cut_sentences(cut: int, sentences: int, max_length: int) -> str:
    """Number of cut sentences, in words: `30 of 4,000 sentences (0.75%) are longer than 128 wordpieces and were cut`."""
    if not cut:
        return f"no sentence is longer than {max_length} wordpieces"
    are = "is longer than {} wordpieces and was cut" if cut == 1 else "are longer than {} wordpieces and were cut"
    share = 100 * cut / sentences
    return f"{cut:,} of {many(sentences, 'sentence')} ({_percent(share)}) {are.format(max_length)}"


def _percent(share: float) -> str:
    """A share in per cent, which is 0 for none and 100 for all alone: `0.75%`, `under 0.01%`, `over 99.9%`."""
    if share < 0.01:
        return "under 0.01%"
    if 99.9 < share < 100:
        return "over 99.9%"
    return f"{share:.3g}%" if share > 99 else f"{share:.2g}%"


def held_sentences(model: Mapping[str, Any]) -> str:
    """Size of a model from its attributes: `4,000 sentences (105,232 tokens)`, and how many of the first have vectors."""
    stored = f"{many(model['sentences'], 'sentence')} ({many(model['tokens'], 'token')})"
    if "counted_sentences" not in model:
        return stored
    counted = f"{many(model['counted_sentences'], 'sentence')} ({many(model['counted_tokens'], 'token')})"
    return f"{counted} with vectors of the first {stored}"


def guarded(text: str) -> str:
    """The text, with an apostrophe before it where a spreadsheet would read a formula or `unguarded` would strip an apostrophe."""
    return f"'{text}" if re.match(FORMULA, text) else text


def unguarded(text: str) -> str:
    """The text without the apostrophe of `guarded`."""
    return _GUARDED.sub("", text)
