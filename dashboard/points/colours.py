"""A column as a colour code of every point, and the legend of the codes.

Format, little-endian: `HSC2`, u32 panels (1 where all are the same), tokens a panel, roles, then u8 [panel, token, role].
255 is no value. Numbers: 0 to 254 from the legend's low to its high. Categories: the code modulo 255.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from dash import html
from numpy.typing import NDArray

from dashboard.points.columns import Column, Kind, Values, values
from dashboard.points.drawn import Drawn
from dashboard.ui.text import end_of_range, unit_title
from dashboard.ui.theme import CATEGORIES
from store.schema.model import ROLES

MAGIC = b"HSC2"
MISSING = 255
#: Percentiles of the drawn values between which colours differ: a few extreme tokens do not grey out the others.
SPAN = (2, 98)
#: Categories that a legend names; the most frequent.
NAMED = 12
#: Where the colour shows a category, the shape tells queries from keys.
OUTLINED = "● query ◇ key (outlined when zoomed in)"


@dataclass(frozen=True)
class Category:
    """A category among the drawn points."""

    code: int
    name: str
    count: int


@dataclass(frozen=True)
class Legend:
    """The legend of a column in one picture.

    `low` and `high` are the ends of a number's colour scale, NaN where no point has a value. `categories` are the most frequent
    ones in the order of their codes, `more` counts the others, `missing` the points without a value.
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
    missing: int


def legend(column: Column, drawn: Drawn) -> Legend:
    """The legend of a column over the drawn points."""
    return legend_of(column, values(column, drawn))


def legend_of(column: Column, values: Values) -> Legend:
    """The legend of a column with these values (panel, token, role)."""
    low, high = span(column, values) if column.kind == "number" else (np.nan, np.nan)
    categories = _categories(column, values) if column.kind == "category" else []
    shown = sorted(categories[:NAMED], key=lambda category: category.code)
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
        missing=missing,
    )


def colour_codes(column: Column, drawn: Drawn, like: Drawn | None = None) -> NDArray[np.uint8]:
    """The code of every drawn point: (panel, token, role); numbers on the colour scale of the picture `like`."""
    return codes_of(column, values(column, drawn), values(column, like) if like else None)


def codes_of(column: Column, values: Values, like: Values | None = None) -> NDArray[np.uint8]:
    """The codes of values (panel, token, role); numbers on the colour scale of the values `like`."""
    if column.kind == "category":
        return np.where(values < 0, MISSING, values % MISSING).astype(np.uint8)
    ends = span(column, values if like is None else like)
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


def _categories(column: Column, values: Values) -> list[Category]:
    """The categories that occur in any panel, the most frequent first."""
    counts = np.bincount(values[values >= 0].astype(np.int64))
    order = np.argsort(-counts, kind="stable")
    return [Category(int(code), column.category(int(code)), int(counts[code])) for code in order if counts[code]]


def marks_line() -> html.P:
    """The marks of queries and keys, where the colour shows nothing else."""
    return html.P([_mark("●", "query"), " query ", _mark("◆", "key"), " key"], className="legend of-picture")


def legend_line(shown: Legend, roles: Sequence[str] = ROLES, rest: str = "points without a value") -> html.Div:
    """The colour legend of a column: its range or its categories; `rest` names the points without a value."""
    body = _category_chips(shown, roles) if shown.kind == "category" else _range_bars(shown, roles)
    missing = [_rest(f"{shown.missing:,} {rest}")] if shown.missing else []
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
    return [html.Span(low), *bars, html.Span(f"{high} {unit_title(shown.unit)}".strip()), span]


def _category_chips(shown: Legend, roles: Sequence[str]) -> list[object]:
    chips = [_chip(category.code, f"{category.name} ({category.count:,})") for category in shown.categories]
    more = [html.Span(f"and {shown.more:,} more; colours repeat")] if shown.more else []
    return [*chips, *more, *([html.Span(OUTLINED)] if tuple(roles) == ROLES else [])]


def _chip(code: int, text: str) -> html.Span:
    colours = {f"--{scheme}": colours[code % 255 % len(colours)] for scheme, colours in CATEGORIES.items()}
    return html.Span(
        [html.Span(className="swatch", style=colours, **{"aria-hidden": "true"}), html.Bdi(text)], className="chip"
    )


def _mark(shape: str, role: str) -> html.Span:
    return html.Span(shape, className=f"mark {role}", **{"aria-hidden": "true"})
