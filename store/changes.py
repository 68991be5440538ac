"""What changed between two snapshots of a store: its models, what was computed of each, and the statistics of heads."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from store.describe import ModelDescription, describe_model
from store.schema.model import varying_statistics
from store.snapshot import Snapshot


@dataclass(frozen=True)
class ListChange:
    """Names that a list gained and lost."""

    added: tuple[str, ...]
    removed: tuple[str, ...]

    @classmethod
    def between(cls, older: Sequence[str], newer: Sequence[str]) -> "ListChange":
        """What the newer list has and the older has not, and the other way round."""
        added = tuple(name for name in newer if name not in older)
        return cls(added, tuple(name for name in older if name not in newer))


@dataclass(frozen=True)
class HeadChange:
    """The statistic of a head that changed most.

    Attributes
    ----------
    older, newer
        Its mean over all queries in each snapshot.
    deviations
        Its change in standard deviations among the heads of the older snapshot, so that statistics of all units compare.
    """

    layer: int
    head: int
    statistic: str
    older: float
    newer: float
    deviations: float


@dataclass(frozen=True)
class ModelChange:
    """A model in both snapshots; `heads` has one change for each head whose statistics differ, the largest first."""

    older: ModelDescription
    newer: ModelDescription
    heads: tuple[HeadChange, ...]

    @property
    def views(self) -> ListChange:
        """Pictures of heads that were added and removed."""
        return ListChange.between(self.older.views, self.newer.views)

    @property
    def stages(self) -> ListChange:
        """Stages whose results were added and removed."""
        return ListChange.between(self.older.stages, self.newer.stages)


@dataclass(frozen=True)
class SnapshotChanges:
    """What changed between two snapshots: models by key that came and went, and those that both have."""

    models: ListChange
    changed: tuple[ModelChange, ...]


def changes_between(older: Snapshot, newer: Snapshot) -> SnapshotChanges:
    """Compare two snapshots of one store. Of arrays, only the statistics of heads are read."""
    common = [key for key in newer.models if key in older.models]
    return SnapshotChanges(
        ListChange.between(list(older.models), list(newer.models)),
        tuple(_model_change(older, newer, key) for key in common),
    )


def _model_change(older: Snapshot, newer: Snapshot, key: str) -> ModelChange:
    heads = head_changes(older, newer, key)
    return ModelChange(describe_model(older, key), describe_model(newer, key), tuple(heads))


def head_changes(older: Snapshot, newer: Snapshot, key: str) -> list[HeadChange]:
    """The statistic of each head that changed most between two snapshots of a model, the largest change first."""
    both = [snapshot.corpus(key).head_statistic.sel(source="all") for snapshot in (older, newer)]
    missing = {name for snapshot in (older, newer) for name in snapshot.corpus(key).missing_statistics}
    names = [name for name in varying_statistics("all") if name not in missing]
    before, after = (means.sel(statistic=names).values for means in both)
    among = before.std(axis=(1, 2), keepdims=True)
    sizes = np.divide(after - before, among, out=np.zeros_like(before), where=among > 0)
    most = np.abs(sizes).argmax(axis=0)
    changes = [
        HeadChange(layer, head, names[place], *(float(values[place, layer, head]) for values in (before, after, sizes)))
        for (layer, head), place in np.ndenumerate(most)
        if sizes[place, layer, head] != 0
    ]
    return sorted(changes, key=lambda change: -abs(change.deviations))
