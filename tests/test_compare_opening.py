"""Page Compare as it opens: on the head and the statistic in which the models differ most."""

from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

from dashboard.compare.data import most_different
from dashboard.compare.page import compare_href, opened_state
from dashboard.compare.two_models import ModelPair, pair_of
from dashboard.pages import TabLink, page_content
from dashboard.pages import opened as as_it_opens
from dashboard.ui.text import unit_title
from dashboard.web.context import Context, resolve
from dashboard.web.served_store import ServedStore
from store import STATISTICS
from store.schema.model import varying_statistics
from tests.client import shown


@pytest.fixture(scope="module")
def served_store(three_models: str) -> ServedStore:
    return ServedStore(three_models)


@pytest.fixture
def opened(served_store: ServedStore, alike: ModelPair) -> Context:
    """The page of a model as it opens."""
    context = resolve(served_store, "/compare", f"?model={alike.own.name}")
    other = pair_of(context.snapshot, context.corpus, context.state)
    assert other
    assert other.same_heads
    return context


def sizes(two: ModelPair) -> np.ndarray:
    """Difference of each statistic of each head, in standard deviations among the heads of A, written out."""
    of_models: list[Any] = [
        np.array([model.head_statistic.sel(source="all", statistic=name).values for name in varying_statistics("all")])
        for model in (two.own, two.other)
    ]
    own, other = of_models
    return np.array([np.abs(b - a) / (a.std() or np.inf) for a, b in zip(own, other, strict=True)])


def test_nothing_differs_more_than_what_the_page_opens_on(alike: ModelPair) -> None:
    layer, head, statistic = most_different(alike)
    every = sizes(alike)
    assert every[varying_statistics("all").index(statistic), layer, head] == every.max()


def test_a_bare_link_opens_on_the_largest_difference(opened: Context) -> None:
    two = pair_of(opened.snapshot, opened.corpus, opened.state)
    assert two
    state = as_it_opens(opened).state
    assert (state.layer, state.head, state.statistic) == most_different(two)


@pytest.mark.parametrize("query", ["layer=0", "sentence=3", "statistic=entropy", "colour=kind"])
def test_a_link_that_names_anything_shows_what_it_says(served_store: ServedStore, alike: ModelPair, query: str) -> None:
    context = resolve(served_store, "/compare", f"?model={alike.own.name}&{query}")
    assert as_it_opens(context) is context


def test_the_first_head_is_in_the_link_as_the_page_opens_on_another(opened: Context) -> None:
    assert "layer=0" in opened.state.on("compare").with_(layer=0, head=0).href


def test_models_with_other_heads_open_as_before(served_store: ServedStore, unlike: ModelPair) -> None:
    context = resolve(served_store, "/compare", f"?model={unlike.own.name}&other={unlike.other.name}")
    assert opened_state(context.snapshot, context.corpus, context.state) is None


def test_the_page_says_why_it_opened_so(served_store: ServedStore, opened: Context) -> None:
    search = f"?model={opened.corpus.name}"
    content = page_content(served_store, TabLink("/compare", search, ""))
    assert "The statistic in which a head differs most: " in str(content["above"])


@pytest.mark.parametrize(("page", "query"), [("heads", "&colour=kind"), ("statistics", "")])
def test_the_navigation_leads_to_the_page_as_it_opens(
    served_store: ServedStore, alike: ModelPair, page: str, query: str
) -> None:
    context = resolve(served_store, f"/{page}", f"?model={alike.own.name}{query}")
    link = resolve(
        served_store, "/compare", compare_href(context.snapshot, context.corpus, context.state).partition("?")[2]
    )
    state = as_it_opens(link).state
    assert (state.layer, state.head, state.statistic) == most_different(alike)


def test_a_chosen_head_is_kept_on_the_way(served_store: ServedStore, alike: ModelPair) -> None:
    context = resolve(served_store, "/head", f"?model={alike.own.name}&layer=0&head=1")
    assert "layer=0&head=1" in compare_href(context.snapshot, context.corpus, context.state)


def test_its_parts_are_of_the_same_statistic_before_the_browser_completes_the_link(
    three_client: FlaskClient, opened: Context
) -> None:
    two = pair_of(opened.snapshot, opened.corpus, opened.state)
    assert two
    page = shown(three_client, "above", "/compare", f"?model={opened.corpus.name}")
    _, _, statistic = most_different(two)
    assert f"{STATISTICS[statistic].title}, {unit_title(STATISTICS[statistic].unit)}" in page
