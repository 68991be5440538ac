"""Which reviews are held out of the training: of every label the same share, by chance."""

import numpy as np
from numpy.typing import NDArray

#: Of the reviews of every label. More than `MOST` in all say little more: the standard error is below 0.01 by then.
SHARE = 0.1
MOST = 2000


def hold_out(labels: NDArray[np.integer], *, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows to train on and rows held out, both ascending.

    Every label has at least one row in both if it has two or more.

    Parameters
    ----------
    labels
        (review,), codes.
    """
    generator = np.random.default_rng(seed)
    share = min(SHARE, MOST / len(labels))
    held = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        rows = generator.permutation(np.flatnonzero(labels == label))
        held[rows[: max(1, round(share * len(rows)))]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)
