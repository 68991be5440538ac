"""Clusters of the map of heads: dots that lie together, named by what their heads attend to more than other heads do.

An outline surrounds the dots of a cluster. Its name stands beside its dots, over few other dots, never over another name.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.ui.charts import QUIET, TEXT
from dashboard.web.results import cached
from store import STATISTICS, Corpus
from store.kernels.roles import UNEXPLAINED
from store.kernels.rules import RULES
from store.repository.errors import NotIngested
from store.schema.model import varying_statistics

#: Numbers of clusters that are tried, and fewest dots of a cluster with a name.
TRIED, SMALLEST = range(3, 9), 3
#: A trait sets a cluster apart where its mean share is at least `TIMES` the mean share of the other heads, and larger by `MORE`.
TIMES, MORE = 1.5, 0.05
ABOUT = (
    "Outlined: dots that lie together (Ward's method on the map; of 3 to 8 clusters as many as have the largest mean silhouette). A "
    "name is the role whose mean share of the attention exceeds that of the other heads most, by half and by 5 points at least; “mixed” where none does. "
)
Floats = NDArray[np.float64]
#: Pixels: shorter side of the map in a narrow window, distance from a dot to the outline, width of a letter, height of a name.
SIDE, ROOM, LETTER, HIGH = 250, 13, 6.6, 18
#: Directions in which an outline goes round a dot.
_AROUND = np.linspace(0, 2 * np.pi, 16, endpoint=False)
#: Cost of a name over another cluster, in covered dots: there the name would seem to belong to that cluster.
AS_DOTS = 4
#: Least cost of a name beside its cluster at which the name moves into the cluster, where that has room.
CROWDED = AS_DOTS / 2
#: The name of a cluster that nothing sets apart.
MIXED = "mixed"
FILL = "rgba(134,142,150,0.1)"


@dataclass(frozen=True)
class HeadCluster:
    """Dots that lie together: numbers of their heads through all layers, and the trait that sets them apart, "" for none."""

    heads: NDArray[np.intp]
    name: str


class Traits(NamedTuple):
    """Traits of what heads attend to: their titles, and their shares of the attention of every head (trait, head)."""

    titles: list[str]
    shares: Floats


@cached
def head_clusters(corpus: Corpus) -> list[HeadCluster]:
    """Clusters of the map with enough dots, the largest first; none where there are too few heads."""
    places = corpus.divergence["place"].values.reshape(corpus.layers * corpus.heads, -1)[:, :2]
    return sorted(named_clusters(places, _traits(corpus)), key=lambda cluster: -len(cluster.heads))


def named_clusters(places: Floats, traits: Traits) -> Iterator[HeadCluster]:
    """Clusters of dots (head, component) with enough of them, each with the name of the trait that sets it apart."""
    cluster = clustered(places)
    for number in np.unique(cluster):
        inside = cluster == number
        if SMALLEST <= inside.sum() < len(places):
            yield HeadCluster(np.flatnonzero(inside), name_of(traits, inside))


def clustered(places: Floats) -> NDArray[np.int64]:
    """The cluster of each dot (head, component): as many clusters as give the largest mean silhouette."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import pdist, squareform

    counts = [count for count in TRIED if count < len(places)]
    if not counts:
        return np.zeros(len(places), np.int64)
    joined, distances = linkage(places, "ward"), squareform(pdist(places))
    each = [fcluster(joined, count, "maxclust") for count in counts]
    return max(each, key=lambda cluster: silhouette(distances, cluster))


def silhouette(distances: Floats, cluster: NDArray[np.int64]) -> float:
    """Mean silhouette (Rousseeuw 1987) of clusters (dot,) by their distances (dot, dot); 0 for a dot alone in its cluster."""
    _, own, sizes = np.unique(cluster, return_inverse=True, return_counts=True)
    sums = np.stack([distances[:, own == number].sum(axis=1) for number in range(len(sizes))], axis=1)
    dots = np.arange(len(own))
    within = sums[dots, own] / np.maximum(sizes[own] - 1, 1)
    others = sums / sizes
    others[dots, own] = np.inf
    nearest = others.min(axis=1)
    each = np.where(sizes[own] > 1, (nearest - within) / np.maximum(within, nearest), 0)
    return float(np.nan_to_num(each).mean())


