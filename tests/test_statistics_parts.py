"""Page Statistics without a browser: the part of the corpus behind each of its numbers, and links to files."""

from base64 import b64decode
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import numpy as np
import plotly.graph_objects as go
import pytest
from dash import dcc, html
from flask.testing import FlaskClient

from dashboard.pages import TOPICS
from dashboard.statistics.heads import nearest, read_nearest, table_columns
from dashboard.statistics.page import NO_TOKENS, draw
from dashboard.statistics.parts import PartCounts, part_labels, part_of
from dashboard.statistics.sections import size_of_part
from dashboard.statistics.shown import read
from dashboard.ui.charts import heat_map_height
from dashboard.ui.markup import Page
from dashboard.ui.text import signed
from dashboard.web.context import Context, resolve
from dashboard.web.served_store import ServedStore
from store import STATISTICS, Corpus
from store.kernels.statistics import spread_between_heads
from store.schema.model import head_name
from tests.client import content, csv_rows
from tests.counts import counted, mean, shares

#: Every kind of filter: its condition in a link.
FILTERS = {
    "label": "label:positive",
    "sentence length": "sentence_length:4..8",
    "token kind": "kind:word|continuation",
    "frequency band": "frequency_band:10 to 99 times",
    "column of the data": "data.genre:war",
}
SPLIT = "data.genre:Action%7CComedy;kind:word|continuation"


@pytest.fixture(scope="module")
def served_store(tiny_store: str) -> ServedStore:
    return ServedStore(tiny_store)


def place_of(served_store: ServedStore, page: str, query: str) -> Context:
    return resolve(served_store, page, f"?{query}")


def page_of(served_store: ServedStore, query: str = "", page: str = "statistics") -> Page:
    """The page once its part is counted."""
    context = place_of(served_store, page, query)
    served_store.service(PartCounts).numbers(context.corpus, part_of(context.corpus, context.state.where))
    return TOPICS[page].layout(context)


def parts(page: Page) -> Iterator[Any]:
    """Every component and text of a page."""
    waiting = page.above[::-1]
    while waiting:
        yield (node := waiting.pop())
        below = getattr(node, "children", None) or []
        waiting += below[::-1] if isinstance(below, list) else [below]


def text(page: Page) -> str:
    return " ".join(part for part in parts(page) if isinstance(part, str))


def files(page: Page, name: str) -> list[dict[str, list[str]]]:
    """Fields of every link to a file of this name."""
    links = [urlsplit(part.href) for part in parts(page) if str(getattr(part, "href", "")).startswith("/data/")]
    return [parse_qs(link.query) for link in links if link.path.endswith(f"/{name}")]


def numbers_of(encoded: dict[str, str]) -> np.ndarray:
    """The array behind an encoded one in a figure for the browser."""
    return np.frombuffer(b64decode(encoded["bdata"]), encoded["dtype"])


def figure(page: Page, of: str) -> go.Figure:
    drawn = next(part for part in parts(page) if getattr(part, "id", None) == of)
    return drawn.children.figure


def options(page: Page, field: str) -> list[str]:
    control = next(part for part in parts(page) if getattr(part, "id", None) == {"choose": field, "by": "control"})
    return [option["value"] for option in control.data]


def children(part: object) -> list[object]:
    children = getattr(part, "children", None)
    return children if isinstance(children, list) else []


def infos(page: Page) -> dict[str, str]:
    """Texts behind the (i) symbols, by the symbol's name."""
    about = [part.to_plotly_json()["props"] for part in parts(page) if getattr(part, "className", None) == "info"]
    return {properties["aria-label"]: properties["data-info"] for properties in about}


def label_of(page: Page, of: str) -> str:
    return str(getattr(next(part for part in parts(page) if getattr(part, "id", None) == of), "aria-label"))


def cells(page: Page) -> list[str]:
    """The numbers in the cells of the heat map."""
    return [str(written) for row in figure(page, "heat-map").data[0].text for written in row]


