"""A set of points: the same tokens in one panel or in several, and the columns by which they are coloured, sized and filtered.

Three kinds are: queries and keys of heads, tokens at feature points, and either of these in two models. Selections, legends, the bytes
for the canvas and files work for every kind.

The selected points are those that match a search, all conditions on columns, and a lasso.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Literal, Protocol
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import NDArray

from dashboard.points.lasso import Lasso, Region
from dashboard.points.search import spaced
from dashboard.web.bounds import matches_of
from dashboard.web.state import MOST_SOUGHT, WITHIN, Within
from store import Corpus, StoreError
from store.phrases import whole_number

Kind = Literal["category", "number"]
Values = NDArray[np.float64 | np.int64]
Mask = NDArray[np.bool_]
MOST_CONDITIONS = 12
#: Most conditions in a data URL: its last condition may be the category that the legend shows alone.
MOST_OF_DATA = MOST_CONDITIONS + 1
MOST_CATEGORIES = 100
MAGIC = b"HSM2"
#: Fields of a link that select points.
FIELDS = ("q", "within", "where", "lasso")


@dataclass(frozen=True)
class Column:
    """A property of every point: a number, or one of a few categories.

    Attributes
    ----------
    title, unit
        Texts that a reader sees. The unit `share` is shown in per cent.
    per_head, per_role
        Whether the property differs between heads, and between query and key of a token.
    names
        Category of each code; empty where the code itself is the name.
    logarithmic
        Whether the colour scale is logarithmic.
    rest
        What the legend calls the points without a value.
    read
        The values of the points of a set: (panel, token, role), of length 1 where an axis makes no difference. Numbers are float64
        with NaN for no value, categories int64 codes with -1 for no value.
    """

    name: str
    title: str
    kind: Kind = "number"
    unit: str = ""
    per_head: bool = False
    per_role: bool = False
    names: tuple[str, ...] = ()
    logarithmic: bool = False
    rest: str = "points without a value"
    read: Callable[[Any], Values] = field(kw_only=True, repr=False, compare=False)

    def category(self, code: int) -> str:
        """Name of a category."""
        return self.names[code] if code < len(self.names) else f"{code}"

    def code(self, name: str) -> int | None:
        """Code of a category by its name; None for an unknown name."""
        if self.names:
            return self.names.index(name) if name in self.names else None
        return whole_number(name)


class PointSet(Protocol):
    """The first tokens of a corpus or of a token set, as points in panels."""

    @property
    def tokens(self) -> int:
        """Number of tokens in every panel."""

    @property
    def roles(self) -> Sequence[str]:
        """Names of the points of each token: its query and its key, or a single point."""

    @property
    def columns(self) -> Mapping[str, Column]:
        """Every column by its name, in the order of the menu."""

    def places(self, view: str) -> NDArray[np.float32]:
        """Positions in a view, 0 to 1: (panel, token, role, component)."""

    def read(self, column: Column) -> Values:
        """The values of a column: (panel, token, role), of length 1 where an axis makes no difference."""

    def coloured_like(self, column: Column) -> "PointSet":
        """The points whose values decide the colours of this set."""

    def matching(self, q: str, within: Within) -> Mask:
        """Whether a search finds each token: (token,)."""

    def inside(self, region: Any) -> Mask:
        """Whether each point is inside a region that was drawn in a picture of this set: (token, role)."""


@dataclass(frozen=True)
class Beside:
    """Two sets with the same tokens side by side: two heads, or two models. The first set gives the colours."""

    first: PointSet
    second: PointSet

    @property
    def tokens(self) -> int:
        """Number of tokens in every panel."""
        return self.first.tokens

    @property
    def roles(self) -> Sequence[str]:
        """Roles of the first set."""
        return self.first.roles

    @property
    def columns(self) -> Mapping[str, Column]:
        """Columns of the first set."""
        return self.first.columns

    def places(self, view: str) -> NDArray[np.float32]:
        """Positions in a view, 0 to 1: (panel, token, role, component)."""
        return np.concatenate([self.first.places(view), self.second.places(view)])

    def read(self, column: Column) -> Values:
        """The values of a column in both sets: (panel, token, role)."""
        return np.concatenate([values(column, points) for points in (self.first, self.second)])

    def coloured_like(self, _column: Column) -> PointSet:
        """The first set."""
        return self.first

    def matching(self, q: str, within: Within) -> Mask:
        """Whether a search finds each token: (token,)."""
        return self.first.matching(q, within)

    def inside(self, region: Any) -> Mask:
        """Whether each point is inside a region that was drawn in a picture of the first set: (token, role)."""
        return self.first.inside(region)


def values(column: Column, points: PointSet) -> Values:
    """The values of a column at the points: (panel, token, role), read-only; one panel where all panels share them."""
    read = points.read(column)
    return np.broadcast_to(read, (len(read), points.tokens, len(points.roles)))


def column_named(known: Mapping[str, Column], name: str) -> Column:
    """A column by its name. Raises StoreError for an unknown one."""
    column = known.get(name)
    if column is None:
        raise StoreError(f"There is no column {name[:60]!r}. Choose one of {', '.join(known)}.")
    return column


@dataclass(frozen=True)
class Condition:
    """A condition on a column: any of some categories, or a range with its ends; None is an open end.

    Without categories and ends every point matches: a reader has just added the condition.
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
    """The conditions as a link has them: `column:a|b;column:low..high`."""
    return ";".join(map(str, conditions))


def parse_conditions(
    text: str, known: Mapping[str, Column], *, most: int = MOST_CONDITIONS
) -> tuple[tuple[Condition, ...], list[str]]:
    """The conditions of a link on the known columns, and a notice on each part that is ignored."""
    notices: list[str] = []
    parts = [part for part in text.split(";") if part]
    parsed = [_parse(part, known, notices) for part in parts[:most]]
    conditions = tuple(condition for condition in parsed if condition is not None)
    if len(parts) > most:
        notices.append(f"A link has at most {most} filters; the others are ignored.")
    return conditions, notices


def matching_points(condition: Condition, points: PointSet) -> NDArray[np.bool_]:
    """Whether each point matches a condition: (panel, token, role), one panel where all panels agree."""
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


def _parse(text: str, known: Mapping[str, Column], notices: list[str]) -> Condition | None:
    """The condition that a part of a link describes; None for an invalid part."""
    name, colon, text = text.partition(":")
    column = known.get(unquote(name))
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


def parse_selection(
    fields: Mapping[str, str], corpus: Corpus, known: Mapping[str, Column], *, most: int = MOST_CONDITIONS
) -> tuple[Selection, tuple[str, ...]]:
    """The selection of a link by the known columns of a corpus, and a notice on each part that is ignored."""
    q = spaced(fields.get("q", ""))
    where, notices = parse_conditions(fields.get("where", ""), known, most=most)
    if len(q) > MOST_SOUGHT:
        notices.append(f"A search has at most {MOST_SOUGHT} characters; the rest is ignored.")
        q = spaced(q[:MOST_SOUGHT])
    within = _within(fields.get("within", ""), corpus, notices) if q else WITHIN[0]
    return Selection(q, within, where, _lasso(fields.get("lasso", ""), corpus, notices)), tuple(notices)


def mask(points: PointSet, selection: Selection) -> NDArray[np.bool_]:
    """Whether each point is selected: (panel, token, role), one panel where all panels agree.

    A search selects a token in all of its roles. A region selects the same points in every panel. An empty selection selects
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