def name_of(traits: Traits, inside: NDArray[np.bool_]) -> str:
    """The trait that sets some heads apart, with its mean share in per cent; "" where none does."""
    own, others = (traits.shares[:, part].mean(axis=1) for part in (inside, ~inside))
    gains = np.where((own >= TIMES * others) & (own - others >= MORE), own - others, 0)
    best = int(gains.argmax())
    return f"{traits.titles[best]} {100 * own[best]:.0f}%" if gains[best] > 0 else ""


def _traits(corpus: Corpus) -> Traits:
    """Roles, except the share that no role explains; for a store without roles, the statistics that are shares."""
    return _roles(corpus) or _statistics(corpus)


def _roles(corpus: Corpus) -> Traits | None:
    try:
        roles = [str(role) for role in corpus.roles.role.values]
        shares = np.asarray(corpus.roles.share.values, np.float64)
    except NotIngested:
        return None
    known = [place for place, role in enumerate(roles) if role != UNEXPLAINED and np.isfinite(shares[place]).all()]
    return (
        Traits([RULES[roles[place]].title for place in known], shares[known].reshape(len(known), -1)) if known else None
    )


def _statistics(corpus: Corpus) -> Traits:
    names = [name for name in varying_statistics("all") if STATISTICS[name].unit == "share"]
    values = [corpus.head_statistic.sel(source="all", statistic=name).values.ravel() for name in names]
    return Traits([STATISTICS[name].title for name in names], np.array(values, np.float64))


class Box(NamedTuple):
    """A rectangle on the map, in the units of the map."""

    left: float
    low: float
    right: float
    high: float

    def overlaps(self, other: "Box") -> float:
        """The area that both boxes cover."""
        across = min(self.right, other.right) - max(self.left, other.left)
        down = min(self.high, other.high) - max(self.low, other.low)
        return max(across, 0.0) * max(down, 0.0)

    def holds(self, dots: Floats) -> int:
        """Number of dots (dot, component) inside the box."""
        x, y = dots.T
        return int(((x > self.left) & (x < self.right) & (y > self.low) & (y < self.high)).sum())

    def beyond(self, frame: "Box") -> float:
        """How far the box sticks out of a frame."""
        sides = (frame.left - self.left, frame.low - self.low, self.right - frame.right, self.high - frame.high)
        return sum(max(side, 0.0) for side in sides)


@dataclass(frozen=True)
class PlacedName:
    """A name and the middle of where it stands."""

    text: str
    x: float
    y: float


def draw_clusters(figure: go.Figure, dots: Floats, clusters: Sequence[HeadCluster], taken: Sequence[Box] = ()) -> None:
    """Outlines of clusters below the dots (dot, component), and their names outside of the boxes in `taken`."""
    unit = units_per_pixel(dots)
    outlines = [outline(dots[cluster.heads], ROOM * unit) for cluster in clusters]
    for corners in outlines:
        figure.add_shape(
            type="path", path=_path(corners), layer="below", fillcolor=FILL, line={"color": QUIET, "width": 1}
        )
    texts = [cluster.name or MIXED for cluster in clusters]
    for name in placed_names(texts, outlines, dots, unit, taken):
        figure.add_annotation(x=name.x, y=name.y, text=name.text, showarrow=False, font={"size": TEXT})


def units_per_pixel(dots: Floats) -> float:
    """Width of a pixel in units of the map of these dots, in a narrow window."""
    return float(np.ptp(dots, axis=0).max()) / SIDE or 1.0


