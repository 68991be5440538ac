"""Page Features: the same tokens at every point of the model, in small panels or in a large one that moves through them."""

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.canvas.spec import Picture
from dashboard.features.captions import captions
from dashboard.features.controls import controls
from dashboard.features.figures import feature_charts
from dashboard.features.materials import drawn_materials, is_drawn, material_title
from dashboard.features.picture import features_picture
from dashboard.features.shown import ShownFeatures
from dashboard.features.token import feature_token
from dashboard.features.told import headline, place_of, told
from dashboard.points.captions import overlay_legend, overlays_of_feature
from dashboard.ui.page import Page
from dashboard.ui.progress import unmade
from dashboard.ui.tables import file_links
from dashboard.web.view import Place

EMPTY = "This model has no feature points yet."
UNDRAWN = "There is no picture of the tokens of {} yet."
#: What of a link says something of one material alone.
OF_MATERIAL = ("vectors", "point", "fview", "ftoken", "flasso", "at")


def picture(place: Place) -> Picture | None:
    """What the canvas shows; None where there is none."""
    return features_picture(ShownFeatures.of(place)) if is_drawn(place) else None


def layout(place: Place) -> Page:
    """The page at a place; where there is no picture, how to get one."""
    if not is_drawn(place):
        return Page(above=[html.H1("Features"), dmc.Alert(_what_to_do(place), color="orange")])
    shown = ShownFeatures.of(place)
    return Page(
        above=[_title(shown), _how_to_read(shown), *controls(shown)],
        beside=[] if shown.panel is None else feature_token(shown),
        below=[*overlay_legend(overlays_of_feature(place.address)), *captions(shown), *_files(shown)],
        notices=shown.notices,
    )


def after_picture(place: Place) -> list[object]:
    """What comes below when the picture is painted: drawing charts would keep it waiting."""
    return feature_charts(ShownFeatures.of(place)) if is_drawn(place) else []


def _what_to_do(place: Place) -> list[object]:
    """There are no feature points, or none of the link's material are drawn: then those that are can be chosen."""
    materials = place.corpus.materials
    if not materials:
        return unmade(place, EMPTY)
    there = [part for name in drawn_materials(place.corpus) for part in (" ", _link_to(place, name))]
    missing = UNDRAWN.format(material_title(place.address.material or materials[0]))
    return [*unmade(place, missing), *there]


def _link_to(place: Place, material: str) -> dcc.Link:
    named = None if material == place.corpus.materials[0] else material
    href = place.address.with_(material=named, **dict.fromkeys(OF_MATERIAL)).href
    return dcc.Link(f"Show {material_title(material)}.", href=href)


def _title(shown: ShownFeatures) -> html.Div:
    series = shown.series
    if shown.panel is None:
        count = len(series.names)
        what = f"{count} feature points" if series.layer is None else f"{count} heads in layer {series.layer}"
        return html.Div(html.H1(f"{headline(shown)}{what}"), className="title-row")
    title = html.H1([headline(shown), place_of("name", told(shown, shown.panel))])
    back = dcc.Link("All panels", href=shown.place.address.with_(point=None, at=None).href)
    return html.Div([title, back], className="title-row")


def _how_to_read(shown: ShownFeatures) -> html.P:
    if shown.panel is None:
        across = (
            "layers across, what each of them computes downwards" if shown.series.layer is None else "one panel a head"
        )
        return html.P(
            f"The same tokens in every panel: {across}. Hover says how far a panel can be trusted, a click or Enter opens it, the wheel zooms.",
            className="how-to-read",
        )
    return html.P(
        [
            place_of("meaning", told(shown, shown.panel)),
            " Play, the slider or arrow keys move the tokens on; hover names one, a click keeps it; lasso and box select in every panel; zooming out or "
            "Backspace goes back to all.",
        ],
        className="how-to-read",
    )


def _files(shown: ShownFeatures) -> list[html.P]:
    base = f"features/{shown.series.features.name}"
    where = f"{shown.series}/{shown.view}/{shown.panel or 'grid'}"
    every = file_links(shown.place, "All tokens", f"{base}/tokens/{where}")
    if not shown.selection:
        return [every]
    return [every, file_links(shown.place, "The selected tokens", f"{base}/selection/{where}", shown.selection.fields)]
