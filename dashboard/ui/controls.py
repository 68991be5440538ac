"""The controls above a picture: which view, coloured by what, what is searched for. Each writes one field of the link."""

from collections.abc import Mapping
from typing import Any

import dash_mantine_components as dmc
from dash import html

from dashboard.points.colours import legend_line, marks_line
from dashboard.points.columns import columns
from dashboard.points.filters import filter_controls, selection_count
from dashboard.points.search_results import no_hits
from dashboard.points.shown_points import ShownPoints
from dashboard.web.view import Place
from store import Corpus
from store.schema.pictures import NORMALIZATIONS, PROJECTIONS, ViewName

SEARCHES = {"token": "token", "prefix": "beginning of a token", "phrase": "phrase in a sentence"}


def around_picture(place: Place, chosen: ShownPoints, *, head: bool) -> list[object]:
    """Every control, then what colours mean, and how many points are selected."""
    rows = [picture_controls(place, head=head), search_controls(place), filter_controls(place, chosen)]
    return [
        html.Div(rows, className="control-rows"),
        legend_line(chosen.legend) if chosen.coloured else marks_line(),
        selection_count(chosen),
        *no_hits(place),
    ]


def picture_controls(place: Place, *, head: bool) -> html.Div:
    """View, colour, size and, on the page of a head, labels and how many tokens."""
    return html.Div(
        [
            *view_choices(place),
            colour_choice(place),
            switch("size", "size by norm", place.address.size == "norm"),
            *([switch("labels", "labels", bool(place.address.labels))] if head else []),
        ],
        className="controls",
    )


def view_choices(place: Place) -> list[object]:
    """Those of one model."""
    return choices_of_views(place.view, place.corpus.views)


def choices_of_views(view: str, views: list[str]) -> list[object]:
    """Projection, normalisation and dimensions; every option is a view there is, as near to the shown one as there is."""
    shown = ViewName.parse(view)
    there = [ViewName.parse(one) for one in views]
    parts = (
        ("projection", "Projection", PROJECTIONS, 165),
        ("normalization", "Normalisation", {name: name for name in NORMALIZATIONS}, 102),
        ("components", "Dimensions", {2: "2D", 3: "3D"}, 84),
    )
    return [
        choice("view", title, _nearest_by(part, names, shown, there), str(shown), width, by=part)
        for part, title, names, width in parts
    ]


def _nearest_by(part: str, names: Mapping[Any, str], shown: ViewName, there: list[ViewName]) -> dict[str, str]:
    """For each value of a part of the name the view that has it and differs least from the one shown; its title."""
    options = {}
    for value, title in names.items():
        having = [view for view in there if getattr(view, part) == value]
        if having:
            options[str(max(having, key=lambda view: _likeness(view, shown)))] = title
    return options


def _likeness(view: ViewName, shown: ViewName) -> tuple[bool, ...]:
    return tuple(getattr(view, part) == getattr(shown, part) for part in ("components", "projection", "normalization"))


def search_controls(place: Place) -> html.Div:
    """What is searched for, and where."""
    address = place.address
    return html.Div(
        [_search_box(address.q), choice("within", "as", SEARCHES, address.within, 108)],
        className="controls search",
    )


def _search_box(q: str | None) -> dmc.TextInput:
    """What is searched for."""
    return dmc.TextInput(
        id={"choose": "q", "by": "search"},
        label="Search",
        placeholder="movie, then Enter",
        value=q or "",
        debounce=True,  # at Enter or when it is left: a redraw amid typing would take letters away
        size="xs",
        w=130,
    )


def colour_choice(place: Place) -> dmc.Select:
    """By what points are coloured."""
    return choice("colour", "Colour", _colours(place.corpus), place.address.colour, 155)


def _colours(corpus: Corpus) -> dict[str, str]:
    return {name: column.title for name, column in columns(corpus).items()}


def choice(
    field: str, label: str, options: Mapping[str, str], value: str, width: int, by: str = "control"
) -> dmc.Select:
    """One of a few values of a field of the link."""
    data = [{"value": option, "label": title} for option, title in options.items()]
    return dmc.Select(
        id={"choose": field, "by": by},
        label=label,
        data=data,
        value=value,
        size="xs",
        w=width,
        allowDeselect=False,
        searchable=len(data) > 12,
        maxDropdownHeight=420,
        comboboxProps={"width": "max-content", "position": "bottom-start"},
    )


def switch(field: str, label: str, on: bool) -> dmc.Switch:
    """A field of the link that is on or off; `ON` in assets/address.js says what it is when on."""
    return dmc.Switch(id={"toggle": field, "by": "control"}, label=label, checked=on, size="xs", className="switch")


def number(field: str, label: str, value: float, low: float, high: float, step: float) -> dmc.NumberInput:
    """A number of the link."""
    return dmc.NumberInput(
        id={"choose": field, "by": "control"},
        label=label,
        value=value,
        min=low,
        max=high,
        step=step,
        size="xs",
        w=92,
        debounce=300,
        decimalSeparator=".",
        allowedDecimalSeparators=[".", ","],  # as many readers write it; without, 0,3 became 03
    )


def head_choices(place: Place) -> list[object]:
    """Which head, where a page is not one head's."""
    address, corpus = place.address, place.corpus
    layers, heads = ({str(one): str(one) for one in range(count)} for count in (corpus.layers, corpus.heads))
    return [
        choice("layer", "Layer", layers, str(address.layer), 70, by="heads"),
        choice("head", "Head", heads, str(address.head), 70, by="heads"),
    ]
