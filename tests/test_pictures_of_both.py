"""Pictures and text of a link to page Compare, for a head or a feature point in two models."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import xarray as xr

from dashboard.canvas.spec import Picture
from dashboard.compare.feature_points import ShownPoint, picture_of_point, point_controls
from dashboard.compare.page import COMPARE, Compared, above_pictures, read
from dashboard.compare.two_models import ModelPair, pair_of
from dashboard.features import data as series
from dashboard.web.context import Context, resolve
from dashboard.web.served_store import ServedStore
from store import Snapshot
from tests.three_models import key_of

Link = Callable[..., Context]


@pytest.fixture(scope="module")
def served_store(three_models: str) -> ServedStore:
    return ServedStore(three_models)


@pytest.fixture(scope="module")
def link(served_store: ServedStore, models: Snapshot) -> Link:
    return partial(context_of, served_store, models)


def context_of(served_store: ServedStore, models: Snapshot, own: str, other: str, query: str = "") -> Context:
    return resolve(served_store, "/compare", f"?model={key_of(models, own)}&other={key_of(models, other)}&{query}")


def both(context: Context) -> ModelPair:
    two = pair_of(context.snapshot, context.corpus, context.state)
    assert two is not None
    return two


def compared(context: Context) -> Compared:
    shown = read(context)
    assert isinstance(shown, Compared)
    return shown


def shown_point(context: Context) -> ShownPoint:
    shown = ShownPoint.of(context, both(context))
    assert shown is not None
    return shown


def picture_of(context: Context) -> Picture:
    return picture_of_point(both(context), shown_point(context))


def controls_of(context: Context) -> str:
    return str(point_controls(both(context), shown_point(context)))


# -- a feature point ------------------------------------------------------------------------------------


@pytest.fixture
def small_grids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the points of a grid, so that a grid of all feature points has fewer tokens than one feature point."""
    monkeypatch.setattr(series, "GRID_POINTS", 80)


@pytest.mark.usefixtures("small_grids")
def test_the_legend_counts_the_tokens_that_are_drawn(link: Link) -> None:
    shown = shown_point(link("tiny", "second", "pictures=point"))
    assert sum(category.count for category in shown.shown.legend.categories) == shown.both.tokens


def test_a_search_without_hits_gets_a_message_at_a_point_too(link: Link) -> None:
    assert "No token matches “zzzz” as a token." in controls_of(link("tiny", "second", "pictures=point&q=zzzz"))


@pytest.mark.usefixtures("small_grids")
def test_the_selection_is_counted_among_the_tokens_that_are_drawn(link: Link) -> None:
    context = link("tiny", "second", "pictures=point&q=the")
    tokens = shown_point(context).both.tokens
    count = shown_point(context).both.own.wordpieces()[:tokens].count("the")
    assert f"{count:,} of {tokens:,} drawn tokens selected" in controls_of(context)


def test_the_colours_know_the_chosen_token(link: Link) -> None:
    colours = picture_of(link("tiny", "second", "pictures=point&fcolour=sentence&ftoken=5")).colours
    assert colours.endswith("&token=5")


@pytest.fixture
def classifiers(three_models: str, models: Snapshot) -> Link:
    """A function that gives the context of a link; both models are classifiers that are sure of the first label."""
    served_store = ServedStore(three_models)
    for name in ("tiny", "second"):
        features = served_store.snapshot().corpus(key_of(models, name)).features("sample")
        sure = np.tile([1.0, 0.0], (len(np.unique(features.tokens.sentence_index.values)), 1))
        labels = {"class": list(features.label_names)}
        features.class_probability = xr.DataArray(sure, dims=("sentence", "class"), coords=labels)
    return partial(context_of, served_store, models)


@pytest.mark.parametrize("column", ["prediction", "correct"])
def test_predictions_of_one_model_do_not_colour_the_other(classifiers: Link, column: str) -> None:
    context = classifiers("tiny", "second", f"pictures=point&fcolour={column}")
    assert column not in shown_point(context).columns
    assert "/colours/kind.bin" in str(picture_of(context).colours)
    assert COMPARE.layout(context).notices == (
        "Predicted labels differ between the models; colouring by token type. See predictions on page Features.",
    )


