"""Texts of pages on amounts, ranges, empty searches and legends."""

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from dash import html

import dashboard
from dashboard.pages import TOPICS, picture_of
from dashboard.points.controls import marks_of_point, overlay_legend, overlays_of_feature
from dashboard.points.search import no_hits, similar_pieces
from dashboard.sentence.charts import SHADES
from dashboard.sentence.page import views
from dashboard.statistics.parts import part_of
from dashboard.ui.controls import number
from dashboard.ui.text import brief, decimal, signed, span, spell, with_unit
from dashboard.ui.theme import PALETTE, head_colours, rgb
from dashboard.web.context import Context, resolve
from dashboard.web.served_store import ServedStore
from store.phrases import many, one
from tests.components import deferred_content

ASSETS = Path(dashboard.__file__).parent / "assets"


@pytest.fixture(scope="module")
def served_store(tiny_store: str) -> ServedStore:
    return ServedStore(tiny_store)


def context(served_store: ServedStore, page: str, query: str) -> Context:
    return resolve(served_store, page, f"?{query}")


def test_a_change_of_a_count_has_its_sign_and_separate_thousands() -> None:
    assert [decimal(change, 0, "+,") for change in (-1234, 1234)] == ["−1,234", "+1,234"]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(-0.0004, "nats", "0.00"), (-0.0001, "share", "0.0"), (-0.006, "nats", "−0.01"), (-0.5, "share", "−50.0")],
)
def test_what_rounds_to_0_has_no_minus(value: float, unit: str, text: str) -> None:
    assert brief(value, unit) == text


@pytest.mark.parametrize(("count", "text"), [(0, "0 tokens"), (1, "1 token"), (2, "2 tokens"), (1200, "1,200 tokens")])
def test_a_count_of_one_has_a_singular_noun(count: int, text: str) -> None:
    assert many(count, "token") == text


@pytest.mark.parametrize(
    "text",
    ["a BERT", "a data2vec", "a EuroBERT", "a LayoutLM", "a RoBERTa", "an ALBERT", "an ESM", "an MPNet", "an X-MOD"],
)
def test_a_name_has_the_article_that_it_is_spoken_with(text: str) -> None:
    assert one(text.split(maxsplit=1)[1]) == text


@pytest.mark.parametrize(
    ("low", "high", "unit", "text"),
    [
        (0.0, 127.0, "tokens", "0 to 127 tokens"),
        (0.25, 3.0, "nats", "0.25 to 3 nats"),
        (0.0, 0.125, "share", "0.0 to 12.5%"),
        (1.5, 2.0, "", "1.50 to 2"),
    ],
)
def test_a_range_says_its_unit_once_and_whole_numbers_without_decimals(
    low: float, high: float, unit: str, text: str
) -> None:
    assert span(low, high, unit) == text


def test_numbers_have_a_real_minus_and_no_space_before_the_per_cent_sign() -> None:
    assert (decimal(-0.77), signed(-3.14159, 2), spell(-0.8, "share")) == ("−0.77", "−3.14", "−80.0%")
    assert (with_unit("80", "share"), with_unit("3", "tokens"), with_unit("3", "")) == ("80%", "3 tokens", "3")


def test_a_decimal_comma_is_a_decimal_point() -> None:
    assert set(number("least", "lines", 0.3, 0, 1, 0.01).allowedDecimalSeparators) == {".", ","}


def test_a_text_of_spaces_gets_a_notice(served_store: ServedStore) -> None:
    notices = context(served_store, "sentence", "text=%20%20").notices
    assert any("Type a sentence" in notice for notice in notices)
    assert context(served_store, "sentence", "").notices == ()


# -- searches -------------------------------------------------------------------------------------------


def links(parts: list[html.P]) -> list[dict[str, list[str]]]:
    """The fields of every link in some paragraphs."""
    hrefs = [child for part in parts for child in part.children if hasattr(child, "href")]
    return [parse_qs(urlsplit(href.href).query) for href in hrefs]


def test_a_search_without_hits_can_be_cleared_and_offers_what_is_near(served_store: ServedStore) -> None:
    here = context(served_store, "heads", "q=fillm")
    help_text = no_hits(here.corpus, here.state)
    clear, *near = links([help_text])
    assert "No token matches “fillm” as a token." in str(help_text)
    assert "q" not in clear
    assert ["film"] in [fields["q"] for fields in near]
    assert part_of(here.corpus, None, q="film").tokens > 0


