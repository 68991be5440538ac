"""Feature points of two models: the similarity of the same tokens' vectors, and the pictures of one point in both."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import numpy as np
from dash import html
from numpy.typing import NDArray

from dashboard.canvas.spec import Panel, Picture
from dashboard.compare.two_models import (
    KEYS,
    MAKE_PICTURE,
    SIDE,
    TO_RING,
    BothPlaces,
    ModelPair,
    alignment,
    cached_result,
    lettered,
    of_both,
    on_one_scale,
)
from dashboard.features.data import ROLES
from dashboard.features.feature_tokens import PREDICTED
from dashboard.features.figures import TRUST, point_curves
from dashboard.features.shown import FeatureView
from dashboard.points.colours import isolating, legend_line
from dashboard.points.controls import caption, selected_line
from dashboard.points.picture import Sources, point_picture
from dashboard.points.point_set import Column
from dashboard.points.search import no_hits
from dashboard.ui.charts import chart
from dashboard.ui.controls import choice, info, search_controls
from dashboard.ui.files import Table
from dashboard.ui.markup import file_href, unmade
from dashboard.web.bounds import matches_of
from dashboard.web.context import Context
from dashboard.web.errors import remedy_text
from dashboard.web.http import data_link
from dashboard.web.state import LinkState
from store.features import Features
from store.kernels.features import linear_cka
from store.kernels.projection import unit
from store.repository.ingest_status import IngestProgress
from store.schema.features import SAMPLE, point_title

#: Tokens that similarities are computed on: as many as for the CKA in the store.
TOKENS = 5_000
Floats = NDArray[np.float64]
#: Fields that the links of the panels drop, unless the page's link has them.
OF_FEATURES = ("material", "vectors", "fview", "fonly", "ftoken", "flasso")
NOTHING = "One of the models has no feature vectors of the sample."
RUN_BOTH = "Run `headscape ingest` with each model."
#: The measures of similarity, explained.
SIMILARITY = (
    "Linear CKA (Kornblith et al. 2019) of the same tokens' vectors in both models: 1 where they are equal up to rotation and "
    "scale. Cosine of a token's two vectors: meaningful only where one model was fine-tuned from the other."
)
NO_PREDICTIONS = "Predicted labels differ between the models: colour by prediction on page Features."
NO_PICTURE = "The models have no picture of places in common."


@dataclass(frozen=True, eq=False)
class PointSimilarity:
    """Linear CKA of every common point, and the mean cosine of a token's two vectors, None where sizes differ."""

    points: tuple[str, ...]
    cka: Floats
    cosine: Floats | None
    tokens: int


@dataclass(frozen=True)
class BothFeatures:
    """The sample's tokens at every feature point of this model and of the other one."""

    own: Features
    other: Features

    @property
    def points(self) -> tuple[str, ...]:
        """Common feature points, in the order of this model."""
        return tuple(point for point in self.own.points if point in self.other.points)

    @property
    def views(self) -> list[str]:
        """Common views, in the order of this model."""
        return [view for view in self.own.views if view in self.other.views]

    @property
    def tokens(self) -> int:
        """Number of common tokens: the first of the sample."""
        return min(self.own.n_tokens, self.other.n_tokens)

    def places(self, view: str, point: str) -> BothPlaces:
        """Positions at a point in both models, the other's aligned to this one's: (2, token, 1, component)."""
        own, other = (
            features.places(view, self.tokens, features.points.index(point))[0][:, None]
            for features in (self.own, self.other)
        )
        return on_one_scale(own, other)


def both_features(two: ModelPair) -> BothFeatures | None:
    """The feature points of both models; None where a model has none of the sample."""
    available = all(SAMPLE in model.token_sets for model in (two.own, two.other))
    return BothFeatures(two.own.features(SAMPLE), two.other.features(SAMPLE)) if available else None


def point_places(two: ModelPair, features: BothFeatures, view: str, point: str) -> BothPlaces:
    """The aligned positions of a point, cached."""
    return cached_result(two, ("point places", view, point), lambda: features.places(view, point))


def point_similarity(two: ModelPair, features: BothFeatures) -> PointSimilarity:
    """The similarity of every common point, cached."""
    return cached_result(two, "likeness", lambda: _similarity(features))


