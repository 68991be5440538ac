"""Clusters of the queries and of the keys of a head in a 2D picture: connected regions of density, named by their tokens."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import label

from dashboard.points.cluster_names import name_of
from dashboard.points.density import CELLS, Density, density_of
from dashboard.points.drawn import Drawn
from dashboard.web.results import cached
from store import Corpus

#: Shares of the points that the levels enclose, from low to high.
SHARES = tuple(share / 100 for share in range(95, 0, -5))
#: Share of the points that a cluster has at least; one with more than most of them is the cloud itself.
LEAST, MOST = 0.015, 0.5
Region = NDArray[np.bool_]


@dataclass(frozen=True)
class Cluster:
    """A named cluster: the role and number of its points, of how many, and the place 0..1 where they are densest."""

    role: int
    name: str
    points: int
    of: int
    place: tuple[float, float]


@cached
def clusters_of_head(corpus: Corpus, view: str, tokens: int, layer: int, head: int) -> list[Cluster]:
    """The named clusters of the drawn queries and keys of a head, the largest first."""
    drawn = Drawn(corpus, tokens, layer, head)
    places = drawn.places(view)[0]
    found = [cluster for role in range(places.shape[1]) for cluster in _of_role(drawn, places[:, role], role)]
    return sorted(found, key=lambda cluster: -cluster.points)


def _of_role(drawn: Drawn, places: NDArray[np.float32], role: int) -> list[Cluster]:
    density = density_of(places)
    clusters = []
    for region in regions(density):
        member = region.ravel()[density.cell]
        name = name_of(drawn, member) if member.mean() <= MOST else ""
        if name:
            clusters.append(Cluster(role, name, int(member.sum()), len(member), _peak(density, region)))
    return clusters


def regions(density: Density) -> list[Region]:
    """Regions that no higher level divides into two or more with `LEAST` of the points each: (row, column) each."""
    found = [np.ones(density.grid.shape, bool)]
    for share in SHARES:
        level = density.level(share)
        found = [part for region in found for part in _parts(density, region, level)]
    return found


def _parts(density: Density, region: Region, level: float) -> list[Region]:
    """The connected parts of a region above a level that hold enough points; the region itself where it is not divided."""
    numbers, count = label(region & (density.grid > level))
    sizes = np.bincount(numbers.ravel()[density.cell], minlength=count + 1)
    large = [number for number in range(1, count + 1) if sizes[number] >= LEAST * len(density.cell)]
    return [numbers == number for number in large] if len(large) > 1 else [region]


def _peak(density: Density, region: Region) -> tuple[float, float]:
    row, column = divmod(int(np.argmax(np.where(region, density.grid, -1.0))), CELLS)
    return round((column + 0.5) / CELLS, 5), round((row + 0.5) / CELLS, 5)
