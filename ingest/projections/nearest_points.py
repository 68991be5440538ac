"""The nearest of some unit vectors by cosine. Imports numba: import it where it is used."""

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.floating]
#: Points whose nearest are searched at a time: their cosines stay in the cache of a core.
SEARCHED = 512


def nearest_points(points: Tensor, fitted: Tensor, count: int) -> tuple[NDArray[np.int64], Floats]:
    """The fitted unit vectors (fitted, feature) nearest to each point (point, feature): index and squared distance.

    (point, neighbour) each, in any order; on a GPU, too.
    """
    near = [_largest(some @ fitted.T, min(count, len(fitted))) for some in points.split(SEARCHED)]
    cosine, index = (np.concatenate(each) for each in zip(*near, strict=True))
    return index, np.clip(2 - 2 * cosine, 0, None)


def _largest(values: Tensor, count: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    if values.device.type == "cpu":
        return largest_of_rows(values.numpy(), count)
    largest, index = torch.topk(values, count, dim=-1, sorted=False)
    return largest.cpu().numpy(), index.cpu().numpy()


def largest_of_rows(values: NDArray[np.float32], count: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The largest values of each row (row, count) and their columns, in any order; of equal ones the first.

    One pass that mostly compares a value with the least of those kept takes half of the time of `torch.topk`.
    """
    kept, columns = np.empty((len(values), count), np.float32), np.empty((len(values), count), np.int64)
    _scan(values, kept, columns)
    return kept, columns


@njit(cache=True, nogil=True)
def _scan(values: NDArray[np.float32], kept: NDArray[np.float32], columns: NDArray[np.int64]) -> None:
    count = kept.shape[1]
    for row in range(len(values)):
        own, large, place = values[row], kept[row], columns[row]
        for rank in range(count):
            large[rank], place[rank] = own[rank], rank
        last = large.argmin()
        for column in range(count, len(own)):
            if own[column] > large[last]:
                large[last], place[last] = own[column], column
                last = large.argmin()
