"""Two numbers of every head against each other, on page Statistics."""

import csv
import io

import dash_mantine_components as dmc
import numpy as np
import pytest

from dashboard.app import create_app
from dashboard.models.trees import COUNTED
from dashboard.pages import TOPICS
from dashboard.roles.shares import KINDS, NO_ROLE, shares_of
from dashboard.statistics.scatter import SIZES, heads_inside, read_scatter, scatter_figure, scores_of
from dashboard.web.context import resolve
from dashboard.web.http import data_link
from dashboard.web.served_store import ServedStore
from dashboard.web.state import SCORES, LinkState
from store import Corpus, open_corpus
from tests.components import components


@pytest.fixture(scope="module")
def corpus(roles_store: str) -> Corpus:
    return open_corpus(roles_store)


def test_every_head_is_one_dot(corpus: Corpus) -> None:
    figure = scatter_figure(read_scatter(corpus, LinkState()))
    assert sum(len(trace.x) for trace in figure.data) == corpus.layers * corpus.heads


def test_a_dot_stands_at_the_numbers_of_its_head(corpus: Corpus) -> None:
    figure = scatter_figure(read_scatter(corpus, LinkState(across="entropy", up="explained")))
    places = {
        name: (x, y) for trace in figure.data for name, x, y in zip(trace.customdata, trace.x, trace.y, strict=True)
    }
    entropy = float(corpus.head_statistic.sel(source="all", statistic="entropy", layer=1, head=0))
    unexplained = float(corpus.roles.share.sel(role="unexplained", layer=1, head=0))
    assert places["L1 H0"] == pytest.approx((entropy, 100 - 100 * unexplained))


@pytest.mark.parametrize(
    ("across", "up", "inside"),
    [
        (None, None, None),
        ("..", None, [[True, True], [True, True]]),
        ("0..0", None, [[True, True], [False, False]]),
        ("0..-9", None, [[True, True], [False, False]]),
        ("1..", "..", [[False, False], [True, True]]),
        ("..-1", None, [[False, False], [False, False]]),
    ],
)
def test_a_box_has_the_heads_whose_numbers_lie_in_it(
    corpus: Corpus, across: str | None, up: str | None, inside: list[list[bool]] | None
) -> None:
    found = heads_inside(corpus, LinkState(across="layer", up="layer", acrossin=across, upin=up))
    assert (found if found is None else found.tolist()) == inside


def test_a_box_of_a_number_that_the_model_lacks_is_not_of_another(corpus: Corpus) -> None:
    lacking = next(name for name in SCORES if name not in scores_of(corpus))
    both = LinkState(across=lacking, acrossin="..-1", up=lacking, upin="..-1")
    assert read_scatter(corpus, both).within == ("", "")
    assert heads_inside(corpus, both) is None
    up = heads_inside(corpus, LinkState(across=lacking, acrossin="..-1", up="layer", upin="1.."))
    assert up is not None
    assert up.tolist() == [[False, False], [True, True]]


def test_shares_of_a_box_are_per_cent(corpus: Corpus) -> None:
    share = float(100 - 100 * corpus.roles.share.sel(role="unexplained", layer=1, head=0))
    inside = heads_inside(corpus, LinkState(up="explained", upin=f"{share - 0.001:.4f}..{share + 0.001:.4f}"))
    assert inside is not None
    assert inside[1, 0]


def test_a_box_is_drawn_as_wide_as_the_dots_where_it_has_no_end(corpus: Corpus) -> None:
    figure = scatter_figure(read_scatter(corpus, LinkState(across="layer", acrossin="0.5..")))
    (box,) = figure.layout.selections
    assert (box.x0, box.x1) == (0.5, pytest.approx(1.03))


def test_the_table_lists_the_heads_in_the_box_alone(roles_store: str) -> None:
    page = TOPICS["statistics"].layout(resolve(ServedStore(roles_store), "statistics", "?across=layer&acrossin=1.."))
    table = next(
        each for each in components(page.above) if getattr(each, "className", "") == "rows heads stacked cards"
    )
    names = {each.children for each in components(table) if getattr(each, "href", None)}
    assert names == {"L1 H0", "L1 H1"}
    assert "2 of 4 heads in the box" in str(page)


