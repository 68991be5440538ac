"""The common feature points of two models, and the similarity of the same tokens' vectors there."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.compare.picture import BothPlaces, on_one_scale
from dashboard.compare.two_models import Two, cached_result
from dashboard.ui.files import Table
from store.features import Features
from store.kernels.features import linear_cka
from store.kernels.normalization import unit
from store.schema.features import SAMPLE, point_title

#: Tokens that similarities are computed on: as many as for the CKA in the store.
TOKENS = 5_000
Floats = NDArray[np.float64]


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


def both_features(two: Two) -> BothFeatures | None:
    """The feature points of both models; None where one of them has none of the sample."""
    available = all(SAMPLE in model.materials for model in (two.own, two.other))
    return BothFeatures(two.own.features(SAMPLE), two.other.features(SAMPLE)) if available else None


def point_places(two: Two, features: BothFeatures, view: str, point: str) -> BothPlaces:
    """The aligned positions of a point, cached."""
    return cached_result(two, ("point places", view, point), lambda: features.places(view, point))


def point_similarity(two: Two, features: BothFeatures) -> PointSimilarity:
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
