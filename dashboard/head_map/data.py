"""The map of heads and their divergences as numbers: the order of the matrix, and the tables of both."""

import numpy as np

from dashboard.statistics.data import head_columns
from dashboard.statistics.divergence import mean_divergence
from dashboard.ui.files import Table
from dashboard.web.cache import cached
from store import Corpus
from store.kernels.labels import clustered_order


@cached
def clustered(corpus: Corpus) -> list[int]:
    """Heads, numbered through all layers, in an order that puts similar ones together."""
    return [int(head) for head in clustered_order(mean_divergence(corpus))]


def divergence_table(corpus: Corpus) -> Table:
    """Each two heads with their mean Jensen-Shannon divergence, in nats per token."""
    count = corpus.layers * corpus.heads
    heads = head_columns(corpus.layers, corpus.heads)
    first, second = np.triu_indices(count, 1)
    return {
        **{name: column[first] for name, column in heads.items()},
        **{f"other_{name}": column[second] for name, column in heads.items()},
        "divergence": mean_divergence(corpus).reshape(count, count)[first, second],
    }


def map_table(corpus: Corpus) -> Table:
    """Where every head is on the map."""
    places = corpus.divergence["place"].values.reshape(corpus.layers * corpus.heads, -1)
    return {
        **head_columns(corpus.layers, corpus.heads),
        "label": corpus.head_labels.values.astype(object).ravel(),
        **dict(zip("xyz", places.T, strict=False)),
    }
