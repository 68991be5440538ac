"""Colours of points: they have the right values, and codes that the legend explains."""

import struct
from dataclasses import replace

import numpy as np
import pytest

from dashboard.canvas.spec import grid_tokens
from dashboard.points.colours import colour_codes, encode, legend
from dashboard.points.controls import colour_legend
from dashboard.points.head_tokens import FREQUENCY_BANDS, HeadTokens, column_of, columns, frequency_bands
from dashboard.points.point_set import values
from dashboard.points.shown import ShownPoints
from dashboard.ui.theme import ramp
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from store import STATISTICS, Corpus, StoreError

TOKENS = 90


@pytest.fixture
def drawn(two_views: Corpus) -> HeadTokens:
    return HeadTokens(two_views, TOKENS, 1, 0)


@pytest.fixture
def grid(two_views: Corpus) -> HeadTokens:
    """Tokens of a head, as many as a panel of the grid has: they decide which categories have a colour."""
    return HeadTokens(two_views, grid_tokens(two_views), 1, 0)


@pytest.fixture
def every_head(two_views: Corpus) -> HeadTokens:
    return HeadTokens(two_views, TOKENS)


def of(drawn: HeadTokens, name: str) -> np.ndarray:
    return values(column_of(drawn.corpus, name), drawn)


def test_every_column_of_every_point_is_there(drawn: HeadTokens, every_head: HeadTokens) -> None:
    for name, column in columns(drawn.corpus).items():
        assert of(drawn, name).shape == (1, TOKENS, 2), name
        assert of(every_head, name).shape == (4 if column.per_head else 1, TOKENS, 2), name


def test_one_head_and_all_heads_agree(drawn: HeadTokens, every_head: HeadTokens) -> None:
    for name, column in columns(drawn.corpus).items():
        panel = 1 * drawn.corpus.heads + 0 if column.per_head else 0
        np.testing.assert_array_equal(of(every_head, name)[panel], of(drawn, name)[0], err_msg=name)


def test_norms_are_those_of_the_stored_vectors(drawn: HeadTokens) -> None:
    for role, vectors in enumerate((drawn.corpus.query, drawn.corpus.key)):
        stored = vectors[1, 0].values[drawn.rows].astype(np.float64)
        np.testing.assert_allclose(of(drawn, "norm")[0, :, role], (stored**2).sum(axis=-1) ** 0.5, rtol=1e-5)


@pytest.mark.parametrize("name", STATISTICS)
def test_statistics_are_those_of_the_token(drawn: HeadTokens, name: str) -> None:
    stored = drawn.corpus.token_statistic.sel(statistic=name)[1, 0].values[drawn.rows]
    np.testing.assert_array_equal(of(drawn, name)[0], np.stack([stored, stored], axis=-1))


def test_given_and_kept_attention_make_one(drawn: HeadTokens) -> None:
    np.testing.assert_allclose(of(drawn, "given") + of(drawn, "to_self"), 1)


@pytest.mark.parametrize("target", ["cls", "sentence", "word"])
def test_what_arrives_of_a_token_is_its_reach_after_the_last_layer(tiny_corpus: Corpus, target: str) -> None:
    drawn = HeadTokens(tiny_corpus, TOKENS, 1, 0)
    stored = tiny_corpus.token_reach.sel(target=target).values[-1][drawn.rows]
    np.testing.assert_array_equal(of(drawn, f"reach_{target}")[0], np.stack([stored, stored], axis=-1))


def test_a_store_that_does_not_know_what_arrives_has_no_column_of_it(two_views: Corpus) -> None:
    assert [name for name in columns(two_views) if name.startswith("reach")] == []


def test_places_in_a_sentence_start_with_0_and_end_with_1(drawn: HeadTokens) -> None:
    size = int(drawn.corpus.sentences.row_size[0])
    np.testing.assert_allclose(of(drawn, "position_share")[0, :size, 0], np.linspace(0, 1, size))
    np.testing.assert_array_equal(of(drawn, "position_mod_5")[0, :size, 1], np.arange(size) % 5)
    assert (of(drawn, "sentence_length")[0, :size] == size).all()


