"""Which of the drawn points of two models are selected."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dashboard.points.drawn import Drawn
from dashboard.points.selection import Selection, mask


def selected_in_both(own: Drawn, other: Drawn, chosen: Selection) -> NDArray[np.bool_]:
    """(2, token, role), this model's first: a search and conditions in each, a region in this one's picture for both."""
    masks = mask(own, chosen), mask(other, replace(chosen, lasso=None)) & mask(own, Selection(lasso=chosen.lasso))
    shape = (1, len(own.rows), 2)
    return np.concatenate([np.broadcast_to(one, shape) for one in masks])
