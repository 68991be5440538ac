"""Page Statistics: what every head does, in numbers, over the corpus or a part of it."""

import dash_mantine_components as dmc
import numpy as np
import xarray as xr
from dash import html
from numpy.typing import NDArray

from dashboard.address import Place, comparable
from dashboard.charts import chart
from dashboard.controls import choice, head_choices
from dashboard.figures.heat_map import heat_map
from dashboard.heads.definitions import ROWS
from dashboard.heads.grid import HeadGrid
from dashboard.heads.part import Part, part_means, part_of
from dashboard.heads.shown_grid import comparable_statistics, compared_with, shown_grid
from dashboard.page import Page
from dashboard.panels.curves import curves
from dashboard.panels.definitions import definition, definitions
from dashboard.panels.head_table import head_table
from dashboard.panels.importance import importance
from dashboard.panels.mixing import mixing_figures
from dashboard.panels.part_filters import part_count, part_filters
from dashboard.panels.profiles import profiles
from store import STATISTICS
from store.schema import head_name

SHOWN = {"value": "values", "rank": "ranks", "difference": "difference"}


def layout(place: Place) -> Page:
    """The page at a place."""
    corpus = place.corpus
    part = part_of(corpus, place.address.where)
    top = [
        html.H1(f"Statistics of all {corpus.layers * corpus.heads} heads"),
        html.Div([_controls(place), part_filters(place)], className="control-rows"),
        part_count(place, part),
    ]
    return Page(above=[*top, *(_numbers(place, part) if part.tokens else [])], notices=tuple(part.notices))


def _numbers(place: Place, part: Part) -> list[object]:
    means = part_means(place.corpus, part)
    interval = place.corpus.head_interval if part.tokens == place.corpus.n_tokens else None
    return [
        *_grid(place, shown_grid(place, means, interval)),
        html.H2("By layer"),
        html.P(
            "A dot is a head, a line the mean of its layer (Figures 2 and 4 of Clark et al. 2019). Point at a dot for its head and number"
            f"{'' if interval is None else ' with its 95 % interval (bootstrap over sentences)'}; click it to open the head.",
            className="caption",
        ),
        html.Div(curves(place, part, means, interval), className="figures"),
        html.H2("By distance"),
        html.Div(head_choices(place), className="controls"),
        html.Div(profiles(place), className="figures halves"),
        html.H2("How much tokens are mixed"),
        *mixing_figures(place, part),
        *importance(place),
        *head_table(place, means, _labels(place)),
    ]


def _labels(place: Place) -> NDArray[np.str_]:
    labels: xr.DataArray = place.corpus.head_labels
    return labels.values


def _controls(place: Place) -> html.Div:
    """Which statistic of which rows, and what of it."""
    address = place.address
    statistics = {name: one.title for name, one in STATISTICS.items()}
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
    models = {"": "this model"} | {name: place.snapshot.corpus(name).attributes["model_id"] for name in others}
    statistics = {name: STATISTICS[name].title for name in comparable_statistics(address.statistic)}
    against = choice("against", "less", statistics, compared_with(place) or "", 230)
    other = choice("other", "of", models, address.other or "", 190)
    return [*([against] if statistics and not address.other else []), *([other] if others else [])]


def _grid(place: Place, grid: HeadGrid) -> list[object]:
    """The heat map, and what its number is."""
    corpus, address = place.corpus, place.address
    rows = f", rows of {ROWS[address.source]}" if address.source != "all" else ""
    drawn = heat_map(
        grid.values,
        written=grid.written,
        said=grid.said,
        unit=grid.unit,
        diverging=grid.diverging,
        reverse=grid.reverse,
    )
    says = f"A click opens a head. L7 H9 counts from 0: the papers' “8-10” is {head_name(7, 9)}. "
    return [
        html.H2(f"{grid.title[0].upper()}{grid.title[1:]}{rows}"),
        definition(address.statistic),
        *chart(
            drawn,
            of="heat-map",
            says=says,
            label=f"Heat map of {corpus.layers} by {corpus.heads} heads: {grid.title}; the table below has every number",
            height=70 + 34 * corpus.layers,
            opens=True,
            turns=True,
        ),
        definitions(),
    ]
