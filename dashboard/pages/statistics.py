"""Page Statistics: what every head does, in numbers, over the corpus or a part of it."""

import dash_mantine_components as dmc
import plotly.graph_objects as go
import xarray as xr
from dash import html

from dashboard.charts import chart
from dashboard.controls import choice, head_choices
from dashboard.figures.heat_map import heat_map
from dashboard.file_links import file_href
from dashboard.heads.definitions import ROWS, telling
from dashboard.heads.grid import HeadGrid
from dashboard.heads.part import Part, part_labels, part_means, part_of
from dashboard.heads.shown_grid import comparable_statistics, compared_with, shown_grid
from dashboard.model_names import model_names
from dashboard.page import Page
from dashboard.panels.curves import curves
from dashboard.panels.definitions import definition, definitions
from dashboard.panels.head_table import head_table
from dashboard.panels.importance import importance
from dashboard.panels.mixing import mixing_figures
from dashboard.panels.part_filters import part_count, part_filters
from dashboard.panels.profiles import profiles
from dashboard.place import Place, comparable
from dashboard.problems import Refusal
from store import STATISTICS
from store.schema import head_name

#: What of a link says which heat map is shown.
_OF_GRID = ("statistic", "source", "values", "against", "other", "where")
SHOWN = {"value": "values", "rank": "ranks", "difference": "difference"}


def layout(place: Place) -> Page:
    """The page at a place; where the server is too busy to count a part, it says so below the filters."""
    corpus = place.corpus
    part = part_of(corpus, place.address.where)
    top = [
        html.H1(f"Statistics of all {corpus.layers * corpus.heads} heads"),
        html.Div([_controls(place), part_filters(place)], className="control-rows"),
        part_count(place, part),
    ]
    try:
        numbers, notices = _of_part(place, part) if part.tokens else ([], ())
    except Refusal as refusal:
        numbers, notices = [dmc.Alert(str(refusal), color="red")], ()
    return Page(above=[*top, *numbers], notices=(*part.notices, *notices))


def _of_part(place: Place, part: Part) -> tuple[list[object], tuple[str, ...]]:
    """Everything that is counted of a part, and what of the link could not be followed."""
    corpus = place.corpus
    means = part_means(corpus, part)
    interval = corpus.head_interval if part.tokens == corpus.n_tokens else None
    grid = shown_grid(place, means, interval)
    return [*_grid(place, grid), *_numbers(place, part, means, interval)], grid.notices


def _numbers(place: Place, part: Part, means: xr.DataArray, interval: xr.DataArray | None) -> list[object]:
    return [
        html.H2("By layer"),
        html.P(
            "A dot is a head, a line the mean of its layer (Figures 2 and 4 of Clark et al. 2019)"
            f"{'' if interval is None else ', bars are 95 % intervals of these means (bootstrap over sentences)'}. Point at a dot for its head "
            f"and number{'' if interval is None else ' with its interval'}; click it to open the head.",
            className="caption",
        ),
        html.Div(curves(place, part, means, interval), className="figures"),
        html.H2("By distance"),
        html.Div(head_choices(place), className="controls"),
        html.Div(profiles(place), className="figures halves"),
        html.H2("How much tokens are mixed"),
        *mixing_figures(place, part),
        *importance(place),
        *head_table(place, means, part_labels(place.corpus, part).values),
    ]


def _controls(place: Place) -> html.Div:
    """Which statistic of which rows, and what of it."""
    address = place.address
    statistics = {name: STATISTICS[name].title for name in telling(address.source)}
    parts = [
        choice("statistic", "Statistic", statistics, address.statistic, 230),
        choice("source", "Mean over the rows of", ROWS, address.source, 160),
        choice("values", "Show", SHOWN, address.values, 110),
    ]
    return html.Div([*parts, *(_compared(place) if address.values == "difference" else [])], className="controls")


def _compared(place: Place) -> list[dmc.Select]:
    """What is subtracted: another statistic, or another model."""
    address = place.address
    others = comparable(place.snapshot, place.corpus)
    titles = model_names(place.snapshot)
    models = {"": "this model"} | {name: titles[name] for name in others}
    statistics = {name: STATISTICS[name].title for name in comparable_statistics(address.statistic)}
    against = choice("against", "less", statistics, compared_with(place) or "", 230)
    other = choice("other", "of", models, address.other or "", 190)
    return [*([against] if statistics and not address.other else []), *([other] if others else [])]


def _grid(place: Place, grid: HeadGrid) -> list[object]:
    """The heat map, and what its number is."""
    corpus, address = place.corpus, place.address
    rows = f", rows of {ROWS[address.source]}" if address.source != "all" else ""
    below = "; the table below has every number" if grid.kind == "value" else ""
    says = f"{grid.says}A click opens a head. L7 H9 counts from 0: the papers' “8-10” is {head_name(7, 9)}. "
    return [
        html.H2(f"{grid.title[0].upper()}{grid.title[1:]}{rows}"),
        definition(address.statistic),
        *chart(
            _drawn(grid),
            of="heat-map",
            says=says,
            label=f"Heat map of {corpus.layers} by {corpus.heads} heads: {grid.title}{below}",
            data=file_href(place, "heat-map.csv", {name: address.fields[name] for name in _OF_GRID}),
            height=70 + 34 * corpus.layers,
            opens=True,
            turns=True,
        ),
        definitions(),
    ]


def _drawn(grid: HeadGrid) -> go.Figure:
    return heat_map(
        grid.values,
        written=grid.written,
        said=grid.said,
        unit=grid.unit,
        diverging=grid.diverging,
        reverse=grid.reverse,
    )
