"""Clusters of the map of heads: dots that lie together, named by what their heads attend to more than the others do."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dashboard.web.results import cached
from store import STATISTICS, Corpus
from store.kernels.roles import UNEXPLAINED
from store.kernels.rules import RULES
from store.repository.errors import NotIngested
from store.schema.model import varying_statistics

#: How many clusters are tried, and how many dots one with a name has at least.
TRIED, SMALLEST = range(3, 9), 3
#: A trait sets a cluster apart where its mean share is so many times that of the other heads, and so much larger.
TIMES, MORE = 1.5, 0.05
ABOUT = (
    "Outlined: dots that lie together (Ward's method on the map; of 3 to 8 clusters as many as have the largest mean silhouette). A "
    "name is the role whose mean share of the attention exceeds that of the other heads most, by half and by 5 points at least; “mixed” where none does. "
)
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class HeadCluster:
    """Dots that lie together: the numbers of their heads through all layers, and what they attend to; "" for nothing of their own."""

    heads: NDArray[np.intp]
    name: str


class Traits(NamedTuple):
    """What heads attend to: the titles, and the share of the attention of every head (trait, head)."""

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
    """The cluster of each dot (head, component): as many clusters as are apart most clearly."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import pdist, squareform

    counts = [count for count in TRIED if count < len(places)]
    if not counts:
        return np.zeros(len(places), np.int64)
    joined, distances = linkage(places, "ward"), squareform(pdist(places))
    each = [fcluster(joined, count, "maxclust") for count in counts]
    return max(each, key=lambda cluster: silhouette(distances, cluster))


def silhouette(distances: Floats, cluster: NDArray[np.int64]) -> float:
    """Mean silhouette (Rousseeuw 1987) of clusters (dot,) by their distances (dot, dot); 0 of a dot alone."""
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
    """Roles, but for what no role explains; of a store that knows none, shares among the statistics."""
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
