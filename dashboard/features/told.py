"""What page Features says of the large panel: while the tokens move on, the browser puts in what it says of the next one."""

from dash import html

from dashboard.features.materials import material_title
from dashboard.features.nearest import NEAR, where_of
from dashboard.features.pieces import pieces_of
from dashboard.features.shown import ShownFeatures
from store.schema.features import POINT_KINDS, point_kind
from store.wording import many


def told(shown: ShownFeatures, panel: str) -> dict[str, str]:
    """Everything that is said of one panel and of no other, by the name of its place."""
    series = shown.series
    index = series.index(panel)
    return {
        "name": series.titles[index],
        "meaning": _meaning(shown, panel, series.titles[index]),
        "trust": _trust(float(series.trustworthiness(shown.view)[index])),
    }


def place_of(name: str, said: dict[str, str]) -> html.Span:
    """The place of one of these on the page."""
    return html.Span(said[name], id={"told": name})


def headline(shown: ShownFeatures) -> str:
    """What the large panel shows, up to its name."""
    series = shown.series
    at = " at" if series.layer is None else ", values of"
    return f"{many(series.features.n_tokens, 'token')} of {material_title(series.features.name)}{at} "


def focused(shown: ShownFeatures, token: int) -> str:
    """What is drawn over the points for the chosen token."""
    features = shown.series.features
    return (
        f"Ringed: “{pieces_of(features)[token]}”, {where_of(features, token)}. Large: the tokens of its sentence; dashed to the "
        f"{NEAR} tokens whose vectors have the largest cosine with its."
    )


def _meaning(shown: ShownFeatures, panel: str, title: str) -> str:
    if shown.series.layer is not None:
        return f"Value vectors of head {panel} in layer {shown.series.layer}."
    return f"{title[0].upper()}{title[1:]}: {POINT_KINDS[point_kind(panel)].meaning}."


def _trust(value: float) -> str:
    return "not known" if value != value else f"{value:.2f}"
