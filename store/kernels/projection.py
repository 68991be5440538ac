"""From head space to the plane. Fitted on a sample; every token is then placed by the same formula. numpy only."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


def fit_pca(points: Floats, *, components: int) -> tuple[Floats, Floats, Floats]:
    """Principal axes of `points` (point, feature): mean (feature), axes (component, feature), explained share (component).

    scikit-learn's exact solver with its deterministic signs: the same points give the same picture.
    """
    from sklearn.decomposition import PCA

    found = PCA(n_components=components, svd_solver="covariance_eigh").fit(points)
    return found.mean_, found.components_, found.explained_variance_ratio_


def place(points: Floats, mean: Floats, axes: Floats) -> Floats:
    """Coordinates (..., point, component) of `points` (..., point, feature) on fitted axes."""
    return (points - mean[..., None, :]) @ np.swapaxes(axes, -1, -2)
