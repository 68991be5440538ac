"""How far a head's dot products can be read off distance: both of many pairs, after a normalisation."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.points.exports import Table
from dashboard.points.normalized import normalized_vectors
from dashboard.web.cache import cached
from store import Corpus, StoreError

#: Pairs looked at, and cells of the histogram in each direction.
PAIRS, CELLS = 60_000, 60

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Agreement:
    """Correlations of q.k and distance; -1 is best, NaN where there are too few pairs or all are equal.

    `pearson` is of the pairs shown and of Euclidean distance; `weighted`, of the nearest pairs, and `spearman`, of cosine
    distance query by query on sentences not used before, are those the ingest has stored.
    """

    pearson: float
    weighted: float
    spearman: float


@dataclass(frozen=True)
class Density:
    """Pairs of queries and keys of the same sentence by q.k and by Euclidean distance after a normalisation.

    Attributes
    ----------
    counts
        Pairs in each cell: (dot product, distance).
    dots, distances
        Borders of the cells: (CELLS + 1,) each.
    pairs, sentences
        How many pairs were looked at, and in how many sentences from the first on.
    agreement
        Of the normalised vectors.
    """

    counts: NDArray[np.int64]
    dots: Floats
    distances: Floats
    pairs: int
    sentences: int
    agreement: Agreement


@cached
def density(corpus: Corpus, *, layer: int, head: int, normalization: str) -> Density:
    """The density of one head. q.k is that of the raw vectors, which attention is made of."""
    known = corpus.normalizations.normalization.values.tolist()
    if normalization not in known:
        raise StoreError(f"There is no normalisation {normalization[:40]!r}. Choose one of {', '.join(known)}.")
    query_row, key_row, sentences = _pairs(corpus)
    stop = int(max(query_row.max(), key_row.max())) + 1
    query, key = (array.variable[layer, head, :stop].values.astype(np.float64) for array in (corpus.query, corpus.key))
    dot = np.einsum("pc,pc->p", query[query_row], key[key_row])
    distance = _distance(
        *normalized_vectors(corpus, normalization, query, key, layer=layer, head=head), query_row, key_row
    )
    counts, dots, distances = np.histogram2d(dot, distance, bins=CELLS)
    return Density(
        counts=counts.astype(np.int64),
        dots=dots,
        distances=distances,
        pairs=len(dot),
        sentences=sentences,
        agreement=_agreement(corpus, layer, head, normalization, dot, distance),
    )


def density_table(found: Density) -> Table:
    """A row for each cell: its ends in both directions, and its pairs."""
    dot, distance = np.indices(found.counts.shape).reshape(2, -1)
    dots, distances = found.dots.round(6), found.distances.round(6)
    return {
        "dot_from": dots[dot],
        "dot_to": dots[dot + 1],
        "distance_from": distances[distance],
        "distance_to": distances[distance + 1],
        "pairs": found.counts.ravel(),
    }


def _pairs(corpus: Corpus) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Rows of queries and of keys, all pairs of the first sentences that make up to `PAIRS`, and how many sentences."""
    sizes = corpus.sentences.row_size.values.astype(np.int64)
    sentences = max(1, int(np.searchsorted(np.cumsum(sizes**2), PAIRS, side="right")))
    starts = corpus.sentences.row_start.values
    each = [
        np.indices((size, size)).reshape(2, -1) + start
        for start, size in zip(starts[:sentences], sizes[:sentences], strict=True)
    ]
    query, key = np.concatenate(each, axis=1)[:, :PAIRS]  # one sentence alone may have more
    return query, key, sentences


def _distance(query: Floats, key: Floats, query_row: NDArray[np.int64], key_row: NDArray[np.int64]) -> Floats:
    distance: Floats = np.linalg.norm(query[query_row] - key[key_row], axis=-1)
    return distance


def _agreement(corpus: Corpus, layer: int, head: int, normalization: str, dot: Floats, distance: Floats) -> Agreement:
    stored = corpus.normalizations.sel(normalization=normalization).isel(layer=layer, head=head)
    varied = dot.std() > 0 and distance.std() > 0
    return Agreement(
        pearson=float(np.corrcoef(dot, distance)[0, 1]) if varied else float("nan"),
        weighted=float(stored.weighted_correlation),
        spearman=float(stored.spearman),
    )
