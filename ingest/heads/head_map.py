"""A map on which heads that attend alike are near each other (Clark et al. 2019, figure 6)."""

import numpy as np
from numpy.typing import NDArray

from ingest.seeds import seed32


def head_map(divergence: NDArray[np.float64], *, seed: int) -> NDArray[np.float64]:
    """Places (head, 2) whose distances are as near to (head, other_head) as they can be.

    Metric multidimensional scaling with Clark et al.'s settings (General_Analysis), and a seed, which they had not.
    """
    from sklearn.manifold import MDS
    from threadpoolctl import threadpool_limits

    if not divergence.any():  # one head, or heads that all attend alike
        return np.zeros((len(divergence), 2))
    # Several cores add up a product of matrices in another order from time to time.
    with threadpool_limits(1):
        fit = MDS(2, metric="precomputed", n_init=5, init="random", eps=1e-10, max_iter=1000, random_state=seed32(seed))
        places: NDArray[np.float64] = fit.fit_transform(divergence)
    return places
