"""In which order reviews are trained on: those of like length together, so that little is padded, else by chance."""

import numpy as np
from numpy.typing import NDArray

#: Batches within which reviews are sorted by length: enough for batches of like length, few enough to stay a mixture.
POOL = 50


def training_order(lengths: NDArray[np.integer], *, batch: int, seed: int, epoch: int) -> NDArray[np.intp]:
    """Every row once, `batch` by `batch`. The last batch is the one that may be smaller.

    Parameters
    ----------
    lengths
        (review,), wordpieces.
    """
    generator = np.random.default_rng([seed, epoch])
    rows = generator.permutation(len(lengths))
    pools = [rows[start : start + POOL * batch] for start in range(0, len(rows), POOL * batch)]
    ordered = np.concatenate([pool[np.argsort(-lengths[pool], kind="stable")] for pool in pools])
    whole = len(rows) // batch * batch
    batches = ordered[:whole].reshape(-1, batch)
    return np.concatenate([generator.permutation(batches).reshape(-1), ordered[whole:]])
