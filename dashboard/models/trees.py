"""Metrics of HeadVis: heads of other models, which page Models shows beside the store, and metrics that are counted for all models.

The store lacks two of the metrics: both are counted once a reader chooses one, then shared by all readers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dashboard.ui.work import watched
from dashboard.web.results import DiskCache, SharedResults
from dashboard.web.served_store import ServedStore
from store import Snapshot
from store.head_numbers import HeadNumbers
from store.headvis import layer_attention, read_headvis
from store.kernels.headvis import METRICS

#: Statistics of the store -> the metrics of HeadVis that page Models shows beside them.
METRIC_OF = {
    "to_previous": "prev_token_score",
    "to_self": "self_attention_score",
    "entropy": "pattern_entropy",
    "distance": "qk_distance",
}
#: Most sentences counted for a model: the first, a uniform sample. 72 heads take 2 s of a processor for a thousand sentences.
MOST_SENTENCES = 2_000
#: Bytes of the files that all processes of a server share.
BUDGET = 8 << 20


@dataclass(frozen=True, eq=False)
class Tree:
    """The heads of a model that is not in the store; its title has a space, so no key of a model equals it."""

    title: str
    numbers: HeadNumbers
    #: Metrics of the tree that the store lacks, by their names in a link: (layer, head) each.
    counted: Mapping[str, NDArray[np.float64]]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Heads with a number (layer, head): a tree may be of some heads of its model."""
        every = [*self.numbers.statistics.values(), *self.counted.values()]
        return np.any([np.isfinite(values) for values in every], axis=0)


@dataclass(frozen=True, eq=False)
class Trees:
    """The trees that a server shows."""

    trees: tuple[Tree, ...] = ()

    @classmethod
    def of(cls, _served_store: ServedStore) -> Self:
        """No trees, unless the server is given some."""
        return cls()


def read_trees(places: Sequence[str]) -> tuple[Tree, ...]:
    """The models of trees or files of HeadVis. StoreError as `read_headvis` raises it."""
    found: dict[str, Tree] = {}
    for place in places:
        metrics = read_headvis(place)
        named = " on ".join(str(metrics.attrs[name]) for name in ("model", "data") if name in metrics.attrs)
        title = f"{named} (HeadVis)"
        if title in found:
            title = f"{named} (HeadVis, {len(found) + 1})"
        statistics = {name: np.asarray(metrics[metric].values) for name, metric in METRIC_OF.items()}
        of_others = {name: np.asarray(metrics[metric.name].values) for name, metric in COUNTED.items()}
        counted = {name: values for name, values in of_others.items() if np.isfinite(values).any()}
        found[title] = Tree(title, HeadNumbers(statistics, None, None), counted)
    return tuple(found.values())


class Metric(NamedTuple):
    """A metric: its name in a tree of HeadVis, its title and its unit."""

    name: str
    title: str
    unit: str


#: Metrics that are counted on demand, by their names in a link; see `SCORES` of `dashboard/web/state.py`.
COUNTED: Mapping[str, Metric] = {
    "distance_variance": Metric("qk_distance_variance", "variance of attention distance", ""),
    "induction": Metric("induction_score", "induction (HeadVis)", "share"),
}
ABOUT = (
    f" Variance of attention distance and induction are counted of the first {MOST_SENTENCES:,} sentences when one is chosen, as "
    "HeadVis defines them: means over tokens. Variance: of |key − query| by weight. Induction: weight on the tokens after earlier "
    "occurrences of the query's wordpiece, over the queries that have one; weights below 1% do not count."
)
_ROWS = [[*METRICS].index(metric.name) for metric in COUNTED.values()]


class CountedMetrics:
    """The metrics of `COUNTED` for models, in the files of a `folder` that all processes of the server share."""

    def __init__(self, folder: Path, *, sentences: int = MOST_SENTENCES) -> None:
        self._results: SharedResults[NDArray[np.float64]] = SharedResults(DiskCache(folder / "headvis", BUDGET))
        self._sentences = sentences

    @classmethod
    def of(cls, served_store: ServedStore) -> Self:
        """The counted metrics of a served store, in the folder of its server."""
        return cls(served_store.folder)

    def of_every_head(self, snapshot: Snapshot) -> NDArray[np.float64]:
        """Metrics of the heads of all models, one model after the other: (metric, head). Metrics that no file holds yet are counted."""
        found = {key: self._find(snapshot, key) for key in snapshot.models}
        layers = [
            (key, layer)
            for key, metrics in found.items()
            if metrics is None
            for layer in range(snapshot.corpus(key).layers)
        ]
        counted: list[NDArray[np.float64]] = []
        for key, layer in watched(layers, "Counting induction and the variance of distances"):
            corpus = snapshot.corpus(key)
            counted.append(layer_attention(corpus, layer, min(self._sentences, corpus.n_sentences)).metrics[_ROWS])
            if layer == corpus.layers - 1:
                metrics = np.stack(counted[-corpus.layers :], axis=1)
                found[key] = self._results.add(_name(snapshot, key), metrics, {"metrics": metrics})
        return np.concatenate(
            [metrics.reshape(len(COUNTED), -1) for metrics in found.values() if metrics is not None], 1
        )

    def _find(self, snapshot: Snapshot, key: str) -> NDArray[np.float64] | None:
        return self._results.find(_name(snapshot, key), lambda arrays: arrays["metrics"])


def _name(snapshot: Snapshot, key: str) -> str:
    return f"{snapshot.id} {key}"
