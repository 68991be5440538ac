"""A column as a colour code of every point, and the legend of the codes.

Format, little-endian: `HSC2`, u32 panels (1 where all panels are the same), tokens a panel, roles, then u8 [panel, token, role].
255 is no value. A number has a code from 0 (the legend's low) to 254 (its high). A category has a code of its own from 0 to 7; all
other categories have code 8.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dash import html
from numpy.typing import NDArray

from dashboard.points.point_set import Column, Kind, PointSet, Values, values
from dashboard.ui.text import end_of_range, with_unit
from dashboard.ui.theme import CATEGORIES, COLOURED, OTHER
from dashboard.web.state import LinkState
from store.phrases import many
from store.schema.model import ROLES

MAGIC = b"HSC2"
MISSING = 255
#: Percentiles of the drawn values at the ends of the colour scale: a few extreme tokens do not grey out the others.
SPAN = (2, 98)
#: From a category: the link that shows it alone, or all categories again; and whether the category is alone now.
Isolate = Callable[[str], tuple[str, bool]]
#: Legend of the shapes: they tell queries from keys where the colour shows a category.
OUTLINED = "● query ◇ key (outlined when zoomed in)"


@dataclass(frozen=True)
class Category:
    """A category among the drawn points: its number of points and its colour."""

    code: int
    name: str
    count: int
    colour: int


@dataclass(frozen=True)
class Legend:
    """The legend of a column in one picture.

    `low` and `high` are the ends of a number's colour scale, NaN where no point has a value. `categories` have a colour of their
    own and stand in the order of their codes; `more` counts the other categories, `others` their points. `missing` counts the points
    without a value; `rest` is what the legend calls them.
    """

    column: str
    title: str
    kind: Kind
    unit: str
    low: float
    high: float
    logarithmic: bool
    categories: tuple[Category, ...]
    more: int
    others: int
    missing: int
    rest: str


def legend(column: Column, points: PointSet) -> Legend:
    """The legend of a column over the points."""
    own = values(column, points)
    return legend_of(column, own, _like(column, points, own))


def legend_of(column: Column, values: Values, like: Values | None = None) -> Legend:
    """The legend of a column with these values (panel, token, role); categories have the colours of the values `like`."""
    low, high = span(column, values) if column.kind == "number" else (np.nan, np.nan)
    categories = _categories(column, values, values if like is None else like) if column.kind == "category" else []
    shown = [category for category in categories if category.colour < COLOURED]
    missing = int((np.isnan(values) if column.kind == "number" else values < 0).sum())
    return Legend(
        column=column.name,
        title=column.title,
        kind=column.kind,
        unit=column.unit,
        low=low,
        high=high,
        logarithmic=column.logarithmic,
        categories=tuple(shown),
        more=len(categories) - len(shown),
        others=sum(category.count for category in categories if category.colour == COLOURED),
        missing=missing,
        rest=column.rest,
    )


def colour_codes(column: Column, points: PointSet) -> NDArray[np.uint8]:
    """The code of every point: (panel, token, role)."""
    own = values(column, points)
    return codes_of(column, own, _like(column, points, own))


def _like(column: Column, points: PointSet, own: Values) -> Values:
    """The values that decide which colours the points with the values `own` have."""
    like = points.coloured_like(column)
    return own if like is points else values(column, like)


def codes_of(column: Column, values: Values, like: Values | None = None) -> NDArray[np.uint8]:
    """The codes of values (panel, token, role), in the colours of the values `like`."""
    known = values if like is None else like
    if column.kind == "category":
        colours = _colours(column, known, int(values.max(initial=-1)) + 1)
        return np.where(values < 0, MISSING, colours[values]).astype(np.uint8)
    ends = span(column, known)
    low, high = (_scaled(column, np.array(end)) for end in ends)
    width = high - low if high > low else 1.0
    share = np.clip((_scaled(column, values) - low) / width, 0, 1)
    return np.where(np.isnan(share), MISSING, np.rint(np.nan_to_num(share) * (MISSING - 1))).astype(np.uint8)


def encode(codes: NDArray[np.uint8]) -> bytes:
    """Codes (panel, token, role) as bytes."""
    return MAGIC + struct.pack("<3I", *codes.shape) + codes.tobytes()


def span(column: Column, values: Values) -> tuple[float, float]:
    """Lowest and highest number of the colour scale; NaN where there is no value."""
    distinct = values if column.per_role else values[..., :1]
    real = distinct[~np.isnan(distinct)]
    if not real.size:
        return float("nan"), float("nan")
    low, high = np.percentile(real, SPAN)
    return float(low), float(high)


def _scaled(column: Column, values: Values) -> Values:
    return np.log10(np.maximum(values, 1)) if column.logarithmic else values


def _categories(column: Column, values: Values, like: Values) -> list[Category]:
    """The categories that occur in any panel, in the order of their codes."""
    counts = np.bincount(values[values >= 0].astype(np.int64))
    colours = _colours(column, like, len(counts))
    return [
        Category(code, column.category(code), int(counts[code]), int(colours[code]))
        for code in np.flatnonzero(counts).tolist()
    ]


def _colours(column: Column, values: Values, count: int) -> NDArray[np.int64]:
    """Colour number of each code (code,): the most frequent codes have their own, in the order of codes; all others the last."""
    counts = np.bincount(values[values >= 0].astype(np.int64), minlength=max(count, len(column.names)))
    own = np.sort(np.argsort(-counts, kind="stable")[:COLOURED])
    colours = np.full(len(counts), COLOURED)
    colours[own] = np.arange(len(own))
    return colours


def marks_line() -> html.P:
    """A legend of the marks of queries and keys, for pictures that no column colours."""
    return html.P([_mark("●", "query"), " query ", _mark("◆", "key"), " key"], className="legend of-picture")


def isolating(state: LinkState, field: str) -> Isolate:
    """The function behind a click on a category: it is shown alone by a field of the link; a second click shows all."""

    def isolate(category: str) -> tuple[str, bool]:
        is_alone = state.fields[field] == category
        return state.with_(**{field: None if is_alone else category}).href, is_alone

    return isolate


def legend_line(shown: Legend, roles: Sequence[str] = ROLES, isolate: Isolate | None = None) -> html.Div:
    """The colour legend of a column: its range or its categories.

    Where a click on a category shows it alone, `isolate` makes the link.
    """
    body = _category_chips(shown, roles, isolate) if shown.kind == "category" else _range_bars(shown, roles)
    missing = [_rest(f"{shown.missing:,} {shown.rest}")] if shown.missing else []
    return html.Div([html.Span(f"{shown.title}:"), *body, *missing], className="legend of-picture")


def _rest(text: str) -> html.Span:
    return html.Span([html.Span(className="swatch none", **{"aria-hidden": "true"}), text], className="chip caption")


def _range_bars(shown: Legend, roles: Sequence[str]) -> list[object]:
    """A bar for each role from low to high."""
    if shown.low != shown.low:
        return [html.Span("no point has a value")]
    bars = [
        html.Span([_mark(mark, role), html.Span(className=f"bar {role}")], title=role)
        for mark, role in zip("●◆", roles, strict=False)
    ]
    scale = ", logarithmic" if shown.logarithmic else ""
    low, high = (end_of_range(value, shown.unit) for value in (shown.low, shown.high))
    span = html.Span(f"(2nd to 98th percentile of the drawn points{scale})", className="caption")
    return [html.Span(low), *bars, html.Span(with_unit(high, shown.unit)), span]


def _category_chips(shown: Legend, roles: Sequence[str], isolate: Isolate | None) -> list[object]:
    chips = [_chip(category, isolate) for category in shown.categories]
    other = f"{many(shown.more, 'other')} ({shown.others:,})"
    more = [html.Span([_swatch({scheme: OTHER[scheme] for scheme in OTHER}), other], className="chip")]
    marks = [html.Span(OUTLINED)] if tuple(roles) == ROLES else []
    return [*chips, *(more if shown.more else []), *marks]


def _chip(category: Category, isolate: Isolate | None) -> html.Span | html.Button:
    swatch = _swatch({scheme: colours[category.colour] for scheme, colours in CATEGORIES.items()})
    content = [swatch, html.Bdi(f"{category.name} ({category.count:,})")]
    if isolate is None:
        return html.Span(content, className="chip")
    href, is_alone = isolate(category.name)
    pressed: Any = {"data-href": href, "aria-pressed": str(is_alone).lower()}
    title = "Click to show every category." if is_alone else "Click to show this category alone."
    return html.Button(content, type="button", className="chip", title=title, **pressed)


def _swatch(colours: Mapping[str, str]) -> html.Span:
    style = {f"--{scheme}": colour for scheme, colour in colours.items()}
    return html.Span(className="swatch", style=style, **{"aria-hidden": "true"})


def _mark(shape: str, role: str) -> html.Span:
    return html.Span(shape, className=f"mark {role}", **{"aria-hidden": "true"})
