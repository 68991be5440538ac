"""Routes of two models: the server's answers, and the meaning of a link that compares the models."""

import numpy as np
import pytest
from flask.testing import FlaskClient

from dashboard.compare.data import changes
from dashboard.compare.two_models import ModelPair, pair_of
from dashboard.web.context import resolve
from dashboard.web.http import data_link
from dashboard.web.served_store import ServedStore
from store import STATISTICS, Snapshot
from tests.client import above, content, csv_rows
from tests.three_models import key_of


def base_of(two: ModelPair) -> str:
    return f"{data_link(two.own)}/compare/{two.other.name}"


def test_the_table_is_a_file_with_every_head_and_its_intervals(three_client: FlaskClient, alike: ModelPair) -> None:
    rows = csv_rows(content(three_client, f"{base_of(alike)}/changes.csv?statistic=entropy&source=cls"))
    changed = changes(alike, "entropy", "cls")
    assert [row["name"] for row in rows] == ["L0 H0", "L0 H1", "L1 H0", "L1 H1"]
    expected = {
        "divergence_low": changed.divergence.low,
        "b": changed.difference.other,
        "difference_high": changed.difference.change.high,
    }
    for column, values in expected.items():
        np.testing.assert_allclose([float(row[column]) for row in rows], values.ravel(), rtol=1e-6)


def test_what_changed_most_of_each_head_is_in_the_file_with_its_unit_and_interval(
    three_client: FlaskClient, alike: ModelPair
) -> None:
    rows = csv_rows(content(three_client, f"{base_of(alike)}/changes.csv"))
    for row in rows:
        assert row["most_changed_unit"] == STATISTICS[row["most_changed"]].unit
        less = float(row["most_changed_b"]) - float(row["most_changed_a"])
        assert float(row["most_changed_difference"]) == pytest.approx(less, abs=1e-6)
        assert float(row["most_changed_difference_low"]) < less < float(row["most_changed_difference_high"])


def test_differences_of_every_statistic_are_a_file(three_client: FlaskClient, alike: ModelPair) -> None:
    rows = csv_rows(content(three_client, f"{base_of(alike)}/differences.csv?source=word"))
    other, own = (model.head_statistic.sel(source="word") for model in (alike.other, alike.own))
    for name in STATISTICS:
        less = (other - own).sel(statistic=name).values.ravel()
        np.testing.assert_allclose([float(row[name]) for row in rows], less, rtol=1e-6)


@pytest.mark.parametrize("path", ["points/pca-exact-2d", "colours/entropy", "colours/kind", "mask"])
def test_a_picture_has_two_panels_of_the_same_tokens(three_client: FlaskClient, alike: ModelPair, path: str) -> None:
    answer = three_client.get(f"{base_of(alike)}/{path}/1/0.bin?tokens=30&q=the")
    assert answer.status_code == 200
    assert np.frombuffer(answer.data[4:12], "<u4").tolist() == [2, 30]


def test_colours_of_both_are_on_this_models_scale(three_client: FlaskClient, alike: ModelPair) -> None:
    content = three_client.get(f"{base_of(alike)}/colours/entropy/1/0.bin?tokens=60").data[-240:]
    own, other = np.frombuffer(content, np.uint8).reshape(2, 60, 2)[..., 0].astype(float)
    entropy = [
        model.token_statistic.sel(statistic="entropy").values[1, 0, model.rows[:60]].astype(float)
        for model in (alike.own, alike.other)
    ]
    low, high = np.percentile(entropy[0], (2, 98))
    for codes, values in zip((own, other), entropy, strict=True):
        np.testing.assert_allclose(codes, 254 * np.clip((values - low) / (high - low), 0, 1), atol=0.51)


def test_without_webgl2_there_is_a_raster_of_both(three_client: FlaskClient, alike: ModelPair) -> None:
    answer = three_client.get(f"{base_of(alike)}/raster/pca-exact-2d/0/0.png?side=100&gap=4")
    assert answer.data[1:4] == b"PNG"
    assert int.from_bytes(answer.data[16:20], "big") == 204


