"""Ranks of many short rows: attention against distance, neighbours in head space against those on screen.

The formulas of `store.kernels.fidelity` for all rows of a head at once, in a fraction of the time of numpy's many short
sorts; tests compare both. Imports numba: import it where it is used.
"""

import numpy as np
from numpy.typing import NDArray

from ingest.projections.compiled_places import LANES, largest_of_row
from ingest.run.compiled import njit

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]
Singles = NDArray[np.float32]
Numbers = NDArray[np.int64]

#: Counts are sums in any order: so they are taken of many values at once.
COUNTING = {"reassoc", "nsz"}


@njit(cache=True, nogil=True, fastmath=COUNTING)
def _counts(values: Singles, value: np.float32) -> tuple[np.float32, np.float32]:
    """How many values are less, and how many are equal."""
    none, one = np.float32(0), np.float32(1)
    less = equal = none
    for place in range(len(values)):
        less += one if values[place] < value else none
        equal += one if values[place] == value else none
    return less, equal


@njit(cache=True, nogil=True)
def _centred_ranks(values: Singles, ranks: Doubles) -> None:
    """Ranks minus their mean, divided by their length, else 0; equal values have their mean rank.

    By comparing each value with each: of so few, faster than a sort.
    """
    square, middle = 0.0, (len(values) - 1) / 2
    for place in range(len(values)):
        less, equal = _counts(values, values[place])
        ranks[place] = less + (equal - 1) / 2 - middle
        square += ranks[place] * ranks[place]
    if square > 0:
        ranks /= np.sqrt(square)


@njit(cache=True, nogil=True)
def _order(values: Singles, place: int) -> int:
    """At which place of the ascending order a value is; of equal ones the first comes first."""
    less, _ = _counts(values, values[place])
    _, before = _counts(values[:place], values[place])
    return int(less + before)


@njit(cache=True, nogil=True)
def ranked_rows(values: Singles, starts: Numbers, most: int) -> tuple[Doubles, Numbers]:
    """Rows of values, one after the other from `starts` on, ranked.

    Returns
    -------
    Centred ranks (value,), and the columns of the `most` largest values of each row, -1 where it is shorter: (row, most).
    """
    centred, largest = np.empty(len(values)), np.full((len(starts) - 1, most), -1)
    for row in range(len(starts) - 1):
        own = slice(starts[row], starts[row + 1])
        _centred_ranks(values[own], centred[own])
        descending = -values[own]
        for column in range(len(descending) if most else 0):
            rank = _order(descending, column)
            if rank < most:
                largest[row, rank] = column
    return centred, largest


@njit(cache=True, nogil=True)
def agreement(
    query: Floats, key: Floats, first: Numbers, starts: Numbers, centred: Doubles, largest: Numbers
) -> tuple[Doubles, Doubles]:
    """Spearman correlation and recall (query,) of places (token, component), each query with the keys of its row.

    `first` is the number of the first key of each query; rows are those of `ranked_rows`.
    """
    spearman, recall = np.empty(len(query)), np.zeros(len(query))
    near, ranks = np.empty(len(key), np.float32), np.empty(len(key))
    for row in range(len(query)):
        count = starts[row + 1] - starts[row]
        _squares(query[row], key[first[row] : first[row] + count], near[:count])
        _centred_ranks(near[:count], ranks[:count])
        spearman[row] = (ranks[:count] * centred[starts[row] : starts[row + 1]]).sum()
        most = min(largest.shape[1], count)
        for wanted in largest[row, :most]:
            recall[row] += (_order(near[:count], wanted) < most) / most
    return spearman, recall


@njit(cache=True, nogil=True)
def _squares(place: Floats, others: Floats, squares: Singles) -> None:
    """Squared distance of a place (component,) to others (other, component)."""
    for other in range(len(others)):
        square = 0.0
        for component in range(len(place)):
            difference = place[component] - others[other, component]
            square += difference * difference
        squares[other] = square


@njit(cache=True, nogil=True)
def excess_ranks(similarity: Singles, places: Floats, count: int) -> float:
    """By how much the ranks of the `count` nearest on screen exceed `count`, summed over points: 0 is best.

    A rank is among the neighbours by similarity (point, point), in which a point itself comes first.
    """
    square, total = np.empty(len(places), np.float32), 0.0
    least, near, tops = np.empty(count, np.float32), np.empty(count, np.int64), np.empty(2 * LANES, np.float32)
    for point in range(len(places)):
        _squares(places[point], places, square)
        square[point] = np.inf
        largest_of_row(-square, least, near, tops)
        for other in near:
            less, equal = _counts(similarity[point], similarity[point, other])
            total += max(0.0, float(len(places) - less - equal - count))
    return total