def heads(page: Page) -> list[str]:
    """Names of the heads in the order of the table."""
    return [str(part.children) for part in parts(page) if isinstance(part, dcc.Link) and "/head?" in part.href]


# -- the heat map ---------------------------------------------------------------------------------------


def test_another_statistic_has_its_own_cells(served_store: ServedStore, tiny_corpus: Corpus) -> None:
    found = cells(page_of(served_store, "statistic=entropy"))
    assert found == [f"{number:.1f}" for number in mean(tiny_corpus, "entropy").ravel()]


def test_the_page_opens_on_the_statistic_in_which_heads_differ_most(
    served_store: ServedStore, tiny_corpus: Corpus
) -> None:
    spread = spread_between_heads(tiny_corpus.head_statistic, tiny_corpus.sentences.row_size.values)
    most = max(spread, key=lambda name: spread[name])
    assert figure(page_of(served_store), "heat-map") == figure(page_of(served_store, f"statistic={most}"), "heat-map")
    assert (
        f"{STATISTICS[most].title} {spread[most]:.2f}"
        in infos(page_of(served_store))["About the difference between heads"]
    )


@pytest.mark.parametrize(("query", "linked"), [("", False), ("statistic=to_sep", True)])
def test_where_another_statistic_is_shown_the_one_with_most_difference_is_a_link(
    served_store: ServedStore, query: str, linked: bool
) -> None:
    line = next(
        part
        for part in parts(page_of(served_store, query))
        if "By default, the page shows the statistic in which heads differ most: " in children(part)
    )
    assert any(isinstance(part, dcc.Link) for part in line.children) == linked


def test_the_curves_by_layer_keep_their_queries_and_say_so(served_store: ServedStore) -> None:
    page = page_of(served_store, "source=cls")
    assert figure(page, "curves-classes") == figure(page_of(served_store), "curves-classes")
    assert any("“Mean over” does not change these figures." in part for part in parts(page) if isinstance(part, str))


def test_means_may_be_over_other_rows(served_store: ServedStore, tiny_corpus: Corpus) -> None:
    assert cells(page_of(served_store, "statistic=to_sep&source=cls")) == shares(mean(tiny_corpus, "to_sep", "cls"))


def test_ranks_are_those_of_the_means(served_store: ServedStore, tiny_corpus: Corpus) -> None:
    order = (-mean(tiny_corpus, "to_sep").ravel()).argsort().argsort()
    assert cells(page_of(served_store, "statistic=to_sep&values=rank")) == [str(rank + 1) for rank in order]


def test_a_difference_of_two_statistics(served_store: ServedStore, tiny_corpus: Corpus) -> None:
    less = 100 * (mean(tiny_corpus, "to_sep") - mean(tiny_corpus, "to_self"))
    page = page_of(served_store, "statistic=to_sep&values=difference&against=to_self")
    assert cells(page) == [f"{number:+.1f}".replace("-", "−") for number in less.ravel()]


# -- filters --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", FILTERS.values(), ids=FILTERS)
def test_a_filter_recomputes_every_number(space_store: str, space: Corpus, where: str) -> None:
    page, part = page_of(ServedStore(space_store), f"statistic=to_sep&where={quote(where)}"), part_of(space, where)
    assert 0 < part.tokens < space.n_tokens
    expected = counted(space, part).means.sel(statistic="to_sep", source="all").values
    assert cells(page) == shares(expected)
    assert (
        f"{part.tokens:,} of {space.n_tokens:,} tokens ({100 * part.tokens / space.n_tokens:.1f}%)"
        f" in {part.sentences:,} of"
    ) in text(page)


def test_a_part_minus_the_whole_corpus_is_the_difference_of_their_means(
    served_store: ServedStore, tiny_corpus: Corpus
) -> None:
    page = page_of(served_store, "where=kind:word&statistic=to_self&values=part")
    own = counted(tiny_corpus, part_of(tiny_corpus, "kind:word")).means.sel(statistic="to_self", source="all").values
    difference = 100 * (own - mean(tiny_corpus, "to_self"))
    assert cells(page) == [signed(float(number), 1) for number in difference.ravel()]
    colours = figure(page, "heat-map").data[0]
    assert (colours.zmid, colours.zmin) == (0, -colours.zmax)


