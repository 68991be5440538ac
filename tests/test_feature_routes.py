"""Routes of feature points: bytes for the canvas, cards, files, and one sentence where the store has none."""

import struct

import numpy as np
import pytest
from flask.testing import FlaskClient

from store import Corpus
from store.features import Features
from tests.client import csv_rows

VIEW = "pca-joint"


@pytest.fixture
def features(tiny_corpus: Corpus) -> Features:
    return tiny_corpus.features("sample")


@pytest.fixture
def sample(base: str) -> str:
    return f"{base}/features/sample"


def test_a_grid_has_every_point_once(client: FlaskClient, sample: str, features: Features) -> None:
    sent = client.get(f"{sample}/points/points/{VIEW}/grid.bin?tokens=30").data
    assert struct.unpack("<5I", sent[4:24]) == (len(features.points), 30, 1, 2, 1)
    assert len(sent) == 24 + len(features.points) * 30 * 2


def test_a_large_panel_is_sent_as_it_is_stored(client: FlaskClient, sample: str, features: Features) -> None:
    sent = client.get(f"{sample}/points/points/{VIEW}/L01.projected.bin").data
    stored = features.view(VIEW).coordinates.sel(point="L01.projected").values
    np.testing.assert_array_equal(np.frombuffer(sent[24:], "<u2").reshape(-1, 2), stored)


def test_a_fitted_panel_fills_its_square_on_equal_scales(client: FlaskClient, sample: str, features: Features) -> None:
    sent = client.get(f"{sample}/points/fitted/{VIEW}/L01.projected.bin").data
    places = np.frombuffer(sent[24:], "<u2").reshape(-1, 2).astype(float)
    stored = features.view(VIEW).coordinates.sel(point="L01.projected").values.astype(float)
    assert np.ptp(places, axis=0).max() == 65_535
    np.testing.assert_allclose(
        np.ptp(places, axis=0) / 65_535, np.ptp(stored, axis=0) / np.ptp(stored, axis=0).max(), atol=1e-4
    )


def test_a_panel_fits_all_tokens_however_few_are_drawn(client: FlaskClient, sample: str) -> None:
    every, first = (
        client.get(f"{sample}/points/fitted/{VIEW}/L01.projected.bin{end}").data for end in ("", "?tokens=9")
    )
    assert first[24:] == every[24:][: 9 * 2 * 2]


def test_values_of_a_layer_have_a_panel_a_head(client: FlaskClient, sample: str, tiny_corpus: Corpus) -> None:
    sent = client.get(f"{sample}/points/L1/pca/grid.bin?tokens=10").data
    assert struct.unpack("<5I", sent[4:24]) == (tiny_corpus.heads, 10, 1, 2, 1)


@pytest.mark.parametrize("token_set", ["sample", "review-3"])
def test_every_colour_that_is_offered_can_be_had(client: FlaskClient, base: str, token_set: str) -> None:
    for column in ("kind", "wordpiece", "position", "label", "sentence"):
        answer = client.get(f"{base}/features/{token_set}/colours/{column}.bin?tokens=20&token=3")
        assert (answer.status_code, len(answer.data)) == (200, 16 + 20), column


def bits(sent: bytes, tokens: int) -> np.ndarray:
    assert struct.unpack("<3I", sent[4:16]) == (1, tokens, 1)
    return np.unpackbits(np.frombuffer(sent[16:], np.uint8))[:tokens].astype(bool)


@pytest.mark.parametrize("token_set", ["sample", "review-3"])
def test_a_search_selects_its_wordpieces(client: FlaskClient, base: str, tiny_corpus: Corpus, token_set: str) -> None:
    features = tiny_corpus.features(token_set)
    sent = client.get(f"{base}/features/{token_set}/mask.bin?q=T&within=prefix").data
    wanted = [piece.lower().startswith("t") for piece in features.wordpieces()]
    np.testing.assert_array_equal(bits(sent, features.n_tokens), wanted)


def test_a_phrase_selects_the_words_it_covers(
    client: FlaskClient, sample: str, tiny_corpus: Corpus, features: Features
) -> None:
    phrase = "+".join(str(tiny_corpus.sentences.text.values[0]).split()[:2])
    mask = bits(client.get(f"{sample}/mask.bin?q={phrase}&within=phrase").data, features.n_tokens)
    own = features.tokens.sentence_index.values == 0
    np.testing.assert_array_equal(mask[own], np.isin(features.tokens.word_index.values[own], (0, 1)))


