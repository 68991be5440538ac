"""`store.describe`: the changes between two snapshots."""

import numpy as np
import pytest

from store import Snapshot, open_snapshot
from store.describe import ListChange, changes_between
from store.repository.history import history
from tests.three_models import key_of


@pytest.fixture(scope="module")
def publications(three: str) -> list[Snapshot]:
    """Every publication, newest first."""
    newest = open_snapshot(three)
    return [open_snapshot(three, old.snapshot) for old in history(newest.repository, three)]


def test_lists_gain_and_lose_names() -> None:
    assert ListChange.between(["a", "b"], ["b", "c"]) == ListChange(("c",), ("a",))


def test_a_grown_model_has_more_sentences(publications: list[Snapshot]) -> None:
    (change,) = changes_between(publications[-1], publications[0]).changed
    assert (change.older.sentences, change.newer.sentences) == (5, 15)
    assert change.older.tokens < change.newer.tokens


def test_a_snapshot_does_not_differ_from_itself(publications: list[Snapshot]) -> None:
    changes = changes_between(publications[0], publications[0])
    (change,) = changes.changed
    assert (change.heads, change.views, change.stages, changes.models) == ((), *3 * (ListChange((), ()),))


def test_changes_of_heads_are_those_of_both_snapshots_the_largest_first(publications: list[Snapshot]) -> None:
    (change,) = changes_between(publications[-1], publications[0]).changed
    own = publications[0].corpus().head_statistic.sel(source="all")
    for head in change.heads:
        stored = own.sel(statistic=head.statistic).values[head.layer, head.head]
        assert head.newer == pytest.approx(stored)
    sizes = [abs(head.deviations) for head in change.heads]
    assert sizes == sorted(sizes, reverse=True)
    assert np.isfinite(sizes).all()


def test_models_that_came_are_named(models: Snapshot) -> None:
    first = history(models.repository, models.url)[-1].snapshot
    changes = changes_between(open_snapshot(models.url, first), models)
    assert set(changes.models.added) == {key_of(models, "tiny"), key_of(models, "second")}
    assert [change.newer.key for change in changes.changed] == [key_of(models, "odd")]
