"""t-SNE and UMAP of one head, as the libraries make them. Imports nothing slow: every process of a pool imports it."""

import warnings

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


def fit_head(points: Floats, *, projection: str, components: int, seed: int) -> Floats:
    """Places (point, component) of one head's points (point, feature)."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the libraries remark on settings that are meant
        fit = {"tsne": _tsne, "umap": _umap, "attentionviz": _attentionviz}[projection]
        places: Floats = np.asarray(fit(points, components, seed), np.float32)
        return places


def _tsne(points: Floats, components: int, seed: int) -> Floats:
    """On unit vectors, where the distance is a function of the cosine."""
    from sklearn.manifold import TSNE

    places: Floats = TSNE(
        components, perplexity=_perplexity(30, points), max_iter=500, random_state=seed, n_jobs=1
    ).fit_transform(points)
    return places


def _attentionviz(points: Floats, components: int, seed: int) -> Floats:
    """The settings of AttentionViz's published data: cosine, perplexity 50, 300 steps, of which 250 exaggerate."""
    from sklearn.manifold import TSNE

    perplexity = _perplexity(50, points)
    fit = TSNE(components, perplexity=perplexity, max_iter=300, metric="cosine", random_state=seed, n_jobs=1)
    places: Floats = fit.fit_transform(points)
    return places


def _umap(points: Floats, components: int, seed: int) -> Floats:
    from umap import UMAP

    neighbours = min(15, len(points) - 1)
    start = "spectral" if len(points) > 50 else "random"
    fit = UMAP(n_components=components, n_neighbors=neighbours, n_epochs=200, init=start, random_state=seed, n_jobs=1)
    places: Floats = fit.fit_transform(points)
    return places


def _perplexity(wanted: int, points: Floats) -> float:
    """At most what so few points allow."""
    return min(wanted, (len(points) - 1) / 3)
