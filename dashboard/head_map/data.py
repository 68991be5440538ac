"""How differently heads attend, a token: what the map of heads, their matrix and their neighbours are made of."""

import numpy as np
from numpy.typing import NDArray

from dashboard.web.cache import cached
from store import Corpus
from store.kernels.labels import clustered_order
from store.wording import many

Floats = NDArray[np.float64]


def mean_divergence(corpus: Corpus) -> Floats:
    """Jensen-Shannon divergence of every two heads, mean over the tokens of the sample: (layer, head, layer, head) in nats."""
    values: Floats = corpus.divergence["mean_divergence"].values
    return values


@cached
def clustered(corpus: Corpus) -> list[int]:
    """Heads, counted through all layers, in an order that puts like ones together."""
    return [int(head) for head in clustered_order(mean_divergence(corpus))]


def sample(corpus: Corpus) -> str:
    """Which tokens divergences are means over, in words."""
    attributes = corpus.divergence.attrs
    tokens, sentences = int(attributes["tokens"]), int(attributes["sentences"])
    return f"Over the first {tokens:,} of {many(corpus.n_tokens, 'token')}, {many(sentences, 'sentence')}."
