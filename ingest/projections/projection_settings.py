"""The projections: what fits each, with which settings, and on how many tokens. Imports nothing slow.

Pictures of heads, of feature points and of values have one table. What is not fitted is placed by the rule of the
projection (`methods.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Projection:
    """One row of the table.

    Attributes
    ----------
    fit
        The method that fits it: `pca`, `tsne`, `umap`, or `attention`, a network trained on attention.
    version
        Of pictures of heads: changes whenever the code changes their places.
    settings
        Of the method. Those of feature points take METRIC, NEIGHBORS and MIN_DIST in their stead.
    head_fit, head_settings
        The method and the settings of pictures of heads that differ: fits of fewer steps, as faithful on held-out sentences.
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
    head_fit: str | None = None
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
PROJECTIONS: dict[str, Projection] = {
    "attention": Projection("attention", "attention/5"),
    "pca": Projection("pca", "pca/2", joint_vectors=40_000, point_vectors=20_000, value_tokens=20_000),
    "umap": Projection(
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
    "tsne": Projection(
        "tsne",
        "neighbours/4",
        {"perplexity": 30, "steps": 500},
        {"steps": 420},
        _HEAD_TOKENS,
        head_fit="exact_tsne",
        point_version="tsne/3",
        joint_vectors=5_000,
        point_vectors=1_000,
    ),
    "attentionviz": Projection(
        "tsne",
        "neighbours/3",
        {"perplexity": 50, "steps": 300, "metric": "cosine"},
        head_tokens=500,
        head_fit="exact_tsne",
    ),
}
#: So few tokens are all fitted, in pictures of feature points and of values.
FEW_TOKENS = 512
