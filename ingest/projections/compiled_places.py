"""The places of tokens that were not fitted: among the nearest of the fitted vectors, by their products, or on principal components.

Components take vectors straight from the store: normalised, scaled to norm 1 and projected in one pass. A pass for each of
these steps takes ten times as long, as the vectors of a layer do not fit into the cache of a core.

The judge of a picture ranks many short rows: attention against distance, neighbours in head space against those on screen. Its
formulas are those of `store.kernels.projection`, of all rows of a head at once, in a fraction of the time of numpy's many short
sorts; tests compare both. Imports numba: import it where it is used.
"""

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ingest.run.compiled import njit
from store.kernels.projection import NEIGHBOURS, unit

if TYPE_CHECKING:
    from ingest.projections.normalizations import Constants

Floats = NDArray[np.floating]
Singles = NDArray[np.float32]
Numbers = NDArray[np.int64]
#: Points whose nearest are searched at a time: their dot products stay in the cache of a core.
SEARCHED = 512
#: Lanes that values are dealt out to: a core compares many lanes at once.
LANES = 64
Doubles = NDArray[np.float64]
#: Counts may be summed in any order: a core then counts many values at once.
COUNTING = {"reassoc", "nsz"}


def nearest_points(points: Singles, fitted: Tensor) -> tuple[NDArray[np.int32], Singles]:
    """The fitted unit vectors (fitted, feature) nearest in direction to each point (point, feature).

    Index and squared distance of unit vectors (point, neighbour) each, at most `NEIGHBOURS`, in any order; on a GPU, too.
    """
    norm = np.sqrt(np.einsum("pf,pf->p", points, points))
    inverse = np.divide(1, norm, out=np.zeros_like(norm), where=norm > 0)
    count = min(NEIGHBOURS, len(fitted))
    if fitted.device.type == "cpu":
        cosine, index = _largest_cosines(points, inverse, fitted.numpy(), count)
    else:
        unit_points = torch.from_numpy(points * inverse[:, None]).to(fitted.device)
        near = [torch.topk(some @ fitted.T, count, sorted=False) for some in unit_points.split(SEARCHED)]
        cosine, index = (torch.cat(each).cpu().numpy() for each in zip(*near, strict=True))
    return index.astype(np.int32, copy=False), np.clip(2 - 2 * cosine, 0, None)


def _largest_cosines(
    points: Singles, inverse: Singles, fitted: Singles, count: int
) -> tuple[Singles, NDArray[np.int32]]:
    cosine, index = np.empty((len(points), count), np.float32), np.empty((len(points), count), np.int32)
    bits = (len(fitted) - 1).bit_length()
    tops = np.empty((NEIGHBOURS, SEARCHED), np.int32)
    for start in range(0, len(points), SEARCHED):
        some = slice(start, start + SEARCHED)
        _scan_columns(fitted @ points[some].T, inverse[some], bits, tops, cosine[some], index[some])
    return cosine, index


@njit(cache=True, nogil=True, error_model="numpy")
def _scan_columns(
    dots: Singles, inverse: Singles, bits: int, tops: NDArray[np.int32], cosine: Singles, index: NDArray[np.int32]
) -> None:
    """The largest of dot products (fitted, point), column by column; `inverse` are the inverse norms of points.

    Cosines become whole numbers whose last bits are the row: many columns are compared at once, and without branches.
    """
    last = np.int32(len(dots) - 1)
    tops[:] = np.iinfo(np.int32).min
    scale, shift = np.float32(1 << (30 - bits)), np.int32(bits)
    first, second, third, fourth, fifth = tops[0], tops[1], tops[2], tops[3], tops[4]
    for row in range(len(dots)):
        own, number = dots[row], np.int32(last - row)
        for point in range(len(inverse)):
            value = np.int32((np.int32(own[point] * inverse[point] * scale) << shift) | number)
            first[point], value = max(first[point], value), min(first[point], value)
            second[point], value = max(second[point], value), min(second[point], value)
            third[point], value = max(third[point], value), min(third[point], value)
            fourth[point], value = max(fourth[point], value), min(fourth[point], value)
            fifth[point] = max(fifth[point], value)
    for point in range(len(index)):
        for near in range(index.shape[1]):
            row = last - (tops[near, point] & np.int32((1 << bits) - 1))
            index[point, near] = row
            cosine[point, near] = dots[row, point] * inverse[point]


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


