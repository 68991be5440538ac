"""What every statistic is: its formula and the paper it is from."""

from collections.abc import Iterable

from dash import html

from dashboard.statistics.definitions import PAPERS
from store import STATISTICS


def definition(statistic: str) -> html.P:
    """One statistic in one line."""
    one = STATISTICS[statistic]
    return html.P([html.Strong(f"{one.title}: "), f"{one.formula}. ", f"{PAPERS[statistic]}."], className="caption")


def definitions(statistics: Iterable[str] = STATISTICS) -> html.Details:
    """All of them, a click away."""
    names = html.Thead(html.Tr([html.Th(name) for name in ("statistic", "unit", "formula, row i", "from")]))
    rows = [
        html.Tr(
            [
                html.Td(STATISTICS[name].title),
                html.Td(STATISTICS[name].unit),
                html.Td(STATISTICS[name].formula),
                html.Td(PAPERS[name]),
            ]
        )
        for name in statistics
    ]
    said = html.P(
        "A number of a head is the mean over sentences of the mean over the rows that are asked for; every sentence weighs the same. "
        "p(i,j) is the weight of key j in the row of query i, f(x) the vector a head hands on.",
        className="caption",
    )
    return html.Details(
        [html.Summary("What every statistic is"), said, html.Table([names, html.Tbody(rows)], className="rows")],
        id="definitions",
    )