def similarity_table(similarity: PointSimilarity) -> Table:
    """A row for each point: CKA and cosine."""
    cosine = {} if similarity.cosine is None else {"cosine": similarity.cosine.round(6)}
    return {
        "point": np.array([point_title(point) for point in similarity.points], object),
        "cka": similarity.cka.round(6),
        **cosine,
    }


def _similarity(features: BothFeatures) -> PointSimilarity:
    tokens = min(features.tokens, TOKENS)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        each = list(pool.map(lambda point: _at(features, point, tokens), features.points))
    cka, cosine = np.array(each, np.float64).reshape(-1, 2).T
    return PointSimilarity(features.points, cka, None if np.isnan(cosine).all() else cosine, tokens)


def _at(features: BothFeatures, point: str, tokens: int) -> tuple[float, float]:
    """CKA and mean cosine at one point; NaN where there is no cosine."""
    own, other = (
        model_features.feature.variable[model_features.points.index(point), :tokens].values.astype(np.float32)
        for model_features in (features.own, features.other)
    )
    cosine = (unit(own) * unit(other)).sum(axis=-1).mean() if own.shape == other.shape else np.nan
    return float(linear_cka([own, other])[0, 1]), float(cosine)


@dataclass(frozen=True)
class ShownPoint:
    """The point and the view of a link, or a point and a view that both models have; colour and selection are this model's.

    `state` is the link as it is written; `shown` has colours of token types where the link has colours of predictions.
    """

    state: LinkState
    both: BothFeatures
    shown: FeatureView
    point: str
    view: str

    @classmethod
    def of(cls, context: Context, two: ModelPair) -> "ShownPoint | None":
        """The point and the view for a link; None without a common point or view."""
        both, state = both_features(two), context.state
        if both is None or not both.points or not both.views:
            return None
        in_colours_of_both = state.with_(fcolour="kind") if state.fcolour in PREDICTED else state
        shown = FeatureView.of(replace(context, state=in_colours_of_both), both.tokens)
        point = state.point if state.point in both.points else both.points[-1]
        view = shown.view if shown.view in both.views else both.views[0]
        return cls(state, both, shown, point, view)

    @property
    def columns(self) -> dict[str, Column]:
        """The columns that are the same in both models."""
        return {name: column for name, column in self.shown.points.columns.items() if name not in PREDICTED}

    def notices(self, other: str) -> tuple[str, ...]:
        """Notices on the parts of the link that are ignored, also because `other` lacks them."""
        state, notices = self.state, [*self.shown.notices]
        if state.point not in (None, self.point):
            notices.append(f"{other} has no place {point_title(state.point)}; showing {point_title(self.point)}.")
        if state.fview not in (None, self.view):
            remedy = remedy_text(self.shown.ingest, MAKE_PICTURE)
            notices.append(f"{other} has no picture “{state.fview}” of places; showing “{self.view}”. {remedy}")
        if state.fcolour in PREDICTED:
            notices.append(
                "Predicted labels differ between the models; colouring by token type. See predictions on page Features."
            )
        return tuple(notices)


def picture_of_point(two: ModelPair, point: ShownPoint) -> Picture:
    """The picture of a point in both models."""
    shown, tokens, title = point.shown, point.both.tokens, point_title(point.point)
    base = f"{data_link(two.own)}/compare/{two.other.name}/features"
    where = f"{point.view}/{quote(point.point)}"
    panels = [
        Panel(name=name, summary=title, fields={"point": point.point, "model": model.name})
        for name, model in zip(lettered(two), (two.own, two.other), strict=True)
    ]
    sources = Sources(f"{base}/points/{where}.bin", f"{base}/raster/{where}.png?", shown.colours, shown.mask)
    label = f"{tokens:,} tokens at {title} in {two.names[0]} and in {two.names[1]}"
    return replace(
        point_picture(shown, sources, panels=panels, columns=2, label=label),
        titled=True,
        min_side=SIDE,
        page="features",
        dropped_fields=["other", *(name for name in OF_FEATURES if point.state.fields[name] is None)],
        cards=[f"{data_link(model)}/features/{SAMPLE}/card/" for model in (two.own, two.other)],
    )


