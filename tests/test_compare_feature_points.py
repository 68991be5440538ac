"""Feature points in two models: how alike they are, against formulas written out."""

from urllib.parse import parse_qsl

import numpy as np
import pytest
from flask.testing import FlaskClient

from dashboard.compare.feature_points import BothFeatures, both_features, point_similarity
from dashboard.compare.two_models import ModelPair
from store.schema.features import point_title
from tests.client import content, csv_rows
from tests.test_compare_routes import base_of


@pytest.fixture(scope="module")
def both(alike: ModelPair) -> BothFeatures:
    features = both_features(alike)
    assert features is not None
    return features


def vectors(both: BothFeatures, point: str) -> list[np.ndarray]:
    """Vectors (token, feature) of both models at a point, of the tokens that both have."""
    return [model.feature.sel(point=point).values[: both.tokens].astype(np.float64) for model in (both.own, both.other)]


def gram_cka(own: np.ndarray, other: np.ndarray) -> float:
    """CKA from the Gram matrices of the tokens (Kornblith et al. 2019, equations 2 and 3)."""
    centre = np.eye(len(own)) - 1 / len(own)
    gram, two = (centre @ vectors @ vectors.T @ centre for vectors in (own, other))
    return float((gram * two).sum() / np.sqrt((gram * gram).sum() * (two * two).sum()))


def test_cka_and_cosine_of_every_point_are_those_of_the_formulas(alike: ModelPair, both: BothFeatures) -> None:
    similarity = point_similarity(alike, both)
    assert similarity.points == both.own.points
    assert similarity.cosine is not None
    for point, cka, cosine in zip(similarity.points, similarity.cka, similarity.cosine, strict=True):
        own, other = vectors(both, point)
        lengths = np.linalg.norm(own, axis=1) * np.linalg.norm(other, axis=1)
        np.testing.assert_allclose(cka, gram_cka(own, other), rtol=1e-4)
        np.testing.assert_allclose(cosine, ((own * other).sum(axis=1) / lengths).mean(), atol=1e-5)


def test_models_of_other_sizes_have_cka_alone(unlike: ModelPair) -> None:
    features = both_features(unlike)
    assert features is not None
    similarity = point_similarity(unlike, features)
    assert similarity.cosine is None
    assert np.isfinite(similarity.cka).all()
    assert len(similarity.points) == len(features.own.points) == 8


def test_the_tokens_are_the_same_in_both(both: BothFeatures) -> None:
    own, other = (model.tokens.row.values[: both.tokens] for model in (both.own, both.other))
    np.testing.assert_array_equal(own, other)


def test_likeness_is_a_file(three_client: FlaskClient, alike: ModelPair, both: BothFeatures) -> None:
    rows = csv_rows(content(three_client, f"{base_of(alike)}/features/likeness.csv"))
    similarity = point_similarity(alike, both)
    assert [row["point"] for row in rows] == [point_title(point) for point in similarity.points]
    np.testing.assert_allclose([float(row["cka"]) for row in rows], similarity.cka, atol=1e-6)


def test_a_point_is_drawn_in_two_panels_of_one_role(
    three_client: FlaskClient, alike: ModelPair, both: BothFeatures
) -> None:
    answer = three_client.get(f"{base_of(alike)}/features/points/{both.views[0]}/L00.mixed.bin")
    assert np.frombuffer(answer.data[4:20], "<u4").tolist() == [2, both.tokens, 1, 2]


def test_a_filter_of_tokens_stays_in_the_link_of_two_models(three_client: FlaskClient, alike: ModelPair) -> None:
    search = (
        f"?model={alike.own.name}&other={alike.other.name}&pictures=point&where=wordpiece:%255BCLS%255D&fonly=nothing"
    )
    came = three_client.post("/data/page", data={"pathname": "/compare", "search": search, "snapshot": ""})
    assert "fonly=nothing. Click an entry of the legend." in came.text
    assert dict(parse_qsl(came.json["shown"]["link"][1:])) == {
        "model": alike.own.name,
        "other": alike.other.name,
        "pictures": "point",
        "where": "wordpiece:%5BCLS%5D",
    }


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "points/pca-joint/L77.mixed.bin",
            "The models do not both have the point 'L77.mixed'. Choose one of embedding,",
        ),
        ("points/pca-none/embedding.bin", "There is no view 'pca-none' of the feature points."),
        ("raster/pca-none/embedding.png", "There is no view 'pca-none' of the feature points."),
    ],
)
def test_a_missing_route_answers_in_one_sentence(
    three_client: FlaskClient, alike: ModelPair, path: str, message: str
) -> None:
    answer = three_client.get(f"{base_of(alike)}/features/{path}")
    assert answer.status_code == 404
    assert message in answer.text
