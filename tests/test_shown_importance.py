"""Importance of a head for its model, on the page of the head."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

from dashboard.statistics.head_panel import read_head_statistics
from dashboard.statistics.sections import Importance, head_importance, read_importance
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from store import open_corpus

IMPORTANCE = xr.Dataset(
    {"change": (("layer", "head"), np.array([[0.5, -0.25], [0, 1]]))},
    attrs={"kind": "classification", "measure": "cross entropy", "sentences": 1200, "loss": 0.25},
)


def worth(store: str, computed: xr.Dataset) -> list[Any]:
    """The page's content on head 1 of layer 0 where the store has this importance."""
    corpus = open_corpus(store)
    corpus.importance = computed
    read = read_importance(corpus, None)
    assert isinstance(read, Importance)
    return head_importance(read, (0, 1))


def test_the_page_of_a_head_says_what_it_is_worth(tiny_store: str) -> None:
    heading, rank = worth(tiny_store, IMPORTANCE)
    title, about = heading.children
    assert title == "Head importance: −0.250"
    assert "on 1,200 sentences; the whole model has 0.250" in getattr(about, "data-info")
    assert rank.children.startswith("Rank 4 of 4")


def test_head_importance_is_empty_where_it_was_not_computed(tiny_store: str) -> None:
    context = resolve(ServedStore(tiny_store), "head", "?layer=0&head=1")
    assert read_head_statistics(context.corpus, context.state, context.ingest).importance is None


@pytest.mark.parametrize(
    ("kind", "loss", "warns"), [("classification", 0.7, True), ("classification", 0.6, False), ("mlm", 5.0, False)]
)
def test_the_info_says_that_a_classifier_is_worse_than_a_guess(
    kind: str, loss: float, warns: bool, tiny_store: str
) -> None:
    """A guess between two labels has a loss of ln 2."""
    title, _ = worth(tiny_store, IMPORTANCE.assign_attrs(kind=kind, loss=loss))
    assert ("worse than that of a guess (0.693)" in str(title)) is warns