BAD = {
    "compare/gpt-2/changes.csv": "There is no other model “gpt-2” on the corpus",
    "compare/{own}/changes.csv": "There is no other model",
    "compare/{odd}/changes.csv": "their heads have no counterparts",
    "compare/{odd}/differences.csv": "Choose a model of as many layers and heads.",
    "compare/{other}/changes.csv?statistic=charm": "Heads do not differ in “charm”",
    "compare/{other}/changes.csv?statistic=received": "Heads do not differ in “received”",
    "compare/{other}/changes.csv?source=verbs": "There are no means over the queries “verbs”",
    "compare/{other}/pattern/4000/0/0.csv": "There is no sentence 4000 in both models. Choose 0 to 39.",
    "compare/{odd}/pattern/3/0/0.csv": "their heads have no counterparts",
    "compare/{odd}/points/pca-raw-2d/0/0.bin": "their heads have no counterparts",
    "compare/{odd}/mask/0/0.bin": "their heads have no counterparts",
    "compare/{other}/pattern/0/7/0.csv": "There is no head L7 H0",
    "compare/{other}/points/umap-raw-2d/0/0.bin": "There is no view 'umap-raw-2d'",
    "compare/{other}/points/pca-raw-2d/0/0.bin": "There is no view 'pca-raw-2d'",
    "compare/{other}/colours/charm/0/0.bin": "There is no column 'charm'",
}


@pytest.mark.parametrize(("path", "message"), BAD.items(), ids=BAD)
def test_a_missing_file_answers_in_one_sentence(
    three_client: FlaskClient, alike: ModelPair, unlike: ModelPair, path: str, message: str
) -> None:
    names = {"own": alike.own.name, "other": alike.other.name, "odd": unlike.other.name}
    answer = three_client.get(f"{data_link(alike.own)}/{path.format(**names)}")
    assert answer.status_code == 404
    assert message in answer.text


def test_only_the_page_says_what_stands_below(three_client: FlaskClient, unlike: ModelPair) -> None:
    answer = three_client.get(f"{base_of(unlike)}/changes.csv").text
    assert "Below" not in answer
    page = above(three_client, "/compare", f"?model={unlike.own.name}&other={unlike.other.name}")
    assert "Below are means over all heads, matching heads, and places in the model." in page


@pytest.fixture(scope="module")
def served_store(three_models: str) -> ServedStore:
    return ServedStore(three_models)


def test_without_a_choice_the_model_before_is_the_other(served_store: ServedStore, alike: ModelPair) -> None:
    context = resolve(served_store, "/compare", "")
    assert pair_of(context.snapshot, context.corpus, context.state) == ModelPair(
        context.corpus, context.snapshot.corpus(alike.other.name)
    )
    assert context.notices == ()


@pytest.mark.parametrize("name", ["second", "odd"])
def test_any_model_on_the_corpus_can_be_the_other(served_store: ServedStore, models: Snapshot, name: str) -> None:
    key = key_of(models, name)
    context = resolve(served_store, "/compare", f"?other={key}")
    assert (context.state.other, context.notices) == (key, ())


def test_a_model_of_another_shape_is_none_to_subtract(served_store: ServedStore, unlike: ModelPair) -> None:
    context = resolve(served_store, "/statistics", f"?other={unlike.other.name}")
    assert context.state.other is None
    assert "with as many layers and heads" in context.notices[0]


@pytest.mark.parametrize(
    ("query", "notice"),
    [
        ("other=gpt-2", "There is no other model gpt-2 on the same corpus; ignoring it"),
        ("ranked=charm", "Ignored an invalid parameter: ranked=charm"),
        ("sentence=99999", "; showing 39"),
        ("layer=-3", "; showing 0"),
    ],
)
def test_an_invalid_parameter_of_a_link_gets_a_notice(served_store: ServedStore, query: str, notice: str) -> None:
    context = resolve(served_store, "/compare", f"?{query}")
    assert len(context.notices) == 1
    assert notice in context.notices[0]


def test_what_cannot_be_compared_gets_a_message(unlike: ModelPair, alike: ModelPair) -> None:
    heads, size = unlike.differences()
    assert "2 layers of 2 heads" in heads
    assert "3 layers of 4 heads" in heads
    assert "16 and 20 features" in size
    assert alike.differences() == []
