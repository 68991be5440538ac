"""Page Statistics: what every head does, in numbers, over the corpus or a part of it."""

import dash_mantine_components as dmc
import plotly.graph_objects as go
from dash import html

from dashboard.statistics.curves import curves
from dashboard.statistics.definitions import ROWS
from dashboard.statistics.definitions_panel import definition, definitions
from dashboard.statistics.grid import HeadGrid
from dashboard.statistics.head_table import head_table
from dashboard.statistics.importance_panel import importance
from dashboard.statistics.mixing import mixing_figures
from dashboard.statistics.part import Part, part_labels, part_of
from dashboard.statistics.part_counts import Counting, PartCounts
from dashboard.statistics.part_filters import part_count, part_filters
from dashboard.statistics.part_progress import counting_place
from dashboard.statistics.profiles import profiles
from dashboard.statistics.shown_grid import comparable_statistics, compared_with, grid_notices, is_counted, shown_grid
from dashboard.ui.charts import chart
from dashboard.ui.controls import choice, head_choices
from dashboard.ui.file_links import file_href
from dashboard.ui.heat_map import heat_map
from dashboard.ui.model_names import model_names
from dashboard.ui.page import Page
from dashboard.web.state import telling
from dashboard.web.view import Place, comparable
from store import STATISTICS
from store.schema.model import head_name

#: What of a link says which heat map is shown.
_OF_GRID = ("statistic", "source", "values", "against", "other", "where")
SHOWN = {"value": "values", "rank": "ranks", "difference": "difference"}


def layout(place: Place) -> Page:
    """The page at a place. Numbers of a part that was never counted come later; the rest is there at once."""
    corpus = place.corpus
    part = part_of(corpus, place.address.where)
    top = [
        html.H1(f"Statistics of all {corpus.layers * corpus.heads} heads"),
        html.Div([_controls(place), part_filters(place)], className="control-rows"),
        part_count(place, part),
    ]
    notices = (*part.notices, *grid_notices(place))
    if not part.tokens:
        return Page(above=top, notices=notices)
    shown = numbers(place) if is_counted(place, part) else [counting_place()]
    return Page(above=[*top, *shown, *_of_whole(place, part)], notices=notices)


def numbers(place: Place, counting: Counting | None = None) -> list[object]:
    """Everything that is counted of the link's part. Raises `Refusal` where the server cannot count it now."""
    part = part_of(place.corpus, place.address.where)
    found = place.library.get(PartCounts).numbers(place.corpus, part, counting)
    labels = part_labels(place.corpus, part, found.means)
    return [
        *_grid(place, shown_grid(place, found, counting)),
        html.H2("By layer"),
        html.P(
            "A dot is a head, a line the mean of its layer (Figures 2 and 4 of Clark et al. 2019), bars are 95 % intervals of these means "
            "(bootstrap over sentences). Point at a dot for its head and number with its interval; click it to open the head.",
            className="caption",
        ),
        html.Div(curves(place, part, found), className="figures"),
        html.H2("Token mixing"),
        *mixing_figures(place, found.mixing),
        *head_table(place, found.means, labels.values),
    ]


def _of_whole(place: Place, part: Part) -> list[object]:
    """What no filter changes."""
    said = "The figures below are of the whole corpus; filters do not change them."
    return [
        *([html.P(said, className="caption")] if part.tokens < place.corpus.n_tokens else []),
        html.H2("Attention by relative position"),
        html.Div(head_choices(place), className="controls"),
        html.Div(profiles(place), className="figures halves"),
        *importance(place),
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
    against = choice("against", "minus", statistics, compared_with(place) or "", 230)
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