def test_the_heads_that_differ_most_from_the_whole_corpus_are_links_with_their_difference(
    served_store: ServedStore, tiny_corpus: Corpus
) -> None:
    page = page_of(served_store, "where=kind:word&statistic=to_self&values=part")
    own = counted(tiny_corpus, part_of(tiny_corpus, "kind:word")).means.sel(statistic="to_self", source="all").values
    difference = own - mean(tiny_corpus, "to_self")
    order = np.argsort(-np.abs(difference), axis=None, kind="stable")
    line = next(part for part in parts(page) if "Largest differences, points: " in children(part))
    links = [str(part.children) for part in line.children if isinstance(part, dcc.Link)]
    assert links == [head_name(*divmod(int(at), 2)) for at in order]
    assert signed(100 * float(difference.ravel()[order[0]]), 1) in str(line)


@pytest.mark.parametrize(("where", "offered"), [("", False), ("where=kind:word", True)])
def test_the_difference_from_the_whole_corpus_is_offered_where_tokens_are_filtered(
    served_store: ServedStore, where: str, offered: bool
) -> None:
    assert ("part" in options(page_of(served_store, where), "values")) == offered


def test_the_whole_corpus_minus_itself_is_shown_as_values_with_a_notice(served_store: ServedStore) -> None:
    page = page_of(served_store, "values=part")
    assert figure(page, "heat-map") == figure(page_of(served_store), "heat-map")
    assert page.notices == ("No filter is set, so there is no part to compare: showing values. Add a filter.",)


def test_filters_that_keep_all_tokens_are_said_to_leave_no_part(served_store: ServedStore) -> None:
    page = page_of(served_store, "where=sentence_length:1..1000&values=part")
    assert page.notices == (
        "The filters keep all tokens, so there is no part to compare: showing values. Change a filter.",
    )


def test_a_part_without_tokens_says_what_to_do(served_store: ServedStore) -> None:
    page = TOPICS["statistics"].layout(place_of(served_store, "statistics", "where=position:5000..6000"))
    assert "No tokens match. Remove a filter." in text(page)


@pytest.mark.parametrize(("sentences", "warns"), [(99, True), (100, False)])
def test_a_part_of_few_sentences_says_that_its_intervals_may_be_too_narrow(
    served_store: ServedStore, tiny_corpus: Corpus, sentences: int, warns: bool
) -> None:
    context = place_of(served_store, "statistics", "where=position:1..2")
    part = replace(part_of(context.corpus, context.state.where), sentences=sentences)
    assert ("too narrow" in size_of_part(tiny_corpus, part)) == warns


def test_a_filter_that_differs_from_head_to_head_is_ignored_with_a_notice(served_store: ServedStore) -> None:
    assert page_of(served_store, "where=entropy:0..1").notices == (
        "Ignored a filter: “attention entropy” has a value for each head, so it cannot select tokens of all heads.",
    )


@pytest.mark.parametrize("values", ["value", "rank", "part"])
def test_a_heat_map_without_a_number_says_what_to_do_in_its_room(served_store: ServedStore, values: str) -> None:
    page = page_of(served_store, f"where=position:0..0&source=word&statistic=entropy&values={values}")
    boxes = [
        part for part in parts(page) if NO_TOKENS in str(getattr(part, "children", "")) and isinstance(part, html.Div)
    ]
    assert boxes[-1].style == {"minHeight": f"{heat_map_height(2)}px"}
    assert "No head differs." not in text(page)
    assert "heat-map" not in [getattr(part, "id", None) for part in parts(page)]


