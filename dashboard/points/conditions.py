"""Conditions on columns: which points have these categories, or a number in this range."""

from dataclasses import dataclass
from math import isfinite
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import NDArray

from dashboard.points.columns import Column, column_of, columns, values
from dashboard.points.drawn import Drawn
from store import Corpus

MOST_CONDITIONS = 12
MOST_CATEGORIES = 100


@dataclass(frozen=True)
class Condition:
    """One column, and its categories (any of them) or the range its number is in, ends included; None is no end.

    Without categories or ends it is one that a reader is about to make: every point meets it.
    """

    column: str
    categories: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.categories:
            return f"{_quoted(self.column)}:{'|'.join(map(_quoted, self.categories))}"
        if self.low is None and self.high is None:
            return f"{_quoted(self.column)}:"
        return f"{_quoted(self.column)}:{_spelled(self.low)}..{_spelled(self.high)}"


def write_conditions(conditions: tuple[Condition, ...]) -> str:
    """As in a link: `column:a|b;column:low..high`."""
    return ";".join(map(str, conditions))


def parse_conditions(text: str, corpus: Corpus) -> tuple[tuple[Condition, ...], list[str]]:
    """The conditions of a link, and a sentence on everything in it that cannot be met."""
    notices: list[str] = []
    asked = [part for part in text.split(";") if part]
    read = [_parse(part, corpus, notices) for part in asked[:MOST_CONDITIONS]]
    conditions = tuple(one for one in read if one is not None)
    if len(asked) > MOST_CONDITIONS:
        notices.append(f"There are more than {MOST_CONDITIONS} conditions. The first of them are applied.")
    return conditions, notices


def points_that_meet(condition: Condition, drawn: Drawn) -> NDArray[np.bool_]:
    """Which drawn points meet a condition: (panel, token, role), one panel where it is the same in all."""
    column = column_of(drawn.corpus, condition.column)
    found = values(column, drawn)
    if column.kind == "category":
        if not condition.categories:
            return np.ones((1, 1, 1), bool)
        codes = [column.code(category) for category in condition.categories]
        return np.isin(found, [code for code in codes if code is not None])
    low, high = (
        end if end is not None else limit for end, limit in ((condition.low, -np.inf), (condition.high, np.inf))
    )
    return (found >= low) & (found <= high)


def _parse(text: str, corpus: Corpus, notices: list[str]) -> Condition | None:
    """A condition, None where nothing is left of it."""
    name, colon, asked = text.partition(":")
    column = columns(corpus).get(unquote(name))
    if column is None or not colon:
        notices.append(f"There is no column “{unquote(name)[:60]}” to filter by. The condition is left out.")
        return None
    if not asked:
        return Condition(column.name)
    return (_categories if column.kind == "category" else _range)(column, asked, notices)


def _categories(column: Column, asked: str, notices: list[str]) -> Condition | None:
    names = list(dict.fromkeys(map(unquote, asked.split("|"))))
    read = names[:MOST_CATEGORIES]
    if len(names) > len(read):
        notices.append(f"There are more than {MOST_CATEGORIES} categories of {column.title}. The others are left out.")
    known = tuple(name for name in read if column.code(name) is not None)
    if len(known) < len(read):
        left_out = "|".join(name for name in read if name not in known)[:60]
        what = "These are" if known else "The condition is"
        notices.append(f"{column.title} is never “{left_out}”. {what} left out.")
    return Condition(column.name, known) if known else None


def _range(column: Column, asked: str, notices: list[str]) -> Condition | None:
    low, dots, high = (unquote(part) for part in asked.partition(".."))
    if dots and (low or high) and _is_end(low) and _is_end(high):
        return Condition(column.name, (), *(float(end) if end else None for end in (low, high)))
    notices.append(f"“{unquote(asked)[:60]}” is no range of {column.title}, such as 1..5. The condition is left out.")
    return None


def _is_end(text: str) -> bool:
    """Whether this is a finite number, or nothing at all."""
    try:
        return not text or (len(text) < 40 and isfinite(float(text)))
    except ValueError:
        return False


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _spelled(end: float | None) -> str:
    return "" if end is None else f"{end!r}".removesuffix(".0")
