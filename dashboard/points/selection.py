"""The selection of a picture: the points that match a search, all conditions on columns, and a lasso."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import NDArray

from dashboard.points.head_tokens import columns
from dashboard.points.point_set import Column, Lasso, PointSet, Region, column_named, values
from dashboard.points.search import spaced
from dashboard.web.bounds import matches_of
from dashboard.web.state import MOST_SOUGHT, WITHIN, Within
from store import Corpus

MOST_CONDITIONS = 12
MOST_CATEGORIES = 100
MAGIC = b"HSM2"
#: Fields of a link that select points.
FIELDS = ("q", "within", "where", "lasso")


@dataclass(frozen=True)
class Condition:
    """A column with categories, of which any may match, or with a range, ends included; None is an open end.

    Without either, every point matches: a reader has just added it.
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
    """The conditions of a link, and a notice on each part that is ignored."""
    notices: list[str] = []
    parts = [part for part in text.split(";") if part]
    parsed = [_parse(part, corpus, notices) for part in parts[:MOST_CONDITIONS]]
    conditions = tuple(condition for condition in parsed if condition is not None)
    if len(parts) > MOST_CONDITIONS:
        notices.append(f"A link has at most {MOST_CONDITIONS} filters; the others are ignored.")
    return conditions, notices


def matching_points(condition: Condition, points: PointSet) -> NDArray[np.bool_]:
    """Which points match a condition: (panel, token, role), one panel where all panels agree."""
    column = column_named(points.columns, condition.column)
    known = values(column, points)
    if column.kind == "category":
        if not condition.categories:
            return np.ones((1, 1, 1), bool)
        codes = [column.code(category) for category in condition.categories]
        return np.isin(known, [code for code in codes if code is not None])
    low, high = (
        end if end is not None else limit for end, limit in ((condition.low, -np.inf), (condition.high, np.inf))
    )
    return (known >= low) & (known <= high)


def _parse(text: str, corpus: Corpus, notices: list[str]) -> Condition | None:
    """A condition; None where it is invalid."""
    name, colon, text = text.partition(":")
    column = columns(corpus).get(unquote(name))
    if column is None or not colon:
        notices.append(f"Ignored a filter: there is no column “{unquote(name)[:60]}”.")
        return None
    if not text:
        return Condition(column.name)
    return (_categories if column.kind == "category" else _range)(column, text, notices)


def _categories(column: Column, text: str, notices: list[str]) -> Condition | None:
    names = list(dict.fromkeys(map(unquote, text.split("|"))))
    read = names[:MOST_CATEGORIES]
    if len(names) > len(read):
        notices.append(f"A filter has at most {MOST_CATEGORIES} categories of {column.title}; the others are ignored.")
    known = tuple(name for name in read if column.code(name) is not None)
    if len(known) < len(read):
        left_out = "|".join(name for name in read if name not in known)[:60]
        ignored = "categories" if known else "a filter"
        notices.append(f"Ignored {ignored}: {column.title} has no “{left_out}”.")
    return Condition(column.name, known) if known else None


def _range(column: Column, text: str, notices: list[str]) -> Condition | None:
    low, dots, high = (unquote(part) for part in text.partition(".."))
    if dots and (low or high) and _is_end(low) and _is_end(high):
        return Condition(column.name, (), *(float(end) if end else None for end in (low, high)))
    notices.append(f"Ignored a filter: “{unquote(text)[:60]}” is no range of {column.title}. Write one as 1..5.")
    return None


def _is_end(text: str) -> bool:
    """Whether the text is empty or a finite number."""
    try:
        return not text or (len(text) < 40 and isfinite(float(text)))
    except ValueError:
        return False


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _spelled(end: float | None) -> str:
    return "" if end is None else f"{end!r}".removesuffix(".0")


@dataclass(frozen=True)
class Selection:
    """A search `q` for a token, a prefix, a phrase or a lemma, conditions on columns, and a lasso; empty by default."""

    q: str = ""
    within: Within = "token"
    where: tuple[Condition, ...] = ()
    lasso: Region | None = None

    def __bool__(self) -> bool:
        return bool(self.q or self.where or self.lasso)

    @property
    def fields(self) -> dict[str, str]:
        """The parameters of a link, without empty ones."""
        within = self.within if self.q and self.within != "token" else ""
        lasso = str(self.lasso) if self.lasso else ""
        every = dict(zip(FIELDS, (self.q, within, write_conditions(self.where), lasso), strict=True))
        return {name: text for name, text in every.items() if text}


def parse_selection(fields: Mapping[str, str], corpus: Corpus) -> tuple[Selection, tuple[str, ...]]:
    """The selection of a link, and a notice on each part that is ignored."""
    q = spaced(fields.get("q", ""))
    where, notices = parse_conditions(fields.get("where", ""), corpus)
    if len(q) > MOST_SOUGHT:
        notices.append(f"A search has at most {MOST_SOUGHT} characters; the rest is ignored.")
        q = spaced(q[:MOST_SOUGHT])
    within = _within(fields.get("within", ""), corpus, notices) if q else WITHIN[0]
    return Selection(q, within, where, _lasso(fields.get("lasso", ""), corpus, notices)), tuple(notices)


def mask(points: PointSet, selection: Selection) -> NDArray[np.bool_]:
    """Which points are selected: (panel, token, role), one panel where all panels agree.

    A search selects a token, in each of its roles. A region selects the same points in every panel. An empty selection selects
    everything.
    """
    selected = np.ones((1, points.tokens, len(points.roles)), bool)
    if selection.q:
        selected = selected & points.matching(selection.q, selection.within)[None, :, None]
    if selection.lasso:
        selected = selected & points.inside(selection.lasso)[None]
    for condition in selection.where:
        selected = selected & matching_points(condition, points)
    return selected


def encode(selected: NDArray[np.bool_]) -> bytes:
    """`HSM2`, u32 panels, tokens, roles, then a bit for each [panel, token, role], the first in the highest bit."""
    return MAGIC + struct.pack("<3I", *selected.shape) + np.packbits(selected).tobytes()


def _within(text: str, corpus: Corpus, notices: list[str]) -> Within:
    for within in matches_of(corpus):
        if text in (within, ""):
            return within
    notices.append(f"Ignored an invalid parameter: within={text[:40]}. Choose one of {', '.join(matches_of(corpus))}.")
    return WITHIN[0]


def _lasso(text: str, corpus: Corpus, notices: list[str]) -> Lasso | None:
    lasso = Lasso.parse(text) if text else None
    if (
        lasso
        and lasso.view in corpus.views
        and lasso.layer in range(corpus.layers)
        and lasso.head in range(corpus.heads)
    ):
        return lasso
    if text:
        notices.append("Ignored the lasso: this store has no such picture.")
    return None
