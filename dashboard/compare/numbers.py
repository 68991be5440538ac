"""Tables of what differs between two models, for files: a row for each head."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashboard.compare.changes import Changes, changes
from dashboard.compare.two import Two
from dashboard.points.exports import Table
from dashboard.statistics.definitions import telling
from store import STATISTICS
from store.schema import head_name


def changes_table(two: Two, statistic: str, source: str) -> Table:
    """Every head against its counterpart, with 95 % intervals; `this` and `other` are means of the statistic."""
    found = changes(two, statistic, source)
    layer, head = _heads(two)
    divergence, less = found.divergence, found.difference.less
    return {
        **_named(layer, head),
        "divergence": divergence.mean.ravel(),
        "divergence_low": divergence.low.ravel(),
        "divergence_high": divergence.high.ravel(),
        "statistic": np.full(len(layer), statistic, object),
        "source": np.full(len(layer), source, object),
        "this": found.difference.own.ravel(),
        "other": found.difference.other.ravel(),
        "difference": less.mean.ravel(),
        "difference_low": less.low.ravel(),
        "difference_high": less.high.ravel(),
        **_changed_most(found),
        "label": found.labels[0].ravel(),
        "other_label": found.labels[1].ravel(),
    }


def differences_table(two: Two, source: str) -> Table:
    """Every statistic of the other model less that of this one, over the rows of a source."""
    layer, head = _heads(two)
    other, own = (one.head_statistic.sel(source=source) for one in (two.other, two.own))
    return _named(layer, head) | {
        name: (other.sel(statistic=name).values - own.sel(statistic=name).values).ravel() for name in telling(source)
    }


def _changed_most(found: Changes) -> Table:
    """The statistic of all rows that changed most: of each head another one, so that its unit stands beside it."""
    names, one = found.most.ravel(), found.most_difference
    return {
        "most_changed": names,
        "most_changed_unit": np.array([STATISTICS[name].unit for name in names], object),
        "most_changed_this": one.own.ravel(),
        "most_changed_other": one.other.ravel(),
        "most_changed_difference": one.less.mean.ravel(),
        "most_changed_difference_low": one.less.low.ravel(),
        "most_changed_difference_high": one.less.high.ravel(),
    }


def _heads(two: Two) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    layer, head = np.divmod(np.arange(two.own.layers * two.own.heads), two.own.heads)
    return layer, head


def _named(layer: NDArray[np.int64], head: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    names = np.array([head_name(*one) for one in zip(layer.tolist(), head.tolist(), strict=True)], object)
    return {"layer": layer, "head": head, "name": names}
