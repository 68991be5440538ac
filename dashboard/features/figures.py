"""Below the picture of feature points: captions on tokens, method and trustworthiness, and on how to keep a trial or a review in the store;
and figures by feature point: token mixing, similarity of the points, explained variance.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from dash import html
from numpy.typing import NDArray

from dashboard.features.data import FeaturePanels, cosines
from dashboard.features.feature_tokens import NO_PREDICTION
from dashboard.features.picture import INPUT, panel_texts, text_of
from dashboard.features.shown import FeatureView
from dashboard.features.trial import seed_of
from dashboard.points.controls import caption
from dashboard.statistics.figures import mixing_lines
from dashboard.statistics.sections import WHOLE, ratio_lines
from dashboard.ui.charts import ISOLATES, RAMP, SERIES, SYMBOLS, Layout, chart, colour_bar, every, layout, square
from dashboard.ui.controls import info, statistic_info
from dashboard.ui.glossary import defined
from dashboard.ui.markup import file_href
from dashboard.ui.text import all_of, with_commands
from dashboard.web.http import data_link
from dashboard.web.token_sets import review_number
from store.features import Features
from store.phrases import many
from store.schema.features import FACTORS, POINT_KINDS, SAMPLE, point_kind, point_layer, point_title
from store.schema.model import ratios_of
from store.schema.pictures import EACH, ViewName

_COMMAND = (
    "Add the model, the data and the place of the store as your ingest had them. It draws all tokens in place of a stored picture "
    "“{}”, and the values of the last layer, which have the same settings."
)
_OTHER_SEED = "A trial with seed {}, not in the store, whose pictures have seed {}. Choose that seed to see the command that keeps it."
_READ = "Read by the model for this page, not in the store. Keep it in the store: "
_READ_COMMAND = "Add the model, the data and the place of the store as your ingest had them. It also draws the review by UMAP and t-SNE."
_CUT = " The review is longer: its text after {:,} tokens is left out. Choose a shorter one to see all of it."
TRUST = defined("trustworthiness")
UNMEASURED = "Trustworthiness: too few tokens to measure. Ingest more sentences."
#: Parameters of a fit by their names for a person.
PARAMETERS = {
    "neighbors": "neighbours",
    "min_dist": "minimum distance",
    "perplexity": "perplexity",
    "steps": "steps",
    "metric": "metric",
    "seed": "seed",
}
HEIGHT = 300
#: Column of the tokens whose values are the groups of a factor; a label belongs to a whole review, not to a token.
_GROUPS = {"token": "token_id", "position": "position", "sentence": "sentence_index"}
_SIMILARITY = (
    "Cosine: mean over tokens of the cosine of a token's vectors at two points. CKA: linear CKA (Kornblith et al. 2019), 1 "
    "is the same up to rotation and scale. Head outputs have only CKA: their features are channels of heads, not of the "
    "residual stream."
)
_EXPLAINED = (
    "Epsilon squared (Kelley 1935): the share of the variance between tokens that a factor explains, 0 by chance."
)


def captions(shown: FeatureView) -> list[html.P]:
    """Captions on the tokens, the method, and the trustworthiness of every panel on screen."""
    classifies = shown.series.features.class_probability is not None
    missing = [] if classifies else [html.P(with_commands(NO_PREDICTION), className="caption")]
    return [
        *_trial_caption(shown),
        *_read_caption(shown),
        caption(_tokens_text(shown)),
        caption(*_method(shown)),
        caption(*_trust(shown)),
        *missing,
    ]


def _trial_caption(shown: FeatureView) -> list[html.P]:
    """A caption: the picture is a trial, and this command makes it permanent; no command for a seed other than the store's."""
    if shown.trial is None:
        return []
    if shown.trial.seed is not None:
        return [caption(_OTHER_SEED.format(shown.trial.seed, seed_of(shown.corpus)))]
    command = shown.trial.command(shown.corpus, shown.series.features)
    return [
        caption(
            "A trial, not in the store. Make it permanent: ",
            html.Code(command),
            info("the command", _COMMAND.format(shown.trial.view)),
        )
    ]


def _read_caption(shown: FeatureView) -> list[html.P]:
    """A caption: the review was read on demand, and this command makes it permanent."""
    number = review_number(shown.series.features.name)
    if number is None or shown.series.features.name in shown.corpus.token_sets:
        return []
    return [caption(_READ, html.Code(f"headscape projections --reviews={number}"), info("the command", _READ_COMMAND))]


