"""Means over any part of a corpus of numbers that are stored of each token, statistics of heads or mixing ratios, read piece by piece."""

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

Floats = NDArray[np.floating]


def part_means(
    stored: xr.DataArray, tokens: xr.Dataset, real: NDArray[np.int64], chosen: NDArray[np.bool_]
) -> xr.DataArray:
    """Mean over sentences of the mean over the chosen rows of each source: (source, number, ...) in float64.

    Sentences without such rows do not count; NaN where none has any. Exact but for the float16 of what is stored.

    Parameters
    ----------
    stored
        (number, ..., token), lazy: a name of the numbers, then what they are of.
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
    means = mean_over_sentences(_sums(stored, rows, shares), counts)
    dims = [str(name) for name in stored.dims[:-1]]
    coordinates = {"source": list(SOURCES)} | {name: stored[name] for name in dims}
    return xr.DataArray(means, dims=("source", *dims), coords=coordinates, name="part_means")


def _sums(stored: xr.DataArray, rows: NDArray[np.int64], shares: Floats) -> NDArray[np.float64]:
    """Weighted sums (source, number, ...). A piece is one number of one block."""
    numbers, *others, _ = stored.shape
    sums = np.zeros((shares.shape[1], numbers, *others))
    pieces = list(product(range(numbers), _blocks(rows)))

    def summed(piece: tuple[int, slice]) -> Floats:
        number, own = piece
        return weighted_sums(_values(stored.variable, number, rows[own]), shares[own])

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for (number, _), part in zip(pieces, pool.map(summed, pieces), strict=True):
            sums[:, number] += part
    return sums


def _blocks(rows: NDArray[np.int64]) -> Iterator[slice]:
    """Which of the rows are in one block, for every block that has some."""
    first = np.flatnonzero(np.diff(rows // BLOCK, prepend=-1)).tolist()
    return (slice(start, stop) for start, stop in pairwise([*first, len(rows)]))


def _values(array: xr.Variable, number: int, rows: NDArray[np.int64]) -> Floats:
    """(..., token) of these rows, all of one block."""
    start, stop = int(rows[0]), int(rows[-1]) + 1
    values: Floats = array[number, ..., start:stop].values
    return values if len(rows) == stop - start else values[..., rows - start]