def test_a_search_that_finds_something_in_another_way_says_so(served_store: ServedStore) -> None:
    other = context(served_store, "head", "q=fil")
    (also,) = links([no_hits(other.corpus, other.state)])[1:2]
    assert also["within"] == ["prefix"]


@pytest.mark.parametrize("query", ["", "q=film", "q=%20"])
def test_a_search_that_needs_no_help_gets_none(served_store: ServedStore, query: str) -> None:
    here = context(served_store, "heads", query)
    assert no_hits(here.corpus, here.state) is None


def test_only_wordpieces_of_the_corpus_are_offered(served_store: ServedStore) -> None:
    corpus = served_store.snapshot().corpus()
    there = {piece.lower() for piece in corpus.wordpieces(corpus.rows)}
    assert set(similar_pieces(corpus, "moviee")) <= there


@pytest.mark.parametrize("page", ["heads", "head", "features"])
def test_every_page_with_a_search_says_when_it_finds_nothing(served_store: ServedStore, page: str) -> None:
    assert "matches “zzzz”" in str(TOPICS[page].layout(context(served_store, page, "q=zzzz")).above)


# -- legends --------------------------------------------------------------------------------------------


def test_over_a_head_everything_drawn_is_in_the_legend(served_store: ServedStore) -> None:
    here = context(served_store, "head", "token=5&marks=1-2&lasso=pca-exact-2d,0,0,0,0,0,0,1000,0,1000,1000")
    kinds = [kind for kind, _ in marks_of_point(here.state)]
    assert kinds[:5] == ["ring", "sentence", "line", "near", "pair"]
    assert "attention weight: thicker is more" in str(TOPICS["head"].layout(here).below)


@pytest.mark.parametrize(("head", "named"), [(0, True), (1, False)])
def test_a_lasso_is_in_the_legend_of_the_picture_in_which_it_was_drawn(
    served_store: ServedStore, head: int, named: bool
) -> None:
    query = f"layer=0&head={head}&lasso=pca-exact-2d,0,0,0,0,0,0,1000,0,1000,1000"
    assert ("over lasso" in str(TOPICS["head"].layout(context(served_store, "head", query)).below)) == named


def test_lines_are_in_the_legend_only_where_a_weight_is_drawn(served_store: ServedStore) -> None:
    def legend(query: str) -> str:
        return str(TOPICS["head"].layout(context(served_store, "head", f"token=5&{query}")).below)

    assert "attention weight: thicker is more" in legend("least=0")
    assert "attention weight: thicker is more" not in legend("least=1")


def test_sizes_by_norm_are_in_the_legend_with_the_norms_at_their_ends(served_store: ServedStore) -> None:
    here = context(served_store, "head", "layer=1&head=0&size=norm")
    vectors = (vectors.values[1, 0][here.corpus.rows] for vectors in (here.corpus.query, here.corpus.key))
    norms = np.stack([np.linalg.norm(each.astype(np.float32), axis=-1) for each in vectors])
    low, high = np.percentile(norms, [2, 98])
    below = str(TOPICS["head"].layout(here).below)
    assert f"norm {low:.2f} or less" in below
    assert f"norm {high:.2f} or more" in below
    assert "or less" not in str(TOPICS["head"].layout(context(served_store, "head", "layer=1&head=0")).below)


def test_without_an_overlay_the_legend_is_empty_and_keeps_its_room(served_store: ServedStore) -> None:
    state = context(served_store, "head", "").state
    for marks in (marks_of_point(state), overlays_of_feature(state)):
        legend = overlay_legend(marks)
        assert (legend.children, legend.className) == ([], "legend over-points")


def test_a_chosen_token_at_a_feature_point_has_a_legend(served_store: ServedStore) -> None:
    here = context(served_store, "features", "point=embedding&ftoken=3")
    assert "tokens with the nearest vectors" in str(TOPICS["features"].layout(here).below)


