"""t-SNE and UMAP, as the libraries make them. Imports nothing slow: every process of a pool imports it."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


#: How queries and keys of a head are fitted; always unit vectors, where the distance is a function of the cosine.
#: `attentionviz` has the settings of AttentionViz's published data: 300 steps, of which 250 exaggerate.
HEAD_FITS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "tsne": ("tsne", {"perplexity": 30, "steps": 500}),
    "attentionviz": ("tsne", {"perplexity": 50, "steps": 300, "metric": "cosine"}),
    "umap": ("umap", {}),
}


def fit_head(points: Floats, *, projection: str, components: int, seed: int) -> Floats:
    """Places (point, component) of one head's points (point, feature)."""
    kind, settings = HEAD_FITS[projection]
    return fit_points(points, kind, components, seed, settings)


def fit_points(points: Floats, kind: str, components: int, seed: int, settings: Mapping[str, Any]) -> Floats:
    """Places (point, component) of points (point, feature) by `tsne` or `umap`, on one core."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the libraries remark on settings that are meant
        fit = FITS[kind]
        return np.asarray(fit(points, components, seed=seed, **settings), np.float32)


def tsne(
    points: Floats, components: int, *, seed: int, perplexity: float, steps: int, metric: str = "euclidean"
) -> Floats:
    """scikit-learn's t-SNE; the perplexity is at most what so few points allow."""
    from sklearn.manifold import TSNE

    allowed = min(perplexity, (len(points) - 1) / 3)
    fit = TSNE(components, perplexity=allowed, max_iter=steps, metric=metric, random_state=seed, n_jobs=1)
    places: Floats = fit.fit_transform(points)
    return places


def umap(
    points: Floats,
    components: int,
    *,
    seed: int,
    metric: str = "euclidean",
    neighbors: int = 15,
    min_dist: float = 0.1,
) -> Floats:
    """umap-learn's UMAP, with its own settings but the seed, where none is given."""
    from umap import UMAP

    near = min(neighbors, len(points) - 1)
    start = "spectral" if len(points) > 50 else "random"
    fit = UMAP(
        n_components=components,
        n_neighbors=near,
        min_dist=min_dist,
        metric=metric,
        n_epochs=200,
        init=start,
        random_state=seed,
        n_jobs=1,
    )
    places: Floats = fit.fit_transform(points)
    return places


FITS: Mapping[str, Callable[..., Floats]] = {"tsne": tsne, "umap": umap}