def test_a_figure_of_rows_that_are_filtered_away_says_what_to_do(served_store: ServedStore) -> None:
    page = page_of(served_store, "where=kind:word")
    found = list(parts(page))
    drawn = next(n for n, part in enumerate(found) if getattr(part, "id", None) == "curves-cls")
    caption = next(part for part in found[drawn:] if "caption" in str(getattr(part, "className", "")))
    assert "No such tokens here. Remove a filter." in str(caption)


@pytest.mark.parametrize(
    ("query", "notice"),
    [
        ("statistic=charm", "Ignored an invalid parameter: statistic=charm"),
        ("other=gpt-2", "There is no other model gpt-2"),
    ],
)
def test_an_invalid_parameter_of_a_link_gets_a_notice(served_store: ServedStore, query: str, notice: str) -> None:
    context = place_of(served_store, "statistics", query)
    assert notice in " ".join((*context.notices, *page_of(served_store, query).notices))


# -- the table ------------------------------------------------------------------------------------------


def test_a_column_sorts_the_heads(served_store: ServedStore, tiny_corpus: Corpus) -> None:
    order = np.argsort(-mean(tiny_corpus, "entropy").ravel())
    assert heads(page_of(served_store, "sort=entropy")) == [f"L{at // 2} H{at % 2}" for at in order]


def test_heads_are_found_by_name(served_store: ServedStore) -> None:
    assert heads(page_of(served_store, "named=h1")) == ["L0 H1", "L1 H1"]


def test_heads_are_filtered_by_label(served_store: ServedStore, tiny_corpus: Corpus) -> None:
    labels = tiny_corpus.head_labels.values
    label = str(labels[0, 0])
    wanted = [f"L{layer} H{head}" for layer, head in np.argwhere(labels == label)]
    assert heads(page_of(served_store, f"behaviour={quote(label or 'none')}")) == wanted


def test_a_name_that_no_head_has_says_what_to_do(served_store: ServedStore) -> None:
    assert "No heads match. Clear the name or the label." in text(page_of(served_store, "named=seven"))


def test_the_table_is_a_file_of_the_same_part(
    served_store: ServedStore, client: FlaskClient, tiny_corpus: Corpus
) -> None:
    page = page_of(served_store, "where=kind:word&source=word")
    link = next(part.href for part in parts(page) if "/statistics.csv" in str(getattr(part, "href", "")))
    rows = csv_rows(content(client, link))
    expected = counted(tiny_corpus, part_of(tiny_corpus, "kind:word")).means.sel(source="word", statistic="to_sep")
    np.testing.assert_allclose([float(row["to_sep"]) for row in rows], expected.values.ravel(), rtol=1e-6)


# -- files ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["statistics.csv", "statistics.parquet", "mixing.csv", "heat-map.csv"])
def test_a_file_is_of_the_part_on_the_page(served_store: ServedStore, name: str) -> None:
    queries = files(page_of(served_store, f"where={quote(SPLIT)}"), name)
    assert queries
    assert all(query["where"] == [SPLIT] for query in queries)


def test_every_figure_of_mixing_has_a_file(served_store: ServedStore) -> None:
    page = page_of(served_store)
    assert (len(files(page, "mixing.csv")), len(files(page, "expansion.csv"))) == (2, 1)


@pytest.mark.parametrize(("values", "there"), [("value", True), ("rank", False), ("difference", False)])
def test_only_values_are_in_the_table_below(served_store: ServedStore, values: str, there: bool) -> None:
    page = page_of(served_store, f"values={values}")
    assert ("the table below has every number" in label_of(page, "heat-map")) == there


# -- received -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("source", "there"), [("all", False), ("cls", True), ("other", True)])
def test_attention_received_over_all_queries_is_not_offered(
    served_store: ServedStore, source: str, there: bool
) -> None:
    assert ("received" in options(page_of(served_store, f"source={source}"), "statistic")) == there


def test_attention_received_over_all_queries_is_no_colour_of_the_map(served_store: ServedStore) -> None:
    assert "received" not in options(page_of(served_store, page="map"), "paint")


