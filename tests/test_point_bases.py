"""Names of feature points, and vectors of different bases, which are not compared by cosine."""

from itertools import product

import numpy as np
import pytest

from dashboard.features.data import cosines
from dashboard.features.figures import feature_charts
from dashboard.features.picture import measure_table
from dashboard.features.shown import FeatureView
from dashboard.pages import TOPICS
from dashboard.web.context import Context, resolve
from dashboard.web.served_store import ServedStore
from store import Corpus
from store.schema.features import point_title, same_basis, stored_point
from store.schema.pictures import ViewName


@pytest.mark.parametrize(
    ("point", "other", "same"),
    [
        ("embedding", "L01.feedforward", True),
        ("L00.projected", "position", True),
        ("L00.mixed", "embedding", False),
        ("L00.mixed", "L00.projected", False),
        ("L00.mixed", "L01.mixed", False),
        ("L00.mixed", "L00.mixed", True),
    ],
)
def test_head_outputs_have_a_basis_of_their_own_in_every_layer(point: str, other: str, same: bool) -> None:
    assert same_basis(point, other) == same_basis(other, point) == same


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("L03.head_outputs", "L03.mixed"),
        ("L03.attention_output", "L03.projected"),
        ("L03.attention_block_output", "L03.attended"),
        ("L03.feed_forward_output", "L03.expanded"),
        ("L03.layer_output", "L03.feedforward"),
        ("L03.feedforward", "L03.feedforward"),
        ("embedding", "embedding"),
        ("L03.thought", "L03.thought"),
    ],
)
def test_a_point_can_be_called_by_its_title_or_as_it_is_stored(name: str, stored: str) -> None:
    assert stored_point(name) == stored


def test_points_are_named_for_what_they_are() -> None:
    titles = [point_title(f"L02.{kind}") for kind in ("mixed", "projected", "feedforward")]
    assert titles == ["L2 head outputs", "L2 attention output", "L2 layer output"]


def test_a_picture_can_be_requested_by_the_title_of_its_point() -> None:
    assert str(ViewName.parse_points("pca-L03.layer_output")) == "pca-L03.feedforward"


def context(store: str, query: str) -> Context:
    return resolve(ServedStore(store), "features", f"?{query}")


@pytest.mark.parametrize("name", ["L01.layer_output", "L01.feedforward"])
def test_old_and_new_links_lead_to_the_same_point(tiny_store: str, name: str) -> None:
    here = context(tiny_store, f"point={name}")
    assert here.state.point == "L01.feedforward"
    assert here.notices == ()
    assert "L1 layer output" in str(TOPICS["features"].layout(here).above)


def test_cosines_between_bases_are_left_out_of_files(tiny_corpus: Corpus) -> None:
    features = tiny_corpus.features("sample")
    table = measure_table(features, "similarity")
    own = np.array([same_basis(*pair) for pair in product(features.points, repeat=2)])
    assert np.isnan(table["similarity"][~own]).all()
    np.testing.assert_allclose(table["similarity"][own], features.similarity.values.ravel()[own], atol=1e-6)
    assert np.isfinite(measure_table(features, "cka")["cka"]).all()


def test_files_call_points_what_they_are(tiny_corpus: Corpus) -> None:
    features = tiny_corpus.features("sample")
    for measure in ("similarity", "cka", "explained"):
        assert {"L0 head outputs", "L1 layer output"} < set(measure_table(features, measure)["point"]), measure


def test_charts_have_no_cosine_of_head_outputs_and_say_why(tiny_store: str, tiny_corpus: Corpus) -> None:
    drawn = feature_charts(FeatureView.of(context(tiny_store, "")))
    graphs = {
        node.id: node.children.figure for figure in drawn[1].children for node in figure.children if hasattr(node, "id")
    }
    for name in ("alike-embedding", "alike-previous"):
        cosine = next(curve for curve in graphs[name].data if curve.name == "cosine")
        named = dict(zip(cosine.text, cosine.y, strict=True))
        assert np.isnan([named["L0 head outputs"], named["L1 head outputs"]]).all()
        assert np.isfinite(named["L1 layer output"])
    assert "Head outputs have only CKA" in str(drawn)
    assert np.isfinite(cosines(tiny_corpus.features("sample"))[0, 0])


@pytest.mark.parametrize(("view", "warns"), [("pca-joint", True), ("pca-each", False)])
def test_a_picture_of_all_points_together_says_that_bases_differ(tiny_store: str, view: str, warns: bool) -> None:
    below = str(TOPICS["features"].layout(context(tiny_store, f"fview={view}")).below)
    assert ("Head outputs have another basis" in below) == warns
