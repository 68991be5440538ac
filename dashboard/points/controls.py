"""The controls above the points: picture, search, filters; then what colours mean and how many points are selected."""

import dash_mantine_components as dmc
from dash import html

from dashboard.points.colours import legend_line, marks_line
from dashboard.points.columns import columns
from dashboard.points.filters import filter_controls, selection_count
from dashboard.points.search_results import no_hits
from dashboard.points.shown_points import ShownPoints
from dashboard.ui.controls import choice, search_controls, switch, view_choices
from dashboard.web.view import Place


def around_picture(place: Place, chosen: ShownPoints, *, head: bool) -> list[object]:
    """Every control, then what colours mean, and how many points are selected."""
    rows = [_picture_controls(place, head=head), search_controls(place), filter_controls(place, chosen)]
    return [
        html.Div(rows, className="control-rows"),
        legend_line(chosen.legend) if chosen.coloured else marks_line(),
        selection_count(chosen),
        *no_hits(place),
    ]


def _picture_controls(place: Place, *, head: bool) -> html.Div:
    """View, colour, size and, on the page of a head, labels."""
    return html.Div(
        [
            *view_choices(place.view, place.corpus.views),
            colour_choice(place),
            switch("size", "size by norm", place.address.size == "norm"),
            *([switch("labels", "labels", bool(place.address.labels))] if head else []),
        ],
        className="controls",
    )


def colour_choice(place: Place) -> dmc.Select:
    """By what points are coloured."""
    titles = {name: column.title for name, column in columns(place.corpus).items()}
    return choice("colour", "Colour", titles, place.address.colour, 155)