def _tokens_text(shown: FeatureView) -> str:
    features = shown.series.features
    some = f"the first {shown.tokens:,} of {features.n_tokens:,} are drawn here"
    drawn = "all of them are drawn" if shown.tokens == features.n_tokens else some
    drawn += "" if shown.tokens == shown.series.tokens(shown.view) else ", all of them in a large panel"
    cut = _CUT.format(features.n_tokens) if features.attributes.get("cut") else ""
    return f"Tokens: {str(features.attributes['says']).rstrip('.')}; {drawn}.{cut}"


def _method(shown: FeatureView) -> list[object]:
    """Method of the picture and tokens that it was fitted on; behind the (i) its parameters and rules for reading it."""
    attributes = shown.series.attributes(shown.view)
    parameters = dict(attributes["parameters"])
    titles = [f"{title} {_spelled(parameters[name])}" for name, title in PARAMETERS.items() if name in parameters]
    placed = [f"Other tokens are placed {attributes['placed']}."] if attributes.get("placed") else []
    about = [f"{', '.join(titles)}." if titles else "", *placed, _axes(shown.series), _bases(shown)]
    sizes = " Each panel fits its tokens: do not compare sizes across panels." if shown.series.fitted else ""
    title, fitted_on = str(attributes["title"]), str(attributes["fitted_on"])
    fitted = fitted_on.partition(" at the place ")[0] if " fitted on " in title else f"fitted on {fitted_on}"
    return [
        f"{title}, {fitted}.{sizes}",
        info("the picture", " ".join(filter(None, about))),
    ]


def _spelled(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _axes(series: FeaturePanels) -> str:
    if series.layer is not None:
        return "Equal axis scales, own to each head."
    return "Equal axis scales." if series.fitted else "Equal axis scales, the same in every panel."


def _bases(shown: FeatureView) -> str:
    """A warning where all feature points are in one picture."""
    view = shown.view if shown.trial is None else str(shown.trial.view)
    if shown.series.layer is not None or ViewName.parse_points(view).vectors == EACH:
        return ""
    return "Head outputs have another basis (channels of heads): do not compare their positions with those of other points."


def _trust(shown: FeatureView) -> list[object]:
    means = mean_trust(shown.series.trustworthiness(shown.view), shown.series.titles)
    if means is None:
        return [UNMEASURED]
    judged = shown.series.attributes(shown.view)["judged_on"]
    about = info("trustworthiness", f"{TRUST} Measured on {judged}. Hover a panel for its own value.")
    if shown.panel is not None:
        return ["Trustworthiness (1: perfect): ", text_of("trust", panel_texts(shown, shown.panel)), ".", about]
    return [f"Trustworthiness (1: perfect): {means}", about]


def mean_trust(trust: NDArray[np.float64], titles: Sequence[str]) -> str | None:
    """Mean trustworthiness of the panels (panel,), and the panels with the least and the most; None where none is measured."""
    if np.isnan(trust).all():
        return None
    low, high = int(np.nanargmin(trust)), int(np.nanargmax(trust))
    return f"mean {np.nanmean(trust):.2f}, from {trust[low]:.2f} ({titles[low]}) to {trust[high]:.2f} ({titles[high]})."


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
    """Similarity of every point to the previous one: (point,); NaN for the first."""
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
    """Names of the factors, as in the columns of the token set."""
    return FACTORS if features.name == SAMPLE else {**FACTORS, "position": "the position in the review"}


def without_groups(features: Features, factors: Sequence[str]) -> str:
    """Why the explained variance of these factors cannot be measured; empty without factors."""
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
    """Curves of numbers (point) by their titles, in groups by kind of feature point; NaN where a point has no number."""
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
    """Indices of the points of each kind; the points before the layers are one group."""
    kinds: dict[str, list[int]] = {}
    for place, point in enumerate(points):
        kind = INPUT if point_layer(point) is None else POINT_KINDS[point_kind(point)].title
        kinds.setdefault(kind, []).append(place)
    return kinds


def _positions(kinds: Mapping[str, list[int]]) -> list[int | None]:
    """Indices of the points from left to right; None leaves room between kinds."""
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
