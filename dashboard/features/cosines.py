"""The mean cosine of a token's vectors at two feature points, where they have the same features."""

import numpy as np
from numpy.typing import NDArray

from store.features import Features
from store.schema.features import same_basis


def cosines(features: Features) -> NDArray[np.float64]:
    """(point, other_point); NaN between points of different bases, whatever the store has there."""
    alike = [[same_basis(one, other) for other in features.points] for one in features.points]
    return np.where(alike, features.similarity.values.astype(np.float64), np.nan)