def largest_of_rows(values: NDArray[np.float32], count: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The largest values of each row (row, count) and their columns, in descending order; of equal values the first.

    Takes a fifth of the time of `torch.topk`.
    """
    kept, columns = np.empty((len(values), count), np.float32), np.empty((len(values), count), np.int64)
    _scan(values, kept, columns)
    return kept, columns


@njit(cache=True, nogil=True)
def _scan(values: Singles, kept: Singles, columns: Numbers) -> None:
    tops = np.empty(2 * LANES, np.float32)
    for row in range(len(values)):
        largest_of_row(values[row], kept[row], columns[row], tops)


@njit(cache=True, nogil=True)
def largest_of_row(own: Singles, large: Singles, place: Numbers, tops: Singles) -> None:
    """Fill `large` with the largest of some values, in descending order, and `place` with their columns.

    Columns are dealt out to lanes. The largest values are in the lanes with the largest maxima. `tops` is room for
    twice as many values as there are lanes.
    """
    large[:], place[:] = -np.inf, len(own)
    dealt, least = len(own) // LANES * LANES, np.float32(-np.inf)
    if dealt and len(large) < LANES:
        _greatest_of_lanes(own[:dealt], tops[:LANES])
        least = np.float32(np.inf)
        for _ in range(len(large)):
            least = _greatest_below(tops[:LANES], least, tops[LANES:])
        for lane in range(LANES):
            if tops[lane] >= least:
                for column in range(lane, dealt, LANES):
                    if own[column] >= least:
                        _insert(own[column], column, large, place)
    else:
        dealt = 0
    for column in range(dealt, len(own)):
        if own[column] >= least:
            _insert(own[column], column, large, place)


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _greatest_of_lanes(own: Singles, tops: Singles) -> None:
    for lane in range(LANES):
        tops[lane] = own[lane]
    for start in range(LANES, len(own), LANES):
        some = own[start : start + LANES]
        for lane in range(LANES):
            tops[lane] = some[lane] if some[lane] > tops[lane] else tops[lane]


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _greatest_below(tops: Singles, limit: np.float32, room: Singles) -> np.float32:
    """The greatest below a limit, by halves: a core compares many lanes at once."""
    none = np.float32(-np.inf)
    for lane in range(LANES // 2):
        one = tops[lane] if tops[lane] < limit else none
        other = tops[lane + LANES // 2] if tops[lane + LANES // 2] < limit else none
        room[lane] = one if one > other else other
    for lane in range(LANES // 4):
        room[lane] = room[lane] if room[lane] > room[lane + LANES // 4] else room[lane + LANES // 4]
    for lane in range(LANES // 8):
        room[lane] = room[lane] if room[lane] > room[lane + LANES // 8] else room[lane + LANES // 8]
    greatest = none
    for lane in range(LANES // 8):
        greatest = room[lane] if room[lane] > greatest else greatest
    return greatest


@njit(cache=True, nogil=True)
def _insert(value: np.float32, column: int, large: Singles, place: Numbers) -> None:
    """Keep a value if it is among the largest; of equal values the first column."""
    rank = len(large) - 1
    if value < large[rank] or (value == large[rank] and column > place[rank]):
        return
    while rank > 0 and (large[rank - 1] < value or (large[rank - 1] == value and place[rank - 1] > column)):
        large[rank], place[rank] = large[rank - 1], place[rank - 1]
        rank -= 1
    large[rank], place[rank] = value, column


def places_among(square: Singles, index: NDArray[np.int32], fitted: Singles) -> Singles:
    """`store.kernels.projection.place_by_neighbours` of points (point, neighbour) among fitted places (fitted, component)."""
    places = np.empty((len(square), fitted.shape[1]), np.float32)
    _place_among(square, index, fitted, places)
    return places


@njit(cache=True, nogil=True)
def _place_among(square: Singles, index: NDArray[np.int32], fitted: Singles, places: Singles) -> None:
    weights = np.empty(square.shape[1], np.float32)
    for point in range(len(square)):
        for near in range(len(weights)):
            weights[near] = np.float32(1) / (square[point, near] + np.float32(1e-6))
        total = weights.sum()
        for component in range(fitted.shape[1]):
            mean = np.float32(0)
            for near in range(len(weights)):
                mean += weights[near] * fitted[index[point, near], component]
            places[point, component] = mean / total


def pca_places(query: Singles, key: Singles, constants: "Constants", mean: Floats, axes: Floats) -> Singles:
    """Places (head, role, token, component) of queries and keys (head, token, channel) by a normalisation and a fit."""
    heads, tokens, channels = query.shape
    radius = constants.radius if constants.radius is not None else np.full(heads, np.nan)
    scale, shift = constants.scale.astype(np.float32), constants.shift.astype(np.float32)
    single_axes = axes.astype(np.float32)
    centre = np.matmul(single_axes, mean.astype(np.float32)[..., None])[..., 0]
    places = np.empty((heads, 2, tokens, axes.shape[1]), np.float32)
    still = np.zeros(channels, np.float32)
    for head, (of_queries, of_keys) in enumerate(places):
        fit = single_axes[head], centre[head]
        # In exact mode a query lies in the plane, and a key has the height of a sphere with the radius.
        _place_on_axes(query[head], scale[head], still, np.nan, *fit, of_queries)
        _place_on_axes(key[head], 1 / scale[head], shift[head], radius[head], *fit, of_keys)
    return places


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _place_on_axes(
    vectors: Singles, factor: np.float32, shift: Singles, radius: float, axes: Singles, centre: Singles, places: Singles
) -> None:
    """Places (token, component) of vectors (token, channel) times a factor plus a shift; with a radius, in exact mode."""
    channels, features = vectors.shape[1], axes.shape[1]
    moved = np.zeros(features, np.float32)
    for token in range(len(vectors)):
        square = np.float32(0)
        for channel in range(channels):
            moved[channel] = vectors[token, channel] * factor + shift[channel]
        if radius > 0:
            moved[channels] = _height(moved[:channels], radius)
        for feature in range(features):
            square += moved[feature] * moved[feature]
        norm = np.sqrt(square) if square > 0 else np.float32(1)
        for component in range(len(axes)):
            product = np.float32(0)
            for feature in range(features):
                product += moved[feature] * axes[component, feature]
            places[token, component] = product / norm - centre[component]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _height(vector: Singles, radius: float) -> np.float32:
    """Height that gives a vector the norm `radius`, in float64: float32 would lose the difference of two squares of long keys."""
    square = 0.0
    for value in vector:
        square += np.float64(value) * np.float64(value)
    return np.float32(np.sqrt(max(0.0, radius * radius - square)))


@njit(cache=True, nogil=True, fastmath=COUNTING)
def _counts(values: Singles, value: np.float32) -> tuple[np.float32, np.float32]:
    """Number of values that are less, and number that are equal."""
    none, one = np.float32(0), np.float32(1)
    less = equal = none
    for place in range(len(values)):
        less += one if values[place] < value else none
        equal += one if values[place] == value else none
    return less, equal


@njit(cache=True, nogil=True)
def _centred_ranks(values: Singles, ranks: Doubles) -> None:
    """Ranks minus their mean, divided by their length; 0 where all are equal. Equal values share their mean rank.

    Each value is compared with each: for few values this is faster than a sort.
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
    """Place of a value in ascending order; of equal values the first comes first."""
    less, _ = _counts(values, values[place])
    _, before = _counts(values[:place], values[place])
    return int(less + before)


@njit(cache=True, nogil=True)
def ranked_rows(values: Singles, starts: Numbers, most: int) -> tuple[Doubles, Numbers]:
    """Rows of values, one after the other from `starts` on, ranked.

    Returns
    -------
    Centred ranks (value,), and the columns of the `most` largest values of each row, -1 where fewer are above 0: (row, most).
    """
    centred, largest = np.empty(len(values)), np.full((len(starts) - 1, most), -1)
    for row in range(len(starts) - 1):
        own = slice(starts[row], starts[row + 1])
        _centred_ranks(values[own], centred[own])
        descending = -values[own]
        for column in range(len(descending) if most else 0):
            rank = _order(descending, column)
            if rank < most and values[starts[row] + column] > 0:
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
        most = (largest[row] >= 0).sum()
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
    """Excess over `count` of the ranks of the `count` nearest points on screen, summed over points: 0 is best.

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
