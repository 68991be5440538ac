"""Choose a head's scale and translation by the weighted correlation of dot product and distance (AttentionViz, section 4.2)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from store.kernels.normalization import FEWEST_PAIRS, NEAREST_SHARE, weighted_correlation

#: Pairs a weighted correlation is taken over: the nearest 0.5% of them are three times what it needs.
PAIRS = int(3 * FEWEST_PAIRS / NEAREST_SHARE)
#: Candidates for c are powers of 2^(1/4), at first from 1/8 to 8; the paper's seven are 0.2, 0.4, 0.8, 1, 1.25, 2.5, 5.
STEP, GRID = 2**0.25, 12
#: The grid is widened while its best candidate lies on a border, at most to 2^8 and 2^-8.
WIDENED, WIDEST = 8, 32

Floats = NDArray[np.floating]


@dataclass(frozen=True)
class Pairs:
    """Queries and keys of the same sentence, as places in the sample: (pair,) each."""

    query: NDArray[np.int64]
    key: NDArray[np.int64]

    @classmethod
    def within(cls, sizes: NDArray[np.int64]) -> "Pairs":
        """All pairs of the first sentences that have `PAIRS` pairs together; of all sentences where they have fewer."""
        count = int(np.searchsorted(np.cumsum(sizes**2), PAIRS)) + 1
        ends = np.cumsum(sizes[:count])
        each = [
            np.indices((size, size)).reshape(2, -1) + end - size for size, end in zip(sizes[:count], ends, strict=True)
        ]
        return cls(*np.concatenate(each, axis=1))

    @property
    def tokens(self) -> int:
        """How many of the sample's tokens they take."""
        return int(self.query.max()) + 1


@dataclass(frozen=True)
class Scaling:
    """The best candidate of one head: query c, key / c + shift."""

    scale: float
    shift: Floats
    correlation: float


def correlations(query: Floats, key: Floats, shift: Floats, pairs: Pairs) -> Floats:
    """Weighted correlation (candidate,) of q.k and the distance of q c and (k + shift) / c on the first grid, NaN with too few pairs."""
    dot = dot_products(query, key, pairs)
    terms = _Terms.of(query, key + shift, pairs)
    return np.array([weighted_correlation(dot, terms.distance(STEP**step))[0] for step in range(-GRID, GRID + 1)])


def dot_products(query: Floats, key: Floats, pairs: Pairs) -> Floats:
    """q.k (pair,) of queries and keys (token, channel) of a head."""
    products: Floats = np.einsum("pc,pc->p", query[pairs.query], key[pairs.key])
    return products


def pair_distances(query: Floats, key: Floats, shift: Floats, dot: Floats, pairs: Pairs) -> Floats:
    """Distance (pair,) of normalised queries and keys (token, channel) of a head.

    From q.k (pair,) before the normalisation, to which the shift of keys has added the product with the query: a pair costs no product.
    """
    squares = [(vectors * vectors).sum(axis=-1) for vectors in (query, key)]
    own = squares[0] - 2 * query[:, : len(shift)] @ shift
    return np.sqrt(np.clip(own[pairs.query] + squares[1][pairs.key] - 2 * dot, 0, None))


def choose_scaling(query: Floats, key: Floats, pairs: Pairs) -> Scaling:
    """Choose the translation (none or the centroids') and the c whose correlation is nearest to -1.

    `query`, `key` are (token, channel) of one head. With too few pairs c is 1 and the translation the paper's.
    """
    dot = dot_products(query, key, pairs)
    centres = {"none": (np.zeros_like(query[0]), np.zeros_like(key[0])), "centroid": (query.mean(0), key.mean(0))}
    best = Scaling(1.0, centres["centroid"][0] - centres["centroid"][1], np.nan)
    for query_centre, key_centre in centres.values():
        terms = _Terms.of(query - query_centre, key - key_centre, pairs)
        scale, correlation = _search(dot, terms)
        if not np.isnan(correlation) and not correlation >= best.correlation:
            best = Scaling(scale, query_centre * scale - key_centre / scale, correlation)
    return best


@dataclass(frozen=True)
class _Terms:
    """What the squared distance is made of: c^2 |q|^2 + |k|^2 / c^2 - 2 q.k, so that a candidate costs no product."""

    query_square: Floats
    key_square: Floats
    product: Floats

    @classmethod
    def of(cls, query: Floats, key: Floats, pairs: Pairs) -> "_Terms":
        squares = [(vectors * vectors).sum(axis=-1) for vectors in (query, key)]
        return cls(squares[0][pairs.query], squares[1][pairs.key], dot_products(query, key, pairs))

    def distance(self, scale: float) -> Floats:
        square = scale**2 * self.query_square + self.key_square / scale**2 - 2 * self.product
        return np.sqrt(np.clip(square, 0, None))


def _search(dot: Floats, terms: _Terms) -> tuple[float, float]:
    """The candidate with the lowest correlation, and that; NaN where there are too few pairs."""
    correlation_of: dict[int, float] = {}
    steps = range(-GRID, GRID + 1)
    while True:
        correlation_of |= {
            step: float(weighted_correlation(dot, terms.distance(STEP**step))[0])
            for step in steps
            if step not in correlation_of
        }
        if np.isnan(list(correlation_of.values())).any():
            return 1.0, np.nan
        best = min(correlation_of, key=lambda step: correlation_of[step])
        if best not in (min(correlation_of), max(correlation_of)) or abs(best) >= WIDEST:
            return STEP**best, correlation_of[best]
        steps = range(best - WIDENED, best + WIDENED + 1)
