"""Figures by feature point: token mixing, similarity of the points, explained variance."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from dash import html
from numpy.typing import NDArray

from dashboard.features.data import cosines
from dashboard.features.picture import INPUT
from dashboard.features.shown import FeatureView
from dashboard.statistics.figures import mixing_lines
from dashboard.statistics.sections import WHOLE, ratio_lines
from dashboard.ui.charts import ISOLATES, RAMP, SERIES, SYMBOLS, Layout, chart, colour_bar, every, layout, square
from dashboard.ui.controls import info, statistic_info
from dashboard.ui.markup import file_href
from dashboard.ui.text import all_of
from dashboard.web.http import data_link
from store.features import Features
from store.phrases import many
from store.schema.features import FACTORS, POINT_KINDS, SAMPLE, point_kind, point_layer, point_title
from store.schema.model import ratios_of

HEIGHT = 300
#: What of a token is its group by a factor; a label is one of its whole review.
_GROUPS = {"token": "token_id", "position": "position", "sentence": "sentence_index"}
_SIMILARITY = (
    "Cosine: mean over tokens of the cosine of a token's vectors at two points. CKA: linear CKA (Kornblith et al. 2019), 1 "
    "is the same up to rotation and scale. Head outputs have only CKA: their features are channels of heads, not of the "
    "residual stream."
)
_EXPLAINED = (
    "Epsilon squared (Kelley 1935): the share of the variance between tokens that a factor explains, 0 by chance."
)


def feature_charts(shown: FeatureView) -> list[object]:
    """Five figures by feature point: token mixing, similarity of the points, explained variance."""
    figures = [_mixing(shown), _beside_first(shown), _beside_previous(shown), _explained(shown), _matrix(shown)]
    return [html.H2("By place in the model"), html.Div(figures, className="figures halves")]


def _figure(title: str, about: html.Button, drawn: list[object]) -> html.Div:
    return html.Div([html.H3([title, about]), *drawn], className="figure")


def _mixing(shown: FeatureView) -> html.Div:
    over = f"Mean over {all_of(shown.corpus, 'token')} of the corpus"
    drawn = chart(
        mixing_lines(ratio_lines(shown.corpus.layer_mixing, "all")),
        name="feature-mixing",
        caption=f"{over}; every sentence has the same weight. ",
        label="Mixing ratios by layer",
        of=over,
        data=file_href(data_link(shown.corpus), "mixing.csv"),
        height=HEIGHT,
    )
    return _figure("Token mixing", statistic_info(WHOLE, ratios_of(shown.corpus.attributes)), drawn)


def _beside_first(shown: FeatureView) -> html.Div:
    features = shown.series.features
    lines = {"cosine": cosines(features)[:, 0], "CKA": features.cka.values[:, 0]}
    return _similarity(shown, "embedding", "Similarity to the word embeddings", lines)


def _beside_previous(shown: FeatureView) -> html.Div:
    features = shown.series.features
    lines = {"cosine": _previous(cosines(features)), "CKA": _previous(features.cka.values)}
    return _similarity(shown, "previous", "Similarity to the place before", lines)


def _previous(between: NDArray[np.floating]) -> NDArray[np.float64]:
    """Of every point with the previous one; NaN for the first."""
    return np.concatenate([[np.nan], np.diagonal(between, offset=1)]).astype(np.float64)


def _similarity(shown: FeatureView, name: str, title: str, lines: dict[str, NDArray[np.float64]]) -> html.Div:
    features = shown.series.features
    over = f"Cosine over {features.n_tokens:,} tokens, CKA over {_cka_tokens(shown):,}"
    drawn = chart(
        point_curves(lines, features.points),
        name=f"alike-{name}",
        caption=f"{over}. ",
        label=f"{title}: cosine and CKA of every place in the model",
        of=over,
        data=file_href(data_link(shown.corpus), f"features/{features.name}/similarity.csv"),
        height=HEIGHT,
    )
    return _figure(title, info(title[0].lower() + title[1:], _SIMILARITY), drawn)


def _cka_tokens(shown: FeatureView) -> int:
    features = shown.series.features
    return int(features.attributes.get("cka_tokens", features.n_tokens))


def _explained(shown: FeatureView) -> html.Div:
    features = shown.series.features
    shares = {factor: features.explained.sel(factor=factor).values for factor in FACTORS}
    lines = {factor: values for factor, values in shares.items() if np.isfinite(values).any()}
    names, none = factor_names(features), without_groups(features, [name for name in shares if name not in lines])
    drawn = chart(
        point_curves(lines, features.points, unit="share"),
        name="explained",
        caption=f"By {_or([names[factor] for factor in lines])}, over {features.n_tokens:,} tokens. {none}",
        label="Share of the variance explained, by place in the model",
        of=f"Over {many(features.n_tokens, 'token')}",
        data=file_href(data_link(shown.corpus), f"features/{features.name}/explained.csv"),
        height=HEIGHT,
    )
    return _figure("Explained variance", info("the explained variance", _EXPLAINED), drawn)


def factor_names(features: Features) -> Mapping[str, str]:
    """The factors as the columns of the token set call them."""
    return FACTORS if features.name == SAMPLE else {**FACTORS, "position": "the position in the review"}


def without_groups(features: Features, factors: Sequence[str]) -> str:
    """Why these factors explain nothing that can be measured; empty without any."""
    names = factor_names(features)
    apart, alike = list[str](), list[str]()
    for factor in factors:
        groups = len(np.unique(features.tokens[_GROUPS[factor]].values)) if factor in _GROUPS else 1
        (apart if groups == features.n_tokens else alike).append(names[factor])
    reasons = {"each token has its own": apart, "there is one group only": alike}
    return "".join(f"Not of {' and '.join(each)}: {reason}. " for reason, each in reasons.items() if each)


def _or(parts: list[str]) -> str:
    return " or ".join([", ".join(parts[:-1]), *parts[-1:]]) if len(parts) > 1 else "".join(parts)


def _matrix(shown: FeatureView) -> html.Div:
    features = shown.series.features
    drawn = chart(
        point_matrix(features.cka.values, features.points, measure="CKA"),
        name="cka",
        caption=f"Linear CKA over {_cka_tokens(shown):,} tokens. ",
        label="CKA of every two places in the model",
        of=f"Linear CKA over {_cka_tokens(shown):,} tokens",
        data=file_href(data_link(shown.corpus), f"features/{features.name}/cka.csv"),
        height=400,
        turns=True,
    )
    return _figure("Similarity between places in the model", info("the similarity between places", _SIMILARITY), drawn)


def point_curves(lines: Mapping[str, NDArray[np.float64]], points: Sequence[str], *, unit: str = "") -> go.Figure:
    """Curves of numbers (point) by their titles, in groups by kind of feature point; NaN where there is none."""
    kinds = _kinds(points)
    traces = [
        _point_line(title, values, points, kinds, place, unit) for place, (title, values) in enumerate(lines.items())
    ]
    legend = {"orientation": "h", "x": 0, "y": -0.16, "yanchor": "top", "font": {"size": 11}, **ISOLATES}
    down = {"showgrid": True, "tickformat": ".0%" if unit == "share" else ""}
    margin = {"l": 48, "r": 12, "t": 26 + 14 * _title_lines(kinds), "b": 60}
    return go.Figure(
        traces,
        layout(
            _curve_axis(points, kinds),
            down,
            showlegend=True,
            legend=legend,
            margin=margin,
            annotations=_kind_titles(kinds),
        ),
    )


def _kinds(points: Sequence[str]) -> dict[str, list[int]]:
    """Indices of the points of each kind; what comes before the layers is one group."""
    kinds: dict[str, list[int]] = {}
    for place, point in enumerate(points):
        kind = INPUT if point_layer(point) is None else POINT_KINDS[point_kind(point)].title
        kinds.setdefault(kind, []).append(place)
    return kinds


def _positions(kinds: Mapping[str, list[int]]) -> list[int | None]:
    """The points from left to right, with room between kinds."""
    return [place for group in kinds.values() for place in (*group, None)][:-1]


def _curve_axis(points: Sequence[str], kinds: Mapping[str, list[int]]) -> dict[str, Any]:
    """The horizontal axis, with the first and the last layer of each kind."""
    order = _positions(kinds)
    ends = [place for kind, group in kinds.items() if kind != INPUT for place in sorted({group[0], group[-1]})]
    return {
        "tickvals": [order.index(place) for place in ends],
        "ticktext": [f"L{point_layer(points[place])}" for place in ends],
        "range": [-0.7, len(order) - 0.3],
    }


def _title_lines(kinds: Mapping[str, list[int]]) -> int:
    """Lines of the longest title after the first: titles are broken at every space."""
    return max(kind.count(" ") for kind in kinds)


def _kind_titles(kinds: Mapping[str, list[int]]) -> list[dict[str, Any]]:
    """The title of every kind above its points."""
    order = _positions(kinds)
    middle = {kind: (order.index(group[0]) + order.index(group[-1])) / 2 for kind, group in kinds.items()}
    look = {"yref": "paper", "y": 1, "yanchor": "bottom", "showarrow": False, "font": {"size": 11}}
    return [{"x": x, "text": kind.replace(" ", "<br>"), **look} for kind, x in middle.items()]


def _point_line(
    title: str,
    values: NDArray[np.float64],
    points: Sequence[str],
    kinds: Mapping[str, list[int]],
    place: int,
    unit: str,
) -> Any:
    colour, symbol = SERIES[place % len(SERIES)], SYMBOLS[place % len(SYMBOLS)]
    number = "%{y:.1%}" if unit == "share" else "%{y:.3f}"
    order = _positions(kinds)
    return go.Scatter(
        x=np.arange(len(order)),
        y=[np.nan if index is None else float(values[index]) for index in order],
        name=title,
        mode="lines+markers",
        line={"color": colour, "width": 2},
        marker={"symbol": symbol, "size": 6, "color": colour, "line": {"width": 1, "color": colour}},
        text=["" if index is None else point_title(points[index]) for index in order],
        hovertemplate=f"%{{text}}, {title}: {number}<extra></extra>",
    )


def point_matrix(values: NDArray[np.float64], points: Sequence[str], *, measure: str) -> go.Figure:
    """A measure of every two points (point, point), 0 to 1."""
    titles = [point_title(point) for point in points]
    heat: Any = go.Heatmap(
        z=values.astype(np.float32),
        customdata=[[f"{title} and {other}" for other in titles] for title in titles],
        colorscale=RAMP,
        zmin=0,
        zmax=1,
        colorbar=colour_bar(measure),
        hovertemplate="%{customdata}: %{z:.3f}<extra></extra>",
    )
    along = _matrix_axis(points)
    figure = go.Figure(
        heat, layout(along, along | {"autorange": "reversed"}, margin={"l": 44, "r": 4, "t": 8, "b": 34})
    )
    return square(figure)


def _matrix_axis(points: Sequence[str]) -> Layout:
    """The points in the order of the model, with the first of every layer named."""
    first = {
        layer: place for place, point in reversed(list(enumerate(points))) if (layer := point_layer(point)) is not None
    }
    named = [(place, f"L{layer}") for layer, place in sorted(first.items())][:: every(len(first))]
    ticks = [(0, "input"), *named]
    return {"tickvals": [place for place, _ in ticks], "ticktext": [text for _, text in ticks]}
