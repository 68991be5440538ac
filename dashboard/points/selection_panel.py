"""The selected points: how many, how they differ from the rest, and which they are."""

from dash import dcc, html

from dashboard.points.chosen import Chosen
from dashboard.points.summary import Comparison, Difference, Row, Summary, selected_rows, summarize
from dashboard.statistics.statistics import spell
from dashboard.ui.amounts import signed
from dashboard.ui.file_links import file_links
from dashboard.ui.tables import heading
from dashboard.web.view import Place

#: Rows of the table beside the picture; the files have all.
SHOWN = 60
#: Titles of columns of numbers.
NUMBERS = ("selected", "rest", "d", "points", "at", "sentence")
EMPTY = "Search, filter, or draw a lasso or box in the picture: what is selected is compared with the rest here."


def panel(place: Place, chosen: Chosen) -> list[object]:
    """The tab Selection."""
    title = html.H2("Selection")
    if not chosen.selection:
        return [title, html.P(EMPTY)]
    selected = chosen.selected
    if not selected.any():
        return [title, html.P("No drawn point is selected. Widen the search or the filters, or draw more tokens.")]
    summary = summarize(chosen.drawn, selected)
    return [
        title,
        html.P(f"{summary.count:,} of {summary.of:,} drawn queries and keys ({100 * summary.share:.1f} %)."),
        _differences(summary),
        *[_shares(comparison) for comparison in summary.comparisons],
        _table(place, selected_rows(chosen.drawn, selected, limit=SHOWN), summary.count),
        file_links(
            place,
            "All selected points",
            f"selection/{place.view}/{place.address.layer}/{place.address.head}",
            {"tokens": str(chosen.drawn.tokens)} | chosen.selection.fields,
        ),
    ]


def _differences(summary: Summary) -> html.Div:
    rows = [
        html.Tr(
            [
                html.Td(one.title),
                html.Td(_number(one.selected, one.unit), className="number"),
                html.Td(_number(one.rest, one.unit), className="number"),
                html.Td(_standardized(one), className="number"),
            ]
        )
        for one in summary.differences
    ]
    names = ("mean of", "selected", "rest", "d")
    return html.Div(
        [_rows(names, rows), html.P("d: difference of the means in standard deviations (Cohen).", className="caption")]
    )


def _standardized(one: Difference) -> str:
    return signed(one.standardized, 2)


def _number(value: float, unit: str) -> str:
    return "" if value != value else spell(value, unit)


def _shares(comparison: Comparison) -> html.Div:
    rows = [
        html.Tr(
            [
                html.Td(share.category),
                html.Td(f"{share.count:,}", className="number"),
                html.Td(f"{100 * share.selected:.1f} %", className="number"),
                html.Td("" if share.rest != share.rest else f"{100 * share.rest:.1f} %", className="number"),
            ]
        )
        for share in comparison.shares[:8]
    ]
    return html.Div([html.H3(comparison.title), _rows(("", "points", "selected", "rest"), rows)])


def _table(place: Place, rows: list[Row], count: int) -> html.Div:
    shown = f"the first {len(rows)} of {count:,}" if count > len(rows) else f"all {count:,}"
    names = ("token", "role", "at", "sentence", "label")
    table = _rows(names, [_row(place, row) for row in rows])
    return html.Div(
        [
            html.H3(f"Tokens: {shown}"),
            html.Div(table, className="scroll", tabIndex=0, role="region", **{"aria-label": "Selected tokens"}),
        ]
    )


def _row(place: Place, row: Row) -> html.Tr:
    href = place.address.with_(token=row.token, role=row.role, tab="point", marks=None).href
    cells = [html.Td(dcc.Link(row.wordpiece, href=href)), html.Td(row.role), html.Td(row.position, className="number")]
    return html.Tr([*cells, html.Td(f"{row.sentence:,}", className="number"), html.Td(row.label)])


def _rows(names: tuple[str, ...], rows: list[html.Tr]) -> html.Table:
    return html.Table([heading(names, NUMBERS), html.Tbody(rows)], className="rows")