def test_a_region_selects_what_it_is_drawn_round(client: FlaskClient, sample: str, features: Features) -> None:
    height = features.places(VIEW, features.n_tokens)[features.points.index("L00.mixed"), :, 1]
    cut = round(1000 * float(np.median(height)))
    region = f"points,{VIEW},L00.mixed,0,0,0,-9,1000,-9,1000,{cut},0,{cut}"
    mask = bits(client.get(f"{sample}/mask.bin?flasso={region}").data, features.n_tokens)
    assert 0 < mask.sum() < features.n_tokens
    np.testing.assert_array_equal(mask, height < cut / 1000)


def test_the_nearest_tokens_are_those_of_the_largest_cosine(
    client: FlaskClient, sample: str, features: Features
) -> None:
    focus = client.get(f"{sample}/focus/points/{VIEW}/L01.feedforward/7.json").json
    vectors = features.feature.sel(point="L01.feedforward").values.astype(np.float64)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine = unit @ unit[7]
    cosine[7] = -2
    np.testing.assert_allclose([near["cosine"] for near in focus["near"]], np.sort(cosine)[::-1][:10], atol=1e-4)


def test_a_focus_has_the_places_of_the_whole_sentence(client: FlaskClient, sample: str, features: Features) -> None:
    focus = client.get(f"{sample}/focus/points/{VIEW}/embedding/7.json").json
    own = np.flatnonzero(features.tokens.sentence_index.values == features.tokens.sentence_index.values[7])
    places = features.places(VIEW, features.n_tokens)[0, own]
    np.testing.assert_allclose(np.array(focus["places"])[:, 0], places, atol=1e-5)
    assert focus["pieces"] == [features.wordpieces()[token] for token in own]


def test_a_card_names_the_token_in_its_sentence(client: FlaskClient, sample: str, features: Features) -> None:
    card = client.get(f"{sample}/card/token/7.json").json
    assert card["wordpieces"][card["position"]] == card["wordpiece"] == features.wordpieces()[7]


def test_a_file_has_every_selected_token_of_a_panel(client: FlaskClient, sample: str, features: Features) -> None:
    table = csv_rows(client.get(f"{sample}/selection/points/{VIEW}/position.csv?q=film").data)
    assert [row["wordpiece"] for row in table] == ["film"] * features.wordpieces().count("film")
    assert {row["point"] for row in table} == {"position"}


def test_a_file_of_the_grid_has_every_token_at_every_point(
    client: FlaskClient, sample: str, features: Features
) -> None:
    table = csv_rows(client.get(f"{sample}/tokens/points/{VIEW}/grid.csv").data)
    assert len(table) == len(features.points) * features.n_tokens


def test_the_measures_between_points_can_be_had(client: FlaskClient, sample: str, features: Features) -> None:
    table = csv_rows(client.get(f"{sample}/cka.csv").data)
    np.testing.assert_allclose([float(row["cka"]) for row in table], features.cka.values.ravel(), atol=1e-6)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("features/review-99/points/points/pca-joint/grid.bin", "does not have review 99 now"),
        ("features/sample/points/points/pca-joint/L99.mixed.bin", "There is no 'L99.mixed'"),
        ("features/sample/points/points/tsne-joint/grid.bin", "There is no view 'tsne-joint'"),
        ("features/sample/points/L99/pca/grid.bin", "has no panels 'L99'"),
        ("features/sample/colours/beauty.bin", "There is no column 'beauty'"),
        ("features/sample/card/token/999999.json", "There is no token 999999"),
        ("features/sample/tokens/points/pca-joint/nowhere.csv", "There is no 'nowhere'"),
    ],
)
def test_a_missing_file_answers_in_one_sentence(client: FlaskClient, base: str, path: str, message: str) -> None:
    answer = client.get(f"{base}/{path}")
    assert answer.status_code == 404
    assert message in answer.text
    assert answer.text.endswith(".")


def test_without_webgl_the_server_draws_the_grid(client: FlaskClient, sample: str) -> None:
    answer = client.get(f"{sample}/raster/points/{VIEW}/grid.png?side=40&gap=2&title=5")
    width, height = struct.unpack(">2I", answer.data[16:24])
    assert (width, height) == (3 * 42 - 2, 3 * 47 - 2)


@pytest.mark.parametrize(("panel", "most"), [("grid", 3 * 401 - 1), ("embedding", 1_200)])
def test_a_drawn_picture_has_a_largest_size(client: FlaskClient, sample: str, panel: str, most: int) -> None:
    answer = client.get(f"{sample}/raster/points/{VIEW}/{panel}.png?side=99999&gap=1")
    assert struct.unpack(">2I", answer.data[16:24]) == (most, most)
