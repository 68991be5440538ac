"""The projections: what fits each, with which settings, and on how many tokens; and places as whole numbers. Imports nothing slow.

Pictures of heads, of feature points and of values have one table. What is not fitted is placed by the rule of the
projection (`projection.py`). Every picture stores its places in a cube: low + coordinate / 65535 * side.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from store.schema.pictures import LARGEST_COORDINATE

Floats = NDArray[np.floating]


@dataclass(frozen=True)
class Row:
    """One row of the table.

    Attributes
    ----------
    fit
        The method that fits it: `pca`, `tsne`, `umap`, or `attention`, a network trained on attention.
    version
        Of pictures of heads: changes whenever the code changes their places.
    settings
        Of the method. Those of feature points take METRIC, NEIGHBORS and MIN_DIST in their stead.
    head_settings
        The settings of pictures of heads that differ: fits of fewer steps, as faithful on held-out sentences.
    head_tokens
        Tokens that a picture of heads is fitted on; None is the whole sample.
    point_version
        Of pictures of feature points and of values; empty as long as they are those of the first version.
    joint_vectors, point_vectors, value_tokens
        Vectors that a fit of all feature points together takes, that of one point, and that of the values of a head.
    """

    fit: str
    version: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    head_settings: Mapping[str, Any] = field(default_factory=dict)
    head_tokens: int | None = None
    point_version: str = ""
    joint_vectors: int = 0
    point_vectors: int = 0
    value_tokens: int = 0

    @property
    def exact(self) -> bool:
        """Whether a formula places every token, fitted or not."""
        return self.fit not in ("tsne", "umap")


#: Tokens of a head that t-SNE and UMAP fit: they take more time than all else, and other tokens are placed among these.
#: With more of them attention is told less well, and neighbours as well.
_HEAD_TOKENS = 300
#: `attentionviz` has the settings of AttentionViz's published data: 300 steps, of which 250 exaggerate.
PROJECTIONS: dict[str, Row] = {
    "attention": Row("attention", "attention/5"),
    "pca": Row("pca", "pca/2", joint_vectors=40_000, point_vectors=20_000, value_tokens=20_000),
    "umap": Row(
        "umap",
        "neighbours/2",
        {"neighbors": 15, "min_dist": 0.1},
        {"epochs": 100},
        _HEAD_TOKENS,
        point_version="umap/2",
        joint_vectors=14_000,
        point_vectors=2_000,
        value_tokens=1_000,
    ),
    "tsne": Row(
        "tsne",
        "neighbours/4",
        {"perplexity": 30, "steps": 500},
        {"steps": 420},
        _HEAD_TOKENS,
        point_version="tsne/3",
        joint_vectors=5_000,
        point_vectors=1_000,
    ),
    "attentionviz": Row(
        "tsne",
        "neighbours/3",
        {"perplexity": 50, "steps": 300, "metric": "cosine"},
        head_tokens=500,
    ),
}
#: So few tokens are all fitted, in pictures of feature points and of values.
FEW_TOKENS = 512


@dataclass(frozen=True)
class PlaceGrid:
    """The cubes of some panels: lowest place (panel..., component) and side (panel...)."""

    low: NDArray[np.float64]
    side: NDArray[np.float64]

    @classmethod
    def around(cls, places: Floats, *, panels: int, margin: float = 1.0) -> "PlaceGrid":
        """PlaceGrid around places (..., component), `margin` times as wide as the places reach.

        Each index of the first `panels` dims has a cube of its own; with none there is one for all.
        """
        within = tuple(range(panels, places.ndim - 1))
        low, high = (edge(axis=within).astype(np.float64) for edge in (places.min, places.max))
        side = np.maximum((high - low).max(axis=-1) * margin, 1e-9)
        return cls((low + high) / 2 - side[..., None] / 2, side)

    def encode(self, places: Floats) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
        """Coordinates of places (panel..., ..., component), and how many points of each panel are outside its cube.

        Points outside are drawn on the border.
        """
        coordinates, outside = np.empty(places.shape, np.uint16), np.zeros(self.side.shape, np.int64)
        for panel in np.ndindex(self.side.shape):  # one after the other: the places of one stay in the cache of a core
            within = (places[panel] - self.low[panel]) / self.side[panel]
            clipped = np.clip(within, 0, 1)
            outside[panel] = (clipped != within).any(axis=-1).sum()
            coordinates[panel] = np.rint(clipped * LARGEST_COORDINATE)
        return coordinates, outside

    def decode(self, coordinates: NDArray[np.uint16]) -> Floats:
        """Places (panel..., ..., component) of coordinates."""
        low, side = self._spread(self.low, coordinates), self._spread(self.side[..., None], coordinates)
        return low + coordinates / LARGEST_COORDINATE * side

    def _spread(self, values: Floats, places: NDArray[np.generic]) -> Floats:
        """With as many dims as the places, the panels first and the component last."""
        between = (1,) * (places.ndim - values.ndim)
        return values.reshape(*values.shape[:-1], *between, values.shape[-1])
