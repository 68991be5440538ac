"""Which mark and colour means what, below the controls of a picture."""

from collections.abc import Sequence

from dash import html

from dashboard.points.colours import Legend
from dashboard.statistics.definitions import unit_title
from dashboard.ui.amounts import end_of_range
from dashboard.ui.theme import CATEGORIES
from store.schema import ROLES

#: Where a colour says what a point is, its shape says which of the two it is.
OUTLINED = "● query ◇ key (an outline, once the marks are large enough)"


def marks() -> html.P:
    """Which mark is what, where colours say nothing else."""
    return html.P([_mark("●", "query"), " query ", _mark("◆", "key"), " key"], className="legend of-picture")


def legend(shown: Legend, roles: Sequence[str] = ROLES, rest: str = "points have none") -> html.Div:
    """The colours of a column, with their range or their categories; `rest` is said of the points without a value."""
    body = _categories(shown, roles) if shown.kind == "category" else _range(shown, roles)
    missing = [_rest(f"{shown.missing:,} {rest}")] if shown.missing else []
    return html.Div([html.Span(f"{shown.title}:"), *body, *missing], className="legend of-picture")


def _rest(text: str) -> html.Span:
    return html.Span([html.Span(className="swatch none", **{"aria-hidden": "true"}), text], className="chip caption")


def _range(shown: Legend, roles: Sequence[str]) -> list[object]:
    """A bar for each role from low to high."""
    if shown.low != shown.low:
        return [html.Span("no point has a value here")]
    bars = [
        html.Span([_mark(mark, role), html.Span(className=f"bar {role}")], title=role)
        for mark, role in zip("●◆", roles, strict=False)
    ]
    scale = ", by its logarithm" if shown.logarithmic else ""
    low, high = (end_of_range(value, shown.unit) for value in (shown.low, shown.high))
    span = html.Span(f"(2nd to 98th percentile of what is drawn{scale})", className="caption")
    return [html.Span(low), *bars, html.Span(f"{high} {unit_title(shown.unit)}".strip()), span]


def _categories(shown: Legend, roles: Sequence[str]) -> list[object]:
    chips = [_chip(category.code, f"{category.name} ({category.count:,})") for category in shown.categories]
    more = [html.Span(f"and {shown.more:,} more; colours repeat")] if shown.more else []
    return [*chips, *more, *([html.Span(OUTLINED)] if tuple(roles) == ROLES else [])]


def _chip(code: int, text: str) -> html.Span:
    colours = {f"--{scheme}": colours[code % 255 % len(colours)] for scheme, colours in CATEGORIES.items()}
    return html.Span([html.Span(className="swatch", style=colours, **{"aria-hidden": "true"}), text], className="chip")


def _mark(shape: str, role: str) -> html.Span:
    return html.Span(shape, className=f"mark {role}", **{"aria-hidden": "true"})
