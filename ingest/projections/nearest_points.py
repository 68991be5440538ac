"""The nearest of some vectors, by their products. Imports numba: import it where it is used."""

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from store.kernels.normalization import unit

Floats = NDArray[np.floating]
#: Points whose nearest are searched at a time: their cosines stay in the cache of a core.
SEARCHED = 512
#: Values that are passed over at once where none is among the largest.
PASSED = 32


def nearest_points(points: Tensor, fitted: Tensor, count: int) -> tuple[NDArray[np.int64], Floats]:
    """The fitted unit vectors (fitted, feature) nearest to each point (point, feature): index and squared distance.

    (point, neighbour) each, in any order; on a GPU, too.
    """
    near = [_largest(some @ fitted.T, min(count, len(fitted))) for some in points.split(SEARCHED)]
    cosine, index = (np.concatenate(each) for each in zip(*near, strict=True))
    return index, np.clip(2 - 2 * cosine, 0, None)


def nearest_of_each(points: Floats, count: int, metric: str) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The nearest of each of some points (point, feature), itself first: index and distance (point, neighbour) each.

    Distances are summed in float64 as umap-learn does, so that its fits are the same bit for bit.
    """
    rows = np.ascontiguousarray(unit(points) if metric == "cosine" else points - points.mean(axis=0), np.float32)
    half = (rows * rows).sum(axis=1) / 2
    index = np.concatenate(
        [
            largest_of_rows(some @ rows.T - half, count)[1]
            for some in np.split(rows, range(SEARCHED, len(rows), SEARCHED))
        ]
    )
    own = np.arange(len(rows))[:, None]
    index[:, -1:] = np.where((index == own).any(axis=1, keepdims=True), index[:, -1:], own)
    distance = np.concatenate([_distances(points, *each, metric) for each in zip(own, index, strict=True)])
    order = np.argsort(np.where(index == own, -1, distance), axis=1, kind="stable")
    return np.take_along_axis(index, order, axis=1), np.take_along_axis(distance, order, axis=1)


def _distances(points: Floats, own: NDArray[np.int64], others: NDArray[np.int64], metric: str) -> NDArray[np.float32]:
    """Distance (1, neighbour) of a point to some others."""
    one, many = points[own], points[others]
    if metric == "cosine":
        lengths = np.sqrt(_sums(one * one) * _sums(many * many))
        distance = 1 - _sums(one * many) / np.where(lengths > 0, lengths, 1)
    else:
        distance = np.sqrt(_sums((one - many) ** 2))
    return distance[None].astype(np.float32)


def _sums(values: Floats) -> NDArray[np.float64]:
    sums: NDArray[np.float64] = values.sum(axis=1, dtype=np.float64)
    return sums


def _largest(values: Tensor, count: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    if values.device.type == "cpu":
        return largest_of_rows(values.numpy(), count)
    largest, index = torch.topk(values, count, dim=-1, sorted=False)
    return largest.cpu().numpy(), index.cpu().numpy()


def largest_of_rows(values: NDArray[np.float32], count: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The largest values of each row (row, count) and their columns, in any order; of equal ones the first.

    One pass that mostly compares many values with the least of those kept takes a quarter of the time of `torch.topk`.
    """
    kept, columns = np.empty((len(values), count), np.float32), np.empty((len(values), count), np.int64)
    _scan(values, kept, columns)
    return kept, columns


@njit(cache=True, nogil=True)
def _scan(values: NDArray[np.float32], kept: NDArray[np.float32], columns: NDArray[np.int64]) -> None:
    for row in range(len(values)):
        largest_of_row(values[row], kept[row], columns[row])


@njit(cache=True, nogil=True)
def largest_of_row(own: NDArray[np.float32], large: NDArray[np.float32], place: NDArray[np.int64]) -> None:
    """Fill `large` with the largest of some values, and `place` with their columns; of equal ones the first."""
    count = len(large)
    for rank in range(count):
        large[rank], place[rank] = own[rank], rank
    last = large.argmin()
    for start in range(count, len(own), PASSED):
        stop = min(start + PASSED, len(own))
        if _greatest(own[start:stop]) > large[last]:
            for column in range(start, stop):
                if own[column] > large[last]:
                    large[last], place[last] = own[column], column
                    last = large.argmin()


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz", "reassoc"})
def _greatest(values: NDArray[np.float32]) -> np.float32:
    greatest = values[0]
    for value in values:
        greatest = max(greatest, value)
    return greatest