@pytest.mark.parametrize(
    ("piece", "kind", "punctuation", "length"),
    [
        ("[CLS]", "[CLS]", "[CLS] or [SEP]", np.nan),
        (".", "full stop or comma", "punctuation", 1),
        ("!", "symbol", "punctuation", 1),
        ("##y", "continuation", "word", 1),
        ("movie", "word", "word", 5),
    ],
)
def test_the_token_type_of_a_wordpiece(
    two_views: Corpus, piece: str, kind: str, punctuation: str, length: float
) -> None:
    drawn = HeadTokens(two_views, two_views.n_tokens, 0, 0)
    token = two_views.wordpieces(drawn.rows).index(piece)
    for name, category in (("kind", kind), ("is_punctuation", punctuation)):
        assert column_of(two_views, name).category(int(of(drawn, name)[0, token, 0])) == category
    np.testing.assert_equal(of(drawn, "token_length")[0, token, 0], length)


def test_frequencies_are_of_the_whole_corpus(drawn: HeadTokens) -> None:
    pieces = drawn.corpus.wordpieces(drawn.corpus.rows)
    assert of(drawn, "frequency")[0, :, 1].tolist() == [pieces.count(piece) for piece in pieces[:TOKENS]]


def test_a_frequency_band_is_that_of_the_occurrences(two_views: Corpus) -> None:
    drawn = HeadTokens(two_views, two_views.n_tokens, 1, 0)
    bands = {"once": (1, 1), "2 to 9 times": (2, 9), "10 to 99 times": (10, 99), "100 to 999 times": (100, 999)}
    column = column_of(two_views, "frequency_band")
    for code, times in zip(of(drawn, column.name)[0, :, 0], of(drawn, "frequency")[0, :, 0], strict=True):
        low, high = bands.get(column.category(int(code)), (1_000, np.inf))
        assert low <= times <= high
    assert len(np.unique(of(drawn, column.name))) > 1


@pytest.mark.parametrize(
    ("times", "band"),
    [
        (1, "once"),
        (2, "2 to 9 times"),
        (9, "2 to 9 times"),
        (10, "10 to 99 times"),
        (999, "100 to 999 times"),
        (1_000, "1,000 times and more"),
        (123_456, "1,000 times and more"),
    ],
)
def test_a_frequency_band_begins_and_ends_where_its_name_says(times: int, band: str) -> None:
    (code,) = frequency_bands(np.array([times]))
    assert FREQUENCY_BANDS[code] == band


def test_columns_of_the_data_come_with_their_names(drawn: HeadTokens) -> None:
    column = column_of(drawn.corpus, "data.genre")
    assert column.names == ("art", "war")
    sentences = drawn.corpus.tokens.sentence_index.values[drawn.rows]
    stored = drawn.corpus.columns.genre.values[sentences]
    assert of(drawn, "data.genre")[0, :, 0].tolist() == stored.tolist()
    assert legend(column, drawn).missing == 2 * (stored < 0).sum()


def test_the_extremes_of_a_number_have_the_outer_colours(drawn: HeadTokens) -> None:
    column = column_of(drawn.corpus, "norm")
    norms, codes, shown = of(drawn, "norm"), colour_codes(column, drawn), legend(column, drawn)
    assert (shown.low, shown.high) == pytest.approx(np.percentile(norms, [2, 98]))
    assert set(codes[norms <= shown.low]) == {0}
    assert set(codes[norms >= shown.high]) == {254}


def test_frequencies_are_coloured_by_their_logarithm(drawn: HeadTokens) -> None:
    column = column_of(drawn.corpus, "frequency")
    shown = legend(column, drawn)
    share = (np.log10(of(drawn, "frequency")) - np.log10(shown.low)) / (np.log10(shown.high) - np.log10(shown.low))
    np.testing.assert_array_equal(colour_codes(column, drawn), np.rint(254 * np.clip(share, 0, 1)))


