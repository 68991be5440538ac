"""Turn one picture of some tokens onto another, so that the two can be compared. numpy and scipy only."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


def align(places: Floats, onto: Floats) -> Floats:
    """The places moved, turned or mirrored, and scaled as a whole, so that they lie near those they are laid onto.

    Orthogonal Procrustes (Schoenemann 1966) about both means. The one scale makes both equally large about their means;
    that of least squares makes a picture the smaller the worse it fits, and of a chain of pictures the last a dot.

    Parameters
    ----------
    places, onto
        (token, component), the same tokens in the same order.
    """
    from scipy.linalg import orthogonal_procrustes

    own, other = (one - one.mean(axis=0) for one in (places, onto))
    turn, _ = orthogonal_procrustes(own, other)
    size = np.linalg.norm(own)
    scale = np.linalg.norm(other) / size if size > 0 else 1.0
    aligned: Floats = scale * own @ turn + onto.mean(axis=0)
    return aligned
