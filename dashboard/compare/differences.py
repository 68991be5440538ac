"""How every statistic differs between two models: of all heads as a heat map, of the mean over heads as a table."""

from dash import html

from dashboard.compare.two import Two
from dashboard.statistics.definitions import ROWS, difference_unit, telling
from dashboard.statistics.definitions_panel import definition, definitions
from dashboard.statistics.grid import difference_grid, values_of
from dashboard.statistics.statistics import spell
from dashboard.ui.amounts import signed
from dashboard.ui.charts import chart
from dashboard.ui.file_links import file_href
from dashboard.ui.heat_map import heat_map
from dashboard.web.view import Place
from store import STATISTICS
from store.amounts import many
from store.schema import head_name


def differences(place: Place, two: Two) -> list[object]:
    """The heat map of other - this."""
    address, (own, _) = place.address, two.names
    values, against = (values_of(one.head_statistic, address.statistic, address.source) for one in (two.other, two.own))
    grid = difference_grid(values, against, address.statistic, f"that of {own}")
    rows = f", rows of {ROWS[address.source]}" if address.source != "all" else ""
    return [
        html.H3(f"{grid.title[0].upper()}{grid.title[1:]}{rows}"),
        definition(address.statistic),
        *chart(
            heat_map(grid.values, written=grid.written, said=grid.said, unit=grid.unit, diverging=True),
            of="differences",
            says=f"Other - this. {_over(two)} A click opens a head. L7 H9 counts from 0: the papers' “8-10” is {head_name(7, 9)}. ",
            label=f"Heat map of {two.own.layers} by {two.own.heads} heads: {grid.title}",
            data=file_href(place, f"compare/{two.other.name}/differences.csv", {"source": address.source}),
            height=70 + 34 * two.own.layers,
            opens=True,
            turns=True,
        ),
        definitions(),
    ]


def _over(two: Two) -> str:
    own, other = (
        f"{many(one.n_sentences, 'sentence')} ({many(one.n_tokens, 'token')})" for one in (two.own, two.other)
    )
    return (
        f"Means over all {own} of both."
        if own == other
        else f"Means over all {other} of the other and all {own} of this."
    )


def means_over_heads(place: Place, two: Two) -> html.Details:
    """Of all statistics; models of any two shapes have them. Open where there is nothing else."""
    names = html.Tr(
        [
            html.Th("mean over all heads"),
            *(html.Th(one, className="number") for one in ("this", "other", "other - this")),
        ]
    )
    body = html.Tbody([_row(two, name, place.address.source) for name in telling(place.address.source)])
    return html.Details(
        [
            html.Summary("Every statistic, mean over all heads"),
            html.Table([html.Thead(names), body], className="rows"),
            html.P(f"Rows of {ROWS[place.address.source]}. {_heads(two)} {_over(two)}", className="caption"),
        ],
        open=not two.same_heads,
        id="means-over-heads",
    )


def _heads(two: Two) -> str:
    own, other = (many(one.layers * one.heads, "head") for one in (two.own, two.other))
    return f"All {own} of both." if own == other else f"All {own} of this and all {other} of the other."


def _row(two: Two, name: str, source: str) -> html.Tr:
    unit = STATISTICS[name].unit
    own, other = (float(values_of(one.head_statistic, name, source).mean()) for one in (two.own, two.other))
    less = signed(100 * (other - own), 1) if unit == "share" else signed(other - own, 2)
    texts = ("", "", "") if own != own else (spell(own, unit), spell(other, unit), f"{less} {difference_unit(unit)}")
    return html.Tr([html.Td(STATISTICS[name].title), *(html.Td(text, className="number") for text in texts)])
