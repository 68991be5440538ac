"""What the pictures of feature points say of themselves: n of N, how they were made, how far they can be trusted."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from dash import html

from dashboard.features.columns import NO_PREDICTION
from dashboard.features.shown import ShownFeatures
from dashboard.features.told import place_of, told
from dashboard.points.captions import caption
from store.schema.pictures import EACH, ViewName

#: What is said of a picture's trustworthiness, before the number.
TRUST = "Trustworthiness (1: whoever are neighbours here are neighbours among the vectors)"


def captions(shown: ShownFeatures) -> list[html.P]:
    """Which tokens, by which method, and how trustworthy every panel on screen is."""
    classifies = shown.series.features.class_probability is not None
    missing = [] if classifies else [html.P(NO_PREDICTION, className="caption")]
    return [caption(_tokens(shown)), caption(_method(shown)), caption(*_trust(shown)), *missing]


def _tokens(shown: ShownFeatures) -> str:
    features = shown.series.features
    some = f"the first {shown.tokens:,} of {features.n_tokens:,} are drawn here, all of them in a large panel"
    drawn = "all of them are drawn" if shown.tokens == features.n_tokens else some
    cut = " The model reads no more of it: the review was cut." if features.attributes.get("cut") else ""
    return f"Tokens: {str(features.attributes['says']).rstrip('.')}; {drawn}.{cut}"


def _method(shown: ShownFeatures) -> str:
    attributes = _view(shown).attrs
    parameters = "".join(
        f", {name.replace('_', ' ')} {f'{value:g}' if isinstance(value, float) else value}"
        for name, value in dict(attributes["parameters"]).items()
    )
    return (
        f"{attributes['title']}{parameters}; fitted on {attributes['fitted_on']}; {_rest(attributes)}"
        "x and y have equal scales"
        + (", the same in every panel." if shown.series.layer is None else ".")
        + _bases(shown)
    )


def _bases(shown: ShownFeatures) -> str:
    """Where all points are in one picture."""
    if shown.series.layer is not None or ViewName.parse_points(shown.view).vectors == EACH:
        return ""
    return " Head outputs have features of their own (channels of heads): where they lie beside the other points means nothing."


def _rest(attributes: Mapping[str, object]) -> str:
    return f"placed {attributes['placed']}; " if attributes.get("placed") else ""


def _trust(shown: ShownFeatures) -> list[object]:
    trust = shown.series.trustworthiness(shown.view)
    judged = f"on {_view(shown).attrs['judged_on']}"
    if np.isnan(trust).all():
        return ["Trustworthiness: these are too few tokens to tell. Ingest more sentences."]
    if shown.panel is not None:
        return [f"{TRUST}: ", place_of("trust", told(shown, shown.panel)), f", {judged}."]
    titles = shown.series.titles
    low, high = int(np.nanargmin(trust)), int(np.nanargmax(trust))
    return [
        f"{TRUST}: mean {np.nanmean(trust):.2f}, from {trust[low]:.2f} ({titles[low]}) to {trust[high]:.2f} ({titles[high]}), "
        f"{judged}.",
        html.Span(" That of each panel stands in its hover.", className="on-page"),
    ]


def _view(shown: ShownFeatures) -> xr.Dataset:
    features = shown.series.features
    return features.view(shown.view) if shown.series.layer is None else features.value_view(shown.view)
