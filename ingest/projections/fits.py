"""t-SNE and UMAP, as the libraries make them. Imports nothing slow: every process of a pool imports it."""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ingest.run.files import place_compiled_code
from store.process import one_thread

Floats = NDArray[np.floating]
#: Takes the share of a fit that is done, 0 to 1.
Tell = Callable[[float], None]

#: Points that differ by less in every feature are one: t-SNE would divide by their spread, and crash.
SAME = 1e-7
#: Fewer points have no neighbours to keep, and are not fitted.
FEWEST_POINTS = 3


def fit_points(
    points: Floats, kind: str, components: int, seed: int, settings: Mapping[str, Any], *, tell: Tell | None = None
) -> Floats:
    """Places (point, component) of points (point, feature) by one of `FITS`, on one core; UMAP tells its progress."""
    if len(points) < FEWEST_POINTS:
        return np.eye(len(points), components, dtype=np.float32)
    if np.allclose(points, points[0], rtol=0, atol=SAME):
        return np.zeros((len(points), components), np.float32)
    used = used_settings(settings, len(points)) | ({"tell": tell} if tell else {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the libraries remark on what is not installed, and on settings that are meant
        place_compiled_code(os.environ)
        import_module(LIBRARIES[kind])  # a limit holds for libraries that are loaded: the first fit would use all cores
        with one_thread():
            return np.asarray(FITS[kind](points, components, seed=seed, **used), np.float32)


def seed32(seed: int) -> int:
    """A seed as scikit-learn and UMAP take it, 0 to 2^32 - 1; a seed within that range stays."""
    return seed % (1 << 32)


def used_settings(settings: Mapping[str, Any], points: int) -> dict[str, Any]:
    """Settings with no more neighbours and no higher perplexity than the number of points allows."""
    most = {"neighbors": points - 1, "perplexity": (points - 1) / 3}
    return {name: min(value, most.get(name, value)) for name, value in settings.items()}


def tsne(
    points: Floats,
    components: int,
    *,
    seed: int,
    perplexity: float,
    steps: int,
    metric: str = "euclidean",
) -> Floats:
    """Places by scikit-learn's t-SNE."""
    from sklearn.manifold import TSNE

    fit = TSNE(components, perplexity=perplexity, max_iter=steps, metric=metric, random_state=seed, n_jobs=1)
    places: Floats = fit.fit_transform(points)
    return places


def exact_tsne(
    points: Floats, components: int, *, seed: int, perplexity: float, steps: int, metric: str = "euclidean"
) -> Floats:
    """Places by Headscape's t-SNE, for few points."""
    from ingest.projections.exact_tsne import exact_tsne as fit

    return fit(points, components, seed=seed, perplexity=perplexity, steps=steps, metric=metric)


def umap(
    points: Floats,
    components: int,
    *,
    seed: int,
    neighbors: int,
    min_dist: float,
    metric: str = "euclidean",
    epochs: int = 200,
    tell: Tell | None = None,
) -> Floats:
    """Places by umap-learn's UMAP; few points start at random places. `tell` gets the share of its epochs that are done."""
    from umap import UMAP

    from ingest.projections.compiled_places import nearest_of_each

    _keep_compiled()
    start = "spectral" if len(points) > 50 else "random"
    fit = UMAP(
        n_components=components,
        n_neighbors=neighbors,
        min_dist=min_dist,
        metric=metric,
        n_epochs=epochs,
        init=start,
        random_state=seed,
        n_jobs=1,
        # umap-learn finds neighbours in a loop of Python, or of many points not all.
        precomputed_knn=nearest_of_each(points, neighbors, metric),
        tqdm_kwds={"disable": tell is None, "file": Epochs(tell), "bar_format": "{percentage:.0f}"},
    )
    with _seeded_eigenvectors(seed):
        places: Floats = fit.fit_transform(points)
    return places


@contextmanager
def _seeded_eigenvectors(seed: int) -> Iterator[None]:
    """Let a fit that starts at eigenvectors be the same in every process.

    Where their search finds nothing new, as in graphs of several parts, ARPACK goes on from a random vector, which SciPy draws
    from the system unless it is given a seed; umap-learn gives none.
    """
    from scipy.sparse import linalg

    unseeded = linalg.eigsh
    linalg.eigsh = partial(unseeded, rng=seed)
    try:
        yield
    finally:
        linalg.eigsh = unseeded


@cache
def _keep_compiled() -> None:
    """Let numba keep what umap-learn compiles: every process would take ten seconds to compile it again."""
    from numba.core.dispatcher import Dispatcher

    for module in map(import_module, ("umap.umap_", "umap.layouts", "umap.utils")):
        for function in vars(module).values():
            if isinstance(function, Dispatcher) and function.__module__ == module.__name__:
                function.enable_caching()


class Epochs:
    """Takes the place of the terminal to which UMAP's progress bar writes percentages."""

    def __init__(self, tell: Tell | None) -> None:
        self._tell = tell

    def write(self, text: str) -> None:
        """Tell the share, 0 to 1."""
        percentage = text.strip()
        if self._tell and percentage.isdigit():
            self._tell(int(percentage) / 100)

    def flush(self) -> None:
        """Do nothing: no text is held back."""


FITS: Mapping[str, Callable[..., Floats]] = {"tsne": tsne, "exact_tsne": exact_tsne, "umap": umap}
LIBRARIES = {"tsne": "sklearn.manifold", "exact_tsne": "ingest.projections.exact_tsne", "umap": "umap"}