def test_the_page_says_where_predictions_are(classifiers: Link) -> None:
    assert "colour by prediction on page Features" in controls_of(classifiers("tiny", "second", "pictures=point"))


def test_a_point_that_only_this_model_has_gets_a_notice(link: Link) -> None:
    (notice,) = COMPARE.layout(link("odd", "tiny", "pictures=point&point=L02.mixed")).notices
    assert notice.startswith("tiny-bert has no place L2 head outputs; showing ")


def test_a_view_that_the_models_do_not_share_gets_a_notice(link: Link) -> None:
    context = link("tiny", "second", "pictures=point")
    changed = replace(context, state=context.state.with_(fview="pca-joint"))
    (notice,) = shown_point(changed).notices(both(changed).names[1])
    assert notice.startswith(
        "second-bert has no picture “pca-joint” of places; showing “pca-each”. Run `headscape projections`"
    )


def test_an_entry_of_the_legend_shows_its_category_alone_in_both_models(link: Link) -> None:
    context = link("tiny", "second", "pictures=point&fonly=%5BCLS%5D")
    assert "where=kind:%255BCLS%255D" in str(picture_of(context).mask)
    assert controls_of(context).count("aria-pressed='true'") == 1


def test_an_invalid_region_gets_a_notice_on_compare_too(link: Link) -> None:
    (notice,) = COMPARE.layout(link("tiny", "second", "pictures=point&flasso=0,0,1")).notices
    assert notice.startswith("Ignored a region: it is not in a picture of these tokens.")


# -- choices from page Features -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query", ["material=review-3&ftoken=2", "vectors=1&point=H0&fview=pca", "material=no&flasso=1"]
)
def test_a_review_and_values_are_left_on_page_features(link: Link, query: str) -> None:
    context = link("tiny", "second", f"pictures=point&{query}")
    assert context.notices == ()
    fields = context.state.fields
    assert {fields[name] for name in ("material", "vectors", "point", "fview", "ftoken", "flasso")} == {None}


def test_a_point_of_a_review_is_that_of_the_sample(link: Link) -> None:
    context = link("tiny", "second", "pictures=point&material=review-3&point=L01.mixed")
    assert (context.state.point, context.notices) == ("L01.mixed", ())


def test_a_panel_opens_the_sample_with_the_chosen_token(link: Link) -> None:
    dropped = picture_of(link("tiny", "second", "pictures=point&ftoken=5")).dropped_fields
    assert {"material", "vectors", "other"} <= set(dropped)
    assert "ftoken" not in dropped


# -- a head ---------------------------------------------------------------------------------------------


def test_the_selected_points_of_each_model_are_counted(link: Link) -> None:
    context = link("tiny", "second", "layer=1&head=1&tokens=100&where=entropy:0..1.2")
    two = both(context)
    statistics = (model.token_statistic.sel(statistic="entropy").values[1, 1] for model in (two.own, two.other))
    own, other = (2 * int((entropy[two.own.rows[:100]] <= 1.2).sum()) for entropy in statistics)
    assert own != other
    caption = f"Selected of the drawn queries and keys: {own} of 200 in A: {two.names[0]} and {other} of 200 in B: {two.names[1]}."
    assert caption in str(above_pictures(compared(context)))


def test_an_unknown_column_gets_a_notice(link: Link) -> None:
    (notice,) = COMPARE.layout(link("tiny", "second", "colour=charm")).notices
    assert notice.startswith("Ignored an invalid parameter: colour=charm.")


@pytest.mark.parametrize(
    ("common", "message"),
    [
        ("pca-exact-2d", "second-bert has no view “pca-raw-2d”. Showing “pca-exact-2d”. Run `headscape projections`"),
        (None, "second-bert has no view “pca-raw-2d”. No view is shown. Run `headscape projections`"),
    ],
)
def test_a_view_that_only_this_model_has_gets_a_notice(link: Link, common: str | None, message: str) -> None:
    context = link("tiny", "second", "view=pca-raw-2d")
    shown = compared(context)
    assert shown.head is not None
    (notice,) = replace(shown, head=replace(shown.head, view=common) if common else None).notices
    assert notice.startswith(message)