def test_the_legend_over_the_points_has_the_colours_of_the_canvas() -> None:
    canvas = (ASSETS / "canvas" / "overlay.mjs").read_text("utf-8")
    style = (ASSETS / "style.css").read_text("utf-8")
    for name, ink in (("line", "line"), ("near", "near"), ("pair", "pair")):
        of_canvas = re.findall(rf"{ink}: \"(#[0-9a-f]{{6}})\"", canvas)
        assert re.findall(rf"--over-{name}: (#[0-9a-f]{{6}})", style) == of_canvas
        assert len(of_canvas) == 2


@pytest.mark.parametrize(("colour", "outlined"), [("kind", True), ("position", False), ("role", False)])
def test_where_colours_are_categories_keys_are_outlines(served_store: ServedStore, colour: str, outlined: bool) -> None:
    here = context(served_store, "head", f"colour={colour}")
    picture = picture_of(here)
    assert picture is not None
    assert picture.outlined is outlined
    assert ("◇ key" in str(TOPICS["head"].layout(here).above)) == outlined


@pytest.mark.parametrize("heads", [1, 12, 16, 24])
def test_no_two_heads_share_a_colour(heads: int) -> None:
    for scheme, colours in head_colours(heads).items():
        assert len(set(colours)) == heads
        ground = np.array(rgb(PALETTE[scheme]["background"]))
        assert min(np.abs(np.array(rgb(colour)) - ground).sum() for colour in colours) > 120
        apart = [
            np.abs(np.subtract(rgb(colour), rgb(other))).sum()
            for colour in colours
            for other in colours
            if colour != other
        ]
        assert min(apart, default=999) > 30


@pytest.mark.parametrize(("query", "names"), [("rollout=1", ["attention rollout"]), ("", ["H0", "H1"])])
def test_a_rollout_is_no_head(served_store: ServedStore, query: str, names: list[str]) -> None:
    assert views(context(served_store, "sentence", query))[0]["head_names"] == names  # type: ignore[index]


def test_the_mean_by_position_has_the_scale_of_the_sentences_matrix() -> None:
    """In `weights.mjs` the place in the colour scale is the root of the weight."""
    weights, colours = zip(*SHADES, strict=True)
    np.testing.assert_allclose(np.sqrt(weights), np.linspace(0, 1, len(weights)))
    assert colours[0] == PALETTE["light"]["panel"]
    assert colours[8] == PALETTE["light"]["query"]


# -- tables ---------------------------------------------------------------------------------------------


def cells(row: html.Tr) -> list[bool]:
    """Whether each cell is aligned like a number."""
    return [cell.className == "number" if hasattr(cell, "className") else False for cell in row.children]


def tables(part: object) -> list[html.Table]:
    """Every table in a part of a page."""
    if isinstance(part, html.Table):
        return [part]
    below = getattr(part, "children", part)
    return [table for part in below for table in tables(part)] if isinstance(below, list | tuple) else tables_in(below)


def tables_in(part: object) -> list[html.Table]:
    return tables(part) if hasattr(part, "children") else []


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("statistics", ""),
        ("store", ""),
        ("heads", "q=film"),
        ("sentence", "by=entropy"),
        ("sentence", "show=mixing"),
        ("sentence", "queries=2&toward=4"),
        ("head", "token=5&tab=point"),
        ("head", "tab=pairs"),
        ("head", "tab=statistics"),
        ("head", "tab=distance"),
        ("head", "tab=selection&where=position:1..3"),
        ("map", ""),
        ("features", "point=embedding&ftoken=3"),
    ],
)
def test_the_title_of_a_column_is_aligned_as_its_cells_are(served_store: ServedStore, page: str, query: str) -> None:
    shown = TOPICS[page].layout(context(served_store, page, query))
    compared = 0
    parts = [shown.above, shown.beside, shown.below]
    for table in tables([*parts, *deferred_content(context(served_store, page, query), parts)]):
        if not isinstance(table.children, list) or len(table.children) != 2 or not table.children[1].children:
            continue
        head, body = (part.children if isinstance(part.children, list) else [part.children] for part in table.children)
        if len(head[0].children) == len(body[0].children):
            assert cells(head[0]) == cells(body[0]), (
                f"{page}: {[getattr(cell, 'children', cell) for cell in head[0].children]}"
            )
            compared += 1
    assert compared
