"""Page Statistics as it is made, without a browser: what of it is of which part, and which files it leads to."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import numpy as np
import plotly.graph_objects as go
import pytest
import xarray as xr

from dashboard.pages import PAGES
from dashboard.statistics.counts import PartCounts
from dashboard.statistics.divergence import nearest
from dashboard.statistics.part import part_of
from dashboard.ui.page import Page
from dashboard.web.context import Context, resolve
from dashboard.web.library import Library
from store import Corpus

SPLIT = "data.genre:Action%7CComedy;kind:word|continuation"


@pytest.fixture
def library(tiny_store: str) -> Library:
    return Library(tiny_store)


def place_of(library: Library, page: str, asked: str) -> Context:
    return resolve(library, page, f"?{asked}")


def made(library: Library, asked: str = "", page: str = "statistics") -> Page:
    """The page once its part is counted."""
    context = place_of(library, page, asked)
    library.get(PartCounts).numbers(context.corpus, part_of(context.corpus, context.state.where))
    return PAGES[page](context)


def parts(page: Page) -> Iterator[Any]:
    """Every component and text of a page."""
    waiting = page.above[::-1]
    while waiting:
        yield (one := waiting.pop())
        below = getattr(one, "children", None) or []
        waiting += below[::-1] if isinstance(below, list) else [below]


def text(page: Page) -> str:
    return " ".join(one for one in parts(page) if isinstance(one, str))


def files(page: Page, name: str) -> list[dict[str, list[str]]]:
    """What is asked for by every link to a file of this name."""
    links = [urlsplit(one.href) for one in parts(page) if str(getattr(one, "href", "")).startswith("/data/")]
    return [parse_qs(link.query) for link in links if link.path.endswith(f"/{name}")]


def figure(page: Page, of: str) -> go.Figure:
    drawn = next(one for one in parts(page) if getattr(one, "id", None) == of)
    return drawn.children.figure


def options(page: Page, field: str) -> list[str]:
    control = next(one for one in parts(page) if getattr(one, "id", None) == {"choose": field, "by": "control"})
    return [option["value"] for option in control.data]


def label_of(page: Page, of: str) -> str:
    return str(getattr(next(one for one in parts(page) if getattr(one, "id", None) == of), "aria-label"))


# -- files ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["statistics.csv", "statistics.parquet", "mixing.csv", "heat-map.csv"])
def test_a_file_is_of_the_part_on_the_page(library: Library, name: str) -> None:
    found = files(made(library, f"where={quote(SPLIT)}"), name)
    assert found
    assert all(asked["where"] == [SPLIT] for asked in found)


def test_every_figure_of_mixing_has_a_file(library: Library) -> None:
    page = made(library)
    assert (len(files(page, "mixing.csv")), len(files(page, "expansion.csv"))) == (2, 1)


@pytest.mark.parametrize(("values", "there"), [("value", True), ("rank", False), ("difference", False)])
def test_only_values_are_in_the_table_below(library: Library, values: str, there: bool) -> None:
    page = made(library, f"values={values}")
    assert ("the table below has every number" in label_of(page, "heat-map")) == there


# -- received -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("source", "there"), [("all", False), ("cls", True), ("other", True)])
def test_what_all_tokens_receive_is_not_offered(library: Library, source: str, there: bool) -> None:
    assert ("received" in options(made(library, f"source={source}"), "statistic")) == there


def test_what_all_tokens_receive_is_no_colour_of_the_map(library: Library) -> None:
    assert "received" not in options(made(library, page="map"), "paint")


def test_a_link_to_what_all_tokens_receive_says_what_to_do(library: Library) -> None:
    context = place_of(library, "statistics", "statistic=received")
    assert context.state.statistic == "to_sep"
    assert context.notices == (
        "All tokens together receive 1 in every head; showing attention to [SEP]. Choose some of the queries.",
    )


# -- parts ----------------------------------------------------------------------------------------------


def test_labels_in_the_table_are_of_the_part(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    def labels(corpus: Corpus, part: Any, _means: xr.DataArray) -> xr.DataArray:
        return corpus.head_labels.copy(data=np.full((2, 2), f"{part.tokens} tokens"))

    monkeypatch.setattr("dashboard.statistics.page.part_labels", labels)
    assert text(made(library, "where=position:0..0")).count("40 tokens") >= 4


def test_a_part_says_what_stays_of_the_whole_corpus(library: Library) -> None:
    said = "Filters do not apply below"
    assert said in text(made(library, "where=position:0..0"))
    assert said not in text(made(library))


def test_lines_have_the_intervals_of_the_store(library: Library) -> None:
    corpus = library.snapshot().corpus()
    bars = figure(made(library), "curves-near").data[1].error_y
    mean = corpus.head_statistic.sel(source="all", statistic="to_previous").values.mean(axis=1)
    low, high = corpus.layer_interval.sel(source="all", statistic="to_previous").values
    np.testing.assert_allclose(bars.array, high - mean)
    np.testing.assert_allclose(bars.arrayminus, mean - low)


def test_lines_of_a_part_have_its_intervals(library: Library) -> None:
    bars = figure(made(library, "where=kind:word"), "curves-near").data[1].error_y
    corpus = library.snapshot().corpus()
    found = library.get(PartCounts).numbers(corpus, part_of(corpus, "kind:word"))
    low, high = found.layer_interval.sel(source="all", statistic="to_previous").values
    np.testing.assert_allclose(bars.array + bars.arrayminus, high - low)
    assert (bars.array > 0).all()


# -- heads ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sort", ["", "sort=importance"])
def test_what_heads_are_worth_is_in_the_table(library: Library, monkeypatch: pytest.MonkeyPatch, sort: str) -> None:
    monkeypatch.setattr("dashboard.statistics.table.importance_of", lambda _: np.array([[0.5, -0.25], [0, 1]]))
    page = made(library, sort)
    shown = [one for one in parts(page) if one in ("+0.500", "-0.250", "0.000", "+1.000")]
    order = ["+1.000", "+0.500", "0.000", "-0.250"] if sort else ["+0.500", "-0.250", "0.000", "+1.000"]
    assert shown == order


def test_a_list_of_the_nearest_says_of_how_many(library: Library) -> None:
    caption = nearest(place_of(library, "map", ""), listed=2)[-1]
    assert str(caption.children).startswith("The nearest 2 of 3 heads. ")
