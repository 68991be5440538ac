"""What the pictures of feature points say of themselves: n of N, how they were made, how far they can be trusted."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from dash import html

from dashboard.features.shown import ShownFeatures


def captions(shown: ShownFeatures) -> list[html.P]:
    """Which tokens, by which method, and how trustworthy every panel on screen is."""
    return [html.P(one, className="caption") for one in (_tokens(shown), _method(shown), _trust(shown))]


def _tokens(shown: ShownFeatures) -> str:
    features = shown.series.features
    total = f"{features.n_tokens:,} tokens"
    drawn = f"all {total}" if shown.tokens == features.n_tokens else f"the first {shown.tokens:,} of {total}"
    cut = " The model reads no more of it: the review was cut." if features.attributes.get("cut") else ""
    return f"Shown: {drawn} of {_said(str(features.attributes['says']))}{cut}"


def _said(sentence: str) -> str:
    """A sentence as the end of another."""
    return f"{sentence[0].lower()}{sentence[1:].rstrip('.')}."


def _method(shown: ShownFeatures) -> str:
    attributes = _view(shown).attrs
    parameters = "".join(f", {name} {value}" for name, value in dict(attributes["parameters"]).items())
    return (
        f"{attributes['title']}{parameters}; fitted on {attributes['fitted_on']}; {_rest(attributes)}"
        "x and y have one scale" + (", the same in every panel." if shown.series.layer is None else ".")
    )


def _rest(attributes: Mapping[str, object]) -> str:
    return f"every other token placed {attributes['placed']}; " if attributes.get("placed") else ""


def _trust(shown: ShownFeatures) -> str:
    trust = shown.series.trustworthiness(shown.view)
    judged = f"on {_view(shown).attrs['judged_on']}"
    what = "Trustworthiness (1: whoever are neighbours here are neighbours among the vectors)"
    if shown.panel is not None:
        return f"{what}: {trust[shown.series.index(shown.panel)]:.2f}, {judged}."
    titles = shown.series.titles
    low, high = int(np.nanargmin(trust)), int(np.nanargmax(trust))
    return (
        f"{what}: mean {np.nanmean(trust):.2f}, from {trust[low]:.2f} ({titles[low]}) to {trust[high]:.2f} ({titles[high]}), "
        f"{judged}; that of each panel stands in its hover."
    )


def _view(shown: ShownFeatures) -> xr.Dataset:
    features = shown.series.features
    return features.view(shown.view) if shown.series.layer is None else features.value_view(shown.view)