def test_a_link_to_what_all_tokens_receive_says_what_to_do(served_store: ServedStore) -> None:
    context = place_of(served_store, "statistics", "statistic=received")
    assert context.state.statistic is None
    assert context.notices == (
        "Over all queries, attention received is 1 in every head; showing another statistic. Choose other queries.",
    )


# -- parts ----------------------------------------------------------------------------------------------


def test_labels_in_the_table_are_of_the_part(served_store: ServedStore) -> None:
    shown = list(parts(page_of(served_store, "where=position:0..0")))
    corpus = served_store.snapshot().corpus()
    part = part_of(corpus, "position:0..0")
    labels = part_labels(corpus, part, served_store.service(PartCounts).numbers(corpus, part).means)
    assert shown.count("broad") == (labels == "broad").sum() > (corpus.head_labels == "broad").sum()


def test_a_part_says_what_stays_of_the_whole_corpus(served_store: ServedStore) -> None:
    note = "Filters do not apply below"
    assert note in text(page_of(served_store, "where=position:0..0"))
    assert note not in text(page_of(served_store))


def test_lines_have_the_intervals_of_the_store(served_store: ServedStore) -> None:
    corpus = served_store.snapshot().corpus()
    bars = figure(page_of(served_store), "curves-near")["data"][1]["error_y"]
    mean = corpus.head_statistic.sel(source="all", statistic="to_previous").values.mean(axis=1)
    low, high = corpus.layer_interval.sel(source="all", statistic="to_previous").values
    np.testing.assert_allclose(numbers_of(bars["array"]), high - mean)
    np.testing.assert_allclose(numbers_of(bars["arrayminus"]), mean - low)


def test_lines_of_a_part_have_its_intervals(served_store: ServedStore) -> None:
    bars = figure(page_of(served_store, "where=kind:word"), "curves-near")["data"][1]["error_y"]
    corpus = served_store.snapshot().corpus()
    numbers = served_store.service(PartCounts).numbers(corpus, part_of(corpus, "kind:word"))
    low, high = numbers.layer_interval.sel(source="all", statistic="to_previous").values
    np.testing.assert_allclose(numbers_of(bars["array"]) + numbers_of(bars["arrayminus"]), high - low)
    assert (numbers_of(bars["array"]) > 0).all()


# -- heads ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sort", ["", "sort=importance"])
def test_head_importance_is_in_the_table(served_store: ServedStore, sort: str) -> None:
    read_page = read(place_of(served_store, "statistics", sort))
    assert read_page.numbers is not None
    means = served_store.snapshot().corpus().head_statistic
    columns = table_columns(means, "all", np.array([[0.5, -0.25], [0, 1]]))
    page = draw(replace(read_page, numbers=replace(read_page.numbers, columns=columns)))
    shown = [part for part in parts(page) if part in ("+0.500", "−0.250", "0.000", "+1.000")]
    order = ["+1.000", "+0.500", "0.000", "−0.250"] if sort else ["+0.500", "−0.250", "0.000", "+1.000"]
    assert shown == order


def test_a_list_of_the_nearest_says_of_how_many(served_store: ServedStore) -> None:
    context = place_of(served_store, "map", "")
    state = context.state
    caption = nearest(state, read_nearest(context.corpus, state.layer, state.head, None, listed=2))[-1]
    assert caption.children == "The nearest 2 of 3 heads."


def test_a_cell_of_the_heads_has_in_a_narrow_window_the_title_and_the_unit_of_its_column(
    served_store: ServedStore,
) -> None:
    (table,) = (part for part in parts(page_of(served_store)) if "cards" in str(getattr(part, "className", "")))
    top, body = table.children
    titles, units = ([_written(cell) for cell in row.children] for row in top.children)
    expected = [f"{title}, {unit}" if unit else title for title, unit in zip(titles, units, strict=True)]
    assert [getattr(cell, "data-name") for cell in body.children[0].children] == expected


def _written(cell: Any) -> str:
    """The text of a cell, or of the button in it."""
    return str(getattr(cell.children, "children", cell.children) or "")
