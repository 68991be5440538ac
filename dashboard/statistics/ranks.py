"""Ranks of heads: 1 has the most."""

import numpy as np
from numpy.typing import NDArray


def ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 + how many are larger, of every value; NaN where there is none. Equal ones have equal ranks."""
    flat = values.ravel()
    larger = (flat[None, :] > flat[:, None]).sum(axis=1)
    return np.where(np.isnan(flat), np.nan, 1.0 + larger).reshape(values.shape)
