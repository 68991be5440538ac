"""What every head is worth to the model, where an ingest was asked for it."""

import numpy as np
from numpy.typing import NDArray

from dashboard.web.cache import cached
from store import Corpus, StoreError


@cached
def importance_of(corpus: Corpus) -> NDArray[np.float64] | None:
    """Change of the model's loss without the head: (layer, head), in nats; None where it has not been found."""
    try:
        change: NDArray[np.float64] = corpus.importance["change"].values
    except StoreError:
        return None
    return change