def outline(dots: Floats, room: float) -> Floats:
    """The corners around some dots (dot, component), at this distance from them: (corner, component)."""
    from scipy.spatial import ConvexHull

    circle = room * np.stack([np.cos(_AROUND), np.sin(_AROUND)], axis=-1)
    points: Floats = (dots[:, None] + circle).reshape(-1, 2)
    return points[ConvexHull(points).vertices]


def _path(corners: Floats) -> str:
    return "M" + "L".join(f"{x:.5f},{y:.5f}" for x, y in corners) + "Z"


def placed_names(
    texts: Sequence[str], outlines: Sequence[Floats], dots: Floats, unit: float, taken: Sequence[Box]
) -> Iterator[PlacedName]:
    """Each name beside its outline; an empty name has no place."""
    frame, around = frame_of(dots, unit), [_around(corners) for corners in outlines]
    boxes = list(taken)
    for number, text in enumerate(texts):
        if not text:
            continue
        size = LETTER * unit * len(text), HIGH * unit
        others = [*around[:number], *around[number + 1 :]]
        box = min(_beside(around[number], size), key=lambda box: _cost(box, boxes, others, dots, frame))
        if _cost(box, boxes, others, dots, frame)[-1] >= CROWDED:
            box = next(_free(around[number], size, boxes, dots), box)
        boxes.append(box)
        yield PlacedName(text, (box.left + box.right) / 2, (box.low + box.high) / 2)


def _cost(
    box: Box, names: Sequence[Box], others: Sequence[Box], dots: Floats, frame: Box
) -> tuple[float, float, float]:
    """Costs of a place, the most important first: covered names, distance beyond the frame, covered dots and other clusters."""
    of_others = sum(map(box.overlaps, others)) / box.overlaps(box)
    return sum(map(box.overlaps, names)), box.beyond(frame), box.holds(dots) + AS_DOTS * of_others


def frame_of(dots: Floats, unit: float) -> Box:
    """The smallest square that the map shows: every dot (dot, component) with its outline, and a name beside it."""
    left, low, right, high = _around(dots)
    across, down, half = (left + right) / 2, (low + high) / 2, max(right - left, high - low) / 2 + (ROOM + HIGH) * unit
    return Box(across - half, down - half, across + half, down + half)


def _around(points: Floats) -> Box:
    (left, low), (right, high) = points.min(axis=0), points.max(axis=0)
    return Box(float(left), float(low), float(right), float(high))


def _beside(around: Box, size: tuple[float, float]) -> Iterator[Box]:
    """Places of a name above and below the box around a cluster, then left and right of it."""
    wide, high = size
    for middle in np.linspace(around.left, around.right, 5)[[2, 1, 3, 0, 4]].tolist():
        for low in (around.high, around.low - high):
            yield Box(middle - wide / 2, low, middle + wide / 2, low + high)
    for level in np.linspace(around.low, around.high, 3).tolist():
        for left in (around.right, around.left - wide):
            yield Box(left, level - high / 2, left + wide, level + high / 2)


def _free(around: Box, size: tuple[float, float], names: Sequence[Box], dots: Floats) -> Iterator[Box]:
    """Places of a name within the box around a cluster that cover neither a dot nor a name, from the middle outwards."""
    wide, high = size
    middle = (around.left + around.right - wide) / 2, (around.low + around.high - high) / 2
    reach = max(around.right - around.left - wide, 0.0) / 2, max(around.high - around.low - high, 0.0) / 2
    steps = sorted(np.ndindex(9, 9), key=lambda step: (step[0] - 4) ** 2 + (step[1] - 4) ** 2)
    for across, up in steps:
        left, low = (middle[axis] + reach[axis] * (step - 4) / 4 for axis, step in enumerate((across, up)))
        box = Box(left, low, left + wide, low + high)
        if not box.holds(dots) and not any(map(box.overlaps, names)):
            yield box
