"""The definitions of all statistics as a table: unit, formula and source."""

from collections.abc import Iterable

from dash import html

from dashboard.ui.tables import heading
from store import STATISTICS

_NOTE = (
    "A head's number is the mean over sentences of the mean over the chosen queries; every sentence has the same weight. "
    "p(i,j) is the attention weight of query i on key j, f(x) the value vector of a token after the output projection."
)


def definitions(statistics: Iterable[str] = STATISTICS) -> html.Details:
    """A table of definitions, a click away."""
    rows = [_row(statistic) for statistic in statistics]
    table = html.Table(
        [heading(("statistic", "unit", "formula, query i", "source")), html.Tbody(rows)], className="rows"
    )
    return html.Details(
        [html.Summary("Definitions of the statistics"), html.P(_NOTE, className="caption"), table], id="definitions"
    )


def _row(statistic: str) -> html.Tr:
    known = STATISTICS[statistic]
    return html.Tr([html.Td(text) for text in (known.title, known.unit, known.formula, known.paper)])
