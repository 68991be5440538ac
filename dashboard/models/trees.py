"""Heads of other models that a server shows on page Models beside those of its store: metrics of HeadVis as statistics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from dashboard.models.headvis import COUNTED
from store.head_numbers import HeadNumbers
from store.headvis import read_headvis

if TYPE_CHECKING:
    from dashboard.web.served_store import ServedStore

#: A statistic of the store, and the metric of HeadVis that it is shown beside.
METRIC_OF = {
    "to_previous": "prev_token_score",
    "to_self": "self_attention_score",
    "entropy": "pattern_entropy",
    "distance": "qk_distance",
}


@dataclass(frozen=True, eq=False)
class Tree:
    """The heads of a model that is not in the store; its title has a space, so no key of a model is like it."""

    title: str
    numbers: HeadNumbers
    #: Metrics that the store does not hold, by their names in a link, (layer, head) each: those that the tree has.
    counted: Mapping[str, NDArray[np.float64]]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Heads with a number (layer, head): a tree may be of some heads of its model."""
        every = [*self.numbers.statistics.values(), *self.counted.values()]
        return np.any([np.isfinite(values) for values in every], axis=0)


@dataclass(frozen=True, eq=False)
class Trees:
    """Those of a server."""

    trees: tuple[Tree, ...] = ()

    @classmethod
    def of(cls, _served_store: "ServedStore") -> Self:
        """None, unless the server is given some."""
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