def test_a_point_without_a_value_has_no_colour(drawn: HeadTokens) -> None:
    codes = colour_codes(column_of(drawn.corpus, "token_length"), drawn)
    assert ((codes == 255) == np.isnan(of(drawn, "token_length"))).all()


def test_a_legend_counts_the_points_of_each_category(drawn: HeadTokens) -> None:
    shown = legend(column_of(drawn.corpus, "kind"), drawn)
    kinds = of(drawn, "kind")
    assert {category.code: category.count for category in shown.categories} == {
        int(code): int((kinds == code).sum()) for code in np.unique(kinds)
    }


def test_a_legend_of_many_categories_names_the_eight_most_frequent(grid: HeadTokens) -> None:
    shown = legend(column_of(grid.corpus, "review"), grid)
    counts = np.sort(np.unique(of(grid, "review"), return_counts=True)[1])[::-1]
    assert sorted((category.count for category in shown.categories), reverse=True) == counts[:8].tolist()
    assert (shown.more, shown.others) == (len(counts) - 8, counts[8:].sum())


def test_no_two_named_categories_have_one_colour_and_all_others_are_grey(grid: HeadTokens) -> None:
    column = column_of(grid.corpus, "review")
    codes, reviews, shown = colour_codes(column, grid), of(grid, "review"), legend(column, grid)
    assert sorted(category.colour for category in shown.categories) == list(range(8))
    for category in shown.categories:
        assert set(codes[reviews == category.code]) == {category.colour}
    others = ~np.isin(reviews, [category.code for category in shown.categories])
    assert set(codes[others]) == {8}
    for colours in ramp("category").values():
        assert len(set(colours["query"][:9])) == 9


def test_a_category_has_one_colour_whatever_is_drawn(drawn: HeadTokens) -> None:
    column = column_of(drawn.corpus, "review")
    few, every = (legend(column, replace(drawn, tokens=tokens)).categories for tokens in (60, drawn.corpus.n_tokens))
    colours = {category.code: category.colour for category in every}
    assert {category.code: category.colour for category in few}.items() <= colours.items()


def test_an_entry_of_the_legend_shows_its_category_alone_without_a_filter(tiny_store: str) -> None:
    context = resolve(ServedStore(tiny_store), "/head", "?layer=1&head=0&colour=kind&only=%5BCLS%5D")
    points = ShownPoints.of(context, HeadTokens(context.corpus, 60, 1, 0))
    assert (points.selected[0, :, 0] == (points.points.of_tokens("position") == 0)).all()
    assert points.filters == ()
    pressed = [chip for chip in colour_legend(points).children if "true" in str(getattr(chip, "aria-pressed", ""))]
    assert [vars(chip)["data-href"] for chip in pressed] == ["/head?layer=1&head=0&colour=kind"]


def test_a_category_that_is_none_of_the_column_is_ignored_with_a_notice(tiny_store: str) -> None:
    context = resolve(ServedStore(tiny_store), "/head", "?layer=1&head=0&colour=kind&only=nothing")
    points = ShownPoints.of(context, HeadTokens(context.corpus, 60, 1, 0))
    assert points.selected.all()
    assert points.notices == ("Ignored an invalid parameter: only=nothing. Click an entry of the legend.",)


def test_colours_travel_with_their_shape(every_head: HeadTokens) -> None:
    codes = colour_codes(column_of(every_head.corpus, "entropy"), every_head)
    sent = encode(codes)
    assert sent[:4] == b"HSC2"
    assert struct.unpack("<3I", sent[4:16]) == (4, TOKENS, 2)
    assert sent[16:] == codes.tobytes()


def test_an_unknown_column_is_named_in_a_sentence(two_views: Corpus) -> None:
    with pytest.raises(StoreError, match="no column 'beauty'"):
        column_of(two_views, "beauty")
