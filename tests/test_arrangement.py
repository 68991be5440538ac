"""The heads that page Heads shows, and their order."""

from typing import Any

import numpy as np
import pytest
import xarray as xr
from flask.testing import FlaskClient

from dashboard.points.arrangement import arrangement, value_text
from dashboard.points.head_tokens import HeadTokens, column_of
from dashboard.points.page import all_heads, picture_of_heads, read_heads
from dashboard.points.point_set import values
from dashboard.points.shown import ShownPoints
from dashboard.web.context import Context, resolve
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState
from store import Corpus, open_corpus

LABELS = np.array([["", "previous"], ["broad", "previous"]])
HEAD_LABELS = xr.DataArray(LABELS, dims=("layer", "head"), name="head_label")


@pytest.fixture
def labelled(tiny_store: str) -> Corpus:
    """A corpus in which two heads are labelled previous, and one broad."""
    corpus = open_corpus(tiny_store)
    corpus.head_labels = HEAD_LABELS
    return corpus


def shown(corpus: Corpus, **fields: Any) -> tuple[int, ...]:
    return arrangement(corpus, LinkState(**fields)).heads


def values_of(corpus: Corpus, statistic: str) -> np.ndarray:
    return corpus.head_statistic.sel(source="all", statistic=statistic).values.ravel()


def context_of(store: str, search: str) -> Context:
    return resolve(ServedStore(store), "heads", search)


def test_by_default_heads_stand_layer_by_layer(tiny_corpus: Corpus) -> None:
    default = arrangement(tiny_corpus, LinkState())
    assert (default.heads, default.packed) == ((0, 1, 2, 3), False)


@pytest.mark.parametrize("chosen", [{"arranged": "entropy"}, {"tagged": "none"}, {"does": "next"}])
def test_heads_that_are_sorted_or_chosen_leave_no_gaps(tiny_corpus: Corpus, chosen: dict[str, str]) -> None:
    assert arrangement(tiny_corpus, LinkState(**chosen)).packed


@pytest.mark.parametrize("statistic", ["to_sep", "entropy", "distance"])
def test_a_statistic_sorts_heads_in_descending_order(tiny_corpus: Corpus, statistic: str) -> None:
    values = values_of(tiny_corpus, statistic)[list(shown(tiny_corpus, arranged=statistic))]
    assert len(values) == 4
    assert (np.diff(values) <= 0).all()


def test_a_label_leaves_out_the_other_heads(labelled: Corpus) -> None:
    assert shown(labelled, tagged="previous") == (1, 3)
    assert shown(labelled, tagged="none") == (0,)


def test_a_minimum_leaves_out_the_heads_below_it(tiny_corpus: Corpus) -> None:
    values = values_of(tiny_corpus, "entropy")
    least = f"{np.sort(values)[1:3].mean():.3f}"
    assert set(shown(tiny_corpus, arranged="entropy", above=least)) == set(np.argsort(-values)[:2])


def test_the_minimum_of_a_share_is_in_per_cent(tiny_corpus: Corpus) -> None:
    values = values_of(tiny_corpus, "to_sep")
    least = f"{100 * np.sort(values)[1:3].mean():.3f}"
    assert set(shown(tiny_corpus, arranged="to_sep", above=least)) == set(np.argsort(-values)[:2])


def test_slots_say_the_place_of_every_head_and_which_are_left_out(labelled: Corpus) -> None:
    assert arrangement(labelled, LinkState(tagged="previous")).slots == [-1, 0, -1, 1]


@pytest.mark.parametrize(("statistic", "text"), [("to_sep", "12.3%"), ("entropy", "0.12"), (None, "")])
def test_a_panel_shows_its_value(statistic: str | None, text: str) -> None:
    assert value_text(LinkState(arranged=statistic), 0.1234) == text


def test_a_head_without_a_value_shows_none() -> None:
    assert value_text(LinkState(arranged="to_sep"), float("nan")) == ""


def test_panels_have_the_labels_of_their_heads_in_the_corner_and_on_hover(tiny_store: str) -> None:
    served_store = ServedStore(tiny_store)
    served_store.snapshot().corpus().head_labels = HEAD_LABELS
    picture = picture_of_heads(read_heads(resolve(served_store, "heads", "")))
    assert picture is not None
    assert [panel.tag for panel in picture.panels] == LABELS.ravel().tolist()
    assert [panel.summary.split("attends")[0] for panel in picture.panels] == [
        f"{label}; " if label else "" for label in LABELS.ravel()
    ]


def test_another_order_asks_for_no_other_points(tiny_store: str) -> None:
    default, sorted_ = (
        picture_of_heads(read_heads(context_of(tiny_store, search))) for search in ("", "?arranged=entropy")
    )
    assert default is not None
    assert sorted_ is not None
    assert default.points == sorted_.points
    assert (default.slots, sorted(sorted_.slots or ())) == (None, [0, 1, 2, 3])


def test_selected_points_are_counted_in_the_shown_heads_alone(tiny_store: str) -> None:
    served_store = ServedStore(tiny_store)
    corpus = served_store.snapshot().corpus()
    corpus.head_labels = HEAD_LABELS
    least = np.median(values(column_of(corpus, "entropy"), HeadTokens(corpus, 60)))
    context = resolve(served_store, "heads", f"?where=entropy:{least:.4f}..&tagged=broad")
    of_heads, of_head = (ShownPoints.of(context, HeadTokens(context.corpus, 60, *head)) for head in ((), (1, 0)))
    assert of_heads.count == (int(of_head.selected.sum()), 120)
    assert of_heads.selected.sum(axis=(1, 2)).mean() != of_heads.count[0]


def test_where_no_head_passes_there_is_a_way_back_to_all(tiny_store: str) -> None:
    context = context_of(tiny_store, "?arranged=entropy&above=999")
    assert picture_of_heads(read_heads(context)) is None
    assert "Show all heads" in str(all_heads(read_heads(context)).above)
    assert "0 of 4 heads" in str(all_heads(read_heads(context)).above)


def test_a_raster_shows_the_heads_that_are_asked_for(client: FlaskClient, base: str) -> None:
    every, two = (
        client.get(f"{base}/raster/pca-exact-2d/grid.png?side=20&gap=2{heads}")
        for heads in ("", "&heads=3.1&columns=1")
    )
    assert two.status_code == 200
    assert two.data != every.data