def test_the_ends_of_a_box_are_asked_for_in_the_unit_of_its_axis(roles_store: str) -> None:
    page = TOPICS["statistics"].layout(resolve(ServedStore(roles_store), "statistics", "?across=to_sep&up=layer"))
    labels = {each.label for each in components(page.above) if isinstance(each, dmc.TextInput)}
    assert {"Across from..to, %", "Up from..to"} <= labels


def test_the_box_can_be_taken_away(roles_store: str) -> None:
    page = TOPICS["statistics"].layout(resolve(ServedStore(roles_store), "statistics", "?across=layer&acrossin=1.."))
    clear = [each for each in components(page.above) if getattr(each, "children", None) == "Clear the box"]
    assert {each.href for each in clear} == {"/statistics?across=layer"}


def test_colours_of_a_number_are_its_values(corpus: Corpus) -> None:
    (dots,) = scatter_figure(read_scatter(corpus, LinkState(tint="layer"))).data
    assert dots.marker.color.tolist() == [0, 0, 1, 1]


def test_the_area_of_a_dot_grows_with_its_number(corpus: Corpus) -> None:
    figure = scatter_figure(read_scatter(corpus, LinkState(tint="layer", sized="layer")))
    sizes = figure.data[0].marker.size
    assert sizes.tolist() == [SIZES[0]] * 2 + [SIZES[1]] * 2


@pytest.mark.parametrize(
    ("across", "up", "overlap"),
    [
        ("to_sink", "explained", True),
        ("share_sinks", "share_position", False),
        ("explained", "explained", False),
        ("layer", "explained", False),
    ],
)
def test_a_hover_over_shares_that_are_no_parts_of_one_whole_says_so(
    corpus: Corpus, across: str, up: str, overlap: bool
) -> None:
    figure = scatter_figure(read_scatter(corpus, LinkState(across=across, up=up)))
    texts = [text for trace in figure.data for text in trace.text]
    assert {"; these shares may overlap" in text for text in texts} == {overlap}


def test_heads_without_a_role_are_their_own_group(corpus: Corpus) -> None:
    figure = scatter_figure(read_scatter(corpus, LinkState()))
    groups = {trace.name: len(trace.x) for trace in figure.data}
    assert groups[NO_ROLE] == int((shares_of(corpus).clearest < 0).sum())


def test_shares_of_the_kinds_and_of_what_is_not_explained_sum_to_one(corpus: Corpus) -> None:
    scores = scores_of(corpus)
    kinds = [scores[f"share_{kind.replace(' ', '_')}"].values for kind in list(KINDS)[:-1]]
    np.testing.assert_allclose(sum(kinds), scores["explained"].values, atol=1e-6)


def test_a_store_without_roles_offers_statistics_alone(tiny_corpus: Corpus) -> None:
    scores = scores_of(tiny_corpus)
    assert "entropy" in scores
    assert not {"explained", "iou", "context"} & scores.keys()


def test_a_score_that_the_store_lacks_is_not_shown(tiny_corpus: Corpus) -> None:
    shown = read_scatter(tiny_corpus, LinkState(across="iou", up="share_words"))
    assert (shown.across, shown.up) == ("to_sink", "entropy")


def test_the_table_and_the_chart_read_the_scores_once(corpus: Corpus) -> None:
    assert scores_of(corpus) is scores_of(corpus)


def test_every_score_of_a_link_is_a_score_of_heads(corpus: Corpus) -> None:
    assert set(SCORES) - scores_of(corpus).keys() == {"importance", *COUNTED}


def test_the_page_shows_the_chart(roles_store: str) -> None:
    page = TOPICS["statistics"].layout(resolve(ServedStore(roles_store), "statistics", "?across=iou&up=context"))
    assert "IoU of at most six rules across, variance of logits by context up" in str(page)


def test_the_file_has_every_score_of_every_head(roles_store: str, corpus: Corpus) -> None:
    answer = create_app(ServedStore(roles_store)).server.test_client().get(f"{data_link(corpus)}/scores.csv")
    rows = list(csv.DictReader(io.StringIO(answer.get_data(as_text=True).lstrip("\ufeff"))))
    assert len(rows) == corpus.layers * corpus.heads
    assert float(rows[0]["iou"]) == pytest.approx(float(corpus.rules.iou.sel(rules="six")[0, 0]))
