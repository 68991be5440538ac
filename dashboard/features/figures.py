"""How the tokens change from point to point, in numbers: mixing, likeness of points, what explains the variance."""

import numpy as np
from dash import html
from numpy.typing import NDArray

from dashboard.features.cosines import cosines
from dashboard.features.point_curves import point_curves
from dashboard.features.point_matrix import point_matrix
from dashboard.features.shown import ShownFeatures
from dashboard.statistics.figures import mixing_lines
from dashboard.statistics.sections import ratio_lines
from dashboard.ui.charts import chart
from dashboard.ui.tables import file_href
from store.schema.features import FACTORS

HEIGHT = 300


def feature_charts(shown: ShownFeatures) -> list[object]:
    """Five figures under a heading, each with what it is measured on."""
    figures = [_mixing(shown), _beside_first(shown), _beside_previous(shown), _explained(shown), _matrix(shown)]
    return [html.H2("From point to point"), html.Div(figures, className="figures halves")]


def _figure(title: str, drawn: list[object]) -> html.Div:
    return html.Div([html.H3(title), *drawn], className="figure")


def _mixing(shown: ShownFeatures) -> html.Div:
    place = shown.place
    says = (
        f"The share of a token's new vector that comes from other tokens (Kobayashi et al. 2021), mean over all {place.corpus.n_tokens:,} "
        "tokens of the corpus, sentences weighed equally. "
    )
    found = chart(
        mixing_lines(ratio_lines(place.corpus.layer_mixing, "all")),
        of="feature-mixing",
        says=says,
        label="Mixing ratios by layer",
        data=file_href(place, "mixing.csv"),
        height=HEIGHT,
    )
    return _figure("How much tokens are mixed in a layer", found)


def _beside_first(shown: ShownFeatures) -> html.Div:
    features = shown.series.features
    lines = {"cosine": cosines(features)[:, 0], "CKA": features.cka.values[:, 0]}
    return _figure("Similarity to the word embeddings", _alike(shown, "embedding", lines, "with the point embedding"))


def _beside_previous(shown: ShownFeatures) -> html.Div:
    features = shown.series.features
    lines = {"cosine": _previous(cosines(features)), "CKA": _previous(features.cka.values)}
    return _figure("Similarity to the point before", _alike(shown, "previous", lines, "with the point before it"))


def _previous(between: NDArray[np.floating]) -> NDArray[np.float64]:
    """Of every point with the one before; NaN for the first."""
    return np.concatenate([[np.nan], np.diagonal(between, offset=1)]).astype(np.float64)


def _alike(shown: ShownFeatures, of: str, lines: dict[str, NDArray[np.float64]], what: str) -> list[object]:
    features = shown.series.features
    says = (
        f"Mean over {features.n_tokens:,} tokens of the cosine of a token's vectors, and linear CKA (Kornblith et al. 2019) over "
        f"{_cka_tokens(shown):,} tokens, {what}. Head outputs have no cosine with other points, as their features are channels of heads, not of "
        "the residual stream; CKA compares them all the same. "
    )
    return chart(
        point_curves(lines, features.points),
        of=f"alike-{of}",
        says=says,
        label=f"Cosine and CKA of every feature point {what}",
        data=file_href(shown.place, f"features/{features.name}/similarity.csv"),
        height=HEIGHT,
    )


def _cka_tokens(shown: ShownFeatures) -> int:
    features = shown.series.features
    return int(features.attributes.get("cka_tokens", features.n_tokens))


def _explained(shown: ShownFeatures) -> html.Div:
    features = shown.series.features
    every = {factor: features.explained.sel(factor=factor).values for factor in FACTORS}
    lines = {factor: values for factor, values in every.items() if np.isfinite(values).any()}
    missing = [FACTORS[factor] for factor in every if factor not in lines]
    none = f"Not of {' and '.join(missing)}: there is one group only. " if missing else ""
    says = (
        f"Share of the variance of the vectors between tokens that {_or([FACTORS[one] for one in lines])} explains: epsilon squared "
        f"(Kelley 1935), 0 by chance, over {features.n_tokens:,} tokens. {none}"
    )
    found = chart(
        point_curves(lines, features.points, unit="share"),
        of="explained",
        says=says,
        label="Share of the variance explained by feature point",
        data=file_href(shown.place, f"features/{features.name}/explained.csv"),
        height=HEIGHT,
    )
    return _figure("What the vectors tell of a token", found)


def _or(parts: list[str]) -> str:
    return " or ".join([", ".join(parts[:-1]), *parts[-1:]]) if len(parts) > 1 else "".join(parts)


def _matrix(shown: ShownFeatures) -> html.Div:
    features = shown.series.features
    says = f"Linear CKA of every two points over {_cka_tokens(shown):,} tokens; 1: the same up to rotation and scale. "
    found = chart(
        point_matrix(features.cka.values, features.points, measure="CKA"),
        of="cka",
        says=says,
        label="CKA of every two feature points",
        data=file_href(shown.place, f"features/{features.name}/cka.csv"),
        height=400,
        turns=True,
    )
    return _figure("Every point beside every other", found)