def similarity_panel(two: ModelPair, both: BothFeatures | None, ingest: IngestProgress | None) -> list[object]:
    """A chart of CKA and cosine of the common points; computed at the first request."""
    if both is None:
        return no_points(both, ingest)
    similarity = point_similarity(two, both)
    lines = {"CKA": similarity.cka} | ({} if similarity.cosine is None else {"cosine": similarity.cosine})
    return chart(
        point_curves(lines, similarity.points),
        name="likeness",
        caption=_similarity_caption(two, similarity, both.tokens),
        label="CKA and cosine of every place between the models",
        of=_similarity_caption(two, similarity, both.tokens).strip(),
        data=file_href(data_link(two.own), f"compare/{two.other.name}/features/likeness.csv"),
        height=320,
    )


def _similarity_caption(two: ModelPair, similarity: PointSimilarity, tokens: int) -> str:
    cosine = "cosine: mean over tokens. " if similarity.cosine is not None else f"no cosine{_sizes(two)}. "
    each = [len(model.features(SAMPLE).points) for model in (two.own, two.other)]
    some = f"Only the {len(similarity.points)} common points, of {each[0]} of A and {each[1]} of B. "
    missing = "" if each == [len(similarity.points)] * 2 else some
    return f"{similarity.tokens:,} of {tokens:,} tokens; {cosine}{missing}"


def _sizes(two: ModelPair) -> str:
    return "" if two.same_size else ", as vector sizes differ"


def no_points(both: BothFeatures | None, ingest: IngestProgress | None) -> list[object]:
    """Why there is no picture of a point, and what to do."""
    return [html.P(unmade(ingest, NO_PICTURE if both else NOTHING, RUN_BOTH), role="status")]


def point_controls(two: ModelPair, point: ShownPoint) -> tuple[list[Any], list[Any]]:
    """The controls and the legend of the pictures of a point."""
    shown, state = point.shown, point.state
    points = {name: point_title(name) for name in point.both.points}
    views = {name: _title(point, name) for name in point.both.views}
    colours = {name: column.title for name, column in point.columns.items()}
    controls = [
        choice("point", "Point", points, point.point, 140),
        choice("fview", "Picture", views, point.view, 200),
        choice("fcolour", "Colour", colours, shown.colour.name, 170),
        search_controls(state, matches_of(two.own)),
    ]
    meaning = legend_line(shown.legend, roles=ROLES, isolate=isolating(state, "fonly"))
    return controls, [meaning, *_no_predictions(point), no_hits(two.own, state) or _selected(point)]


def _no_predictions(point: ShownPoint) -> list[html.P]:
    if point.columns.keys() == point.shown.points.columns.keys():
        return []
    return [html.P(NO_PREDICTIONS, className="caption")]


def _selected(point: ShownPoint) -> html.P:
    if not point.shown.selection:
        return html.P(className="count one-row")
    count, drawn = int(point.shown.selected.sum()), point.shown.tokens
    selected = f"{count:,} of {drawn:,} drawn tokens selected, the same in both."
    return selected_line(selected, clears=True)


def below_point(two: ModelPair, point: ShownPoint) -> list[object]:
    """Captions of the pictures: sample, alignment and fidelity."""
    apart = point_places(two, point.both, point.view, point.point).apart
    return [
        caption(
            f"{point.both.tokens:,} of {two.tokens:,} tokens, the same in both; {_title(point, point.view)}."
            f"{_trustworthiness(point)}",
            info("the pictures of both models", f"{alignment(apart)} Trustworthiness: {TRUST}"),
        ),
        html.P([TO_RING, " A click opens the point in that model.", info("the keys", KEYS)], className="caption"),
    ]


def _trustworthiness(point: ShownPoint) -> str:
    """Trustworthiness of each model's own picture of the point; empty where neither has one."""
    models = (point.both.own, point.both.other)
    each = [float(features.view(point.view).trustworthiness.sel(point=point.point)) for features in models]
    return f" Trustworthiness {of_both(each)}." if np.isfinite(each).any() else ""


def _title(point: ShownPoint, view: str) -> str:
    return str(point.both.own.view(view).attrs["title"])
