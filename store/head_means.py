"""Means of every statistic of every head over any part of a corpus, read piece by piece from what is stored of each token."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise, product

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from store.errors import StoreError
from store.kernels.parts import sentence_shares, weighted_sums
from store.kernels.statistics import mean_over_sentences, source_rows
from store.schema import BLOCK, SOURCES

DIMS = ("source", "statistic", "layer", "head")

Floats = NDArray[np.floating]


def head_means(
    token_statistic: xr.DataArray, tokens: xr.Dataset, real: NDArray[np.int64], chosen: NDArray[np.bool_]
) -> xr.DataArray:
    """Mean over sentences of the mean over the chosen rows of each source: (source, statistic, layer, head) in float64.

    Sentences without such rows do not count; NaN where none has any. Exact but for the float16 of what is stored.

    Parameters
    ----------
    token_statistic
        (statistic, layer, head, token), lazy.
    tokens
        token_flags and sentence_index (token).
    real
        Ascending rows of the token axis that are not padding.
    chosen
        Which of them are in the part, as bool. StoreError where it is not one for each.
    """
    if chosen.shape != real.shape or chosen.dtype != bool:
        raise StoreError(f"A part of the corpus is given by a bool for each token. Give {len(real)} of them.")
    rows = real[chosen]
    of_source = source_rows(tokens.token_flags.values[rows], np.ones(len(rows), bool))
    shares, counts = sentence_shares(of_source, tokens.sentence_index.values[rows])
    means = mean_over_sentences(_sums(token_statistic, rows, shares), counts)
    coordinates = {name: token_statistic[name] for name in DIMS[1:]}
    return xr.DataArray(means, dims=DIMS, coords={"source": list(SOURCES)} | coordinates, name="head_means")


def _sums(token_statistic: xr.DataArray, rows: NDArray[np.int64], shares: Floats) -> NDArray[np.float64]:
    """Weighted sums (source, statistic, layer, head). A piece is one statistic of one block: what a shard holds."""
    statistics, *heads, _ = token_statistic.shape
    sums = np.zeros((shares.shape[1], statistics, *heads))
    pieces = list(product(range(statistics), _blocks(rows)))

    def summed(piece: tuple[int, slice]) -> Floats:
        statistic, own = piece
        return weighted_sums(_values(token_statistic.variable, statistic, rows[own]), shares[own])

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for (statistic, _), part in zip(pieces, pool.map(summed, pieces), strict=True):
            sums[:, statistic] += part
    return sums


def _blocks(rows: NDArray[np.int64]) -> Iterator[slice]:
    """Which of the rows are in one block, for every block that has some."""
    first = np.flatnonzero(np.diff(rows // BLOCK, prepend=-1)).tolist()
    return (slice(start, stop) for start, stop in pairwise([*first, len(rows)]))


def _values(array: xr.Variable, statistic: int, rows: NDArray[np.int64]) -> Floats:
    """(layer, head, token) of these rows, all of one block."""
    start, stop = int(rows[0]), int(rows[-1]) + 1
    values: Floats = array[statistic, :, :, start:stop].values
    return values if len(rows) == stop - start else values[:, :, rows - start]
