"""The controls above the feature points: which material, picture, vectors and colour, and what is searched for."""

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.features.data import ROLES
from dashboard.features.materials import drawn_materials, material_title
from dashboard.features.shown import ShownFeatures
from dashboard.points.colours import legend_line
from dashboard.points.search_results import no_hits
from dashboard.ui.controls import choice, search_controls, switch
from dashboard.web.view import value_layers


def controls(shown: ShownFeatures) -> list[object]:
    """Every control, what colours mean, and how many tokens are selected."""
    return [
        html.Div([_picture(shown), search_controls(shown.place)], className="control-rows"),
        legend_line(shown.legend, roles=ROLES, rest=shown.colour.rest),
        _selected(shown),
        *no_hits(shown.place),
    ]


def _picture(shown: ShownFeatures) -> html.Div:
    address, series = shown.place.address, shown.series
    materials = {name: material_title(name) for name in drawn_materials(shown.place.corpus)}
    colours = {name: one.column.title for name, one in shown.columns.items()}
    labels = [switch("labels", "labels", bool(address.labels))] if shown.panel else []
    return html.Div(
        [
            choice("material", "Tokens of", materials, series.features.name, 130),
            choice("vectors", "Vectors", _vectors(shown), "" if series.layer is None else str(series.layer), 150),
            choice("fview", "Picture", {name: view_title(shown, name) for name in series.views}, shown.view, 235),
            choice("fcolour", "Colour", colours, shown.colour.column.name, 205),
            *labels,
        ],
        className="controls",
    )


def view_title(shown: ShownFeatures, view: str) -> str:
    """For a person."""
    features = shown.series.features
    opened = features.view(view) if shown.series.layer is None else features.value_view(view)
    return str(opened.attrs["title"])


def _vectors(shown: ShownFeatures) -> dict[str, str]:
    layers = {str(layer): f"values of layer {layer}" for layer in value_layers(shown.series.features)}
    return {"": "feature points"} | layers


def _selected(shown: ShownFeatures) -> dmc.Text | html.P:
    if not shown.selection:
        return html.P(className="count")
    count, drawn = int(shown.selected.sum()), shown.tokens
    clear = dcc.Link("clear", href=shown.place.address.with_(q=None, within="token", flasso=None).href)
    said = f"{count:,} of {drawn:,} drawn tokens are selected, the same in every panel. "
    return html.P([said, clear], className="count of-picture", role="status")
