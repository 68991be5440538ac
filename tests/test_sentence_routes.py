"""Answers of the server about one sentence: bytes decoded by hand, numbers, and refusals."""

import re
import struct
from urllib.parse import quote

import numpy as np
import pytest
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store import Corpus
from tests.client import content
from tests.sentences import a_pair

NAMES = (
    "weights",
    "pair",
    "hide",
    "special",
    "renormalize",
    "words",
    "rollout",
    "side",
    "mean",
    "layer",
    "heads",
    "text",
    "second",
)


def layer_of(content: bytes) -> np.ndarray:
    """Weights (head, query, key), decoded by hand."""
    assert content[:4] == b"HSL1"
    heads, queries, keys, most = struct.unpack("<3If", content[4:20])
    return np.frombuffer(content[20:], "<u2").reshape(heads, queries, keys) / 65535 * most


def model_of(content: bytes) -> np.ndarray:
    """Thumbnails (layer, head, row, column), decoded by hand."""
    assert content[:4] == b"HST1"
    *shape, most = struct.unpack("<4If", content[4:24])
    return np.frombuffer(content[24:], np.uint8).reshape(shape) / 255 * most


def test_a_layer_holds_the_weights_of_every_head(
    sentence_client: FlaskClient, stored_sentence: str, tiny_corpus: Corpus
) -> None:
    weights = layer_of(content(sentence_client, f"{stored_sentence}/layer/1.bin"))
    np.testing.assert_allclose(weights, tiny_corpus.pattern(3, layer=1).values, atol=1 / 65535)


def test_the_scale_of_attention_ends_at_one(sentence_client: FlaskClient, stored_sentence: str) -> None:
    assert struct.unpack("<f", content(sentence_client, f"{stored_sentence}/layer/0.bin")[16:20]) == (1.0,)


def test_a_layer_by_norm_is_scaled_by_its_largest_weight(sentence_client: FlaskClient, typed_sentence: str) -> None:
    weights = layer_of(content(sentence_client, f"{typed_sentence}/layer/1.bin?text=x&weights=norm"))
    pair = a_pair()
    expected = pair.pattern[1] * pair.value_norm[1][:, None, :]
    assert expected.max() > 1
    np.testing.assert_allclose(weights, expected, atol=expected.max() / 65535)


def test_what_is_shown_is_what_the_link_says(sentence_client: FlaskClient, typed_sentence: str) -> None:
    weights = layer_of(content(sentence_client, f"{typed_sentence}/layer/0.bin?text=x&pair=ab&hide=1"))
    shown_positions = [0, 2, 3, 4, 5]
    np.testing.assert_allclose(weights, a_pair().pattern[0][:, shown_positions, 6:], atol=1 / 65535)


def test_a_rollout_has_one_head(sentence_client: FlaskClient, stored_sentence: str) -> None:
    assert len(layer_of(content(sentence_client, f"{stored_sentence}/layer/1.bin?rollout=1"))) == 1


def test_thumbnails_hold_every_head_of_every_layer(
    sentence_client: FlaskClient, stored_sentence: str, tiny_corpus: Corpus
) -> None:
    thumbnails = model_of(content(sentence_client, f"{stored_sentence}/model.bin"))
    np.testing.assert_allclose(thumbnails, tiny_corpus.pattern(3).values, atol=1 / 255)


@pytest.mark.parametrize("side", [1, 2, 4, 7, 8])
def test_a_smaller_thumbnail_keeps_the_largest_weight_of_every_cell(
    sentence_client: FlaskClient, typed_sentence: str, side: int
) -> None:
    thumbnails = model_of(content(sentence_client, f"{typed_sentence}/model.bin?text=x&side={side}"))
    ends = [(9 * cell // side, 9 * (cell + 1) // side) for cell in range(side)]
    expected = [[a_pair().pattern[:, :, a:b, c:d].max(axis=(2, 3)) for c, d in ends] for a, b in ends]
    np.testing.assert_allclose(thumbnails, np.moveaxis(expected, (0, 1), (2, 3)), atol=1 / 255)


@pytest.mark.parametrize(
    ("query", "layers", "heads"),
    [
        ("mean=heads", [1], [0, 1, 2]),
        ("mean=heads&heads=0.2", [1], [0, 2]),
        ("mean=layers", [0, 1], [2]),
        ("mean=both", [0, 1], [0, 1, 2]),
        ("", [1], [2]),
        ("mean=median", [1], [2]),
    ],
)
def test_a_matrix_is_the_mean_over_what_the_link_says(
    sentence_client: FlaskClient, typed_sentence: str, query: str, layers: list[int], heads: list[int]
) -> None:
    matrix = layer_of(content(sentence_client, f"{typed_sentence}/matrix.bin?text=x&layer=1&head=2&{query}"))
    expected = a_pair().pattern[layers][:, heads].mean(axis=(0, 1))
    np.testing.assert_allclose(matrix, expected[None], atol=1 / 65535)


def test_a_matrix_of_a_rollout_is_the_rollout(sentence_client: FlaskClient, stored_sentence: str) -> None:
    matrix = content(sentence_client, f"{stored_sentence}/matrix.bin?layer=1&head=1&mean=heads&rollout=1")
    assert matrix == content(sentence_client, f"{stored_sentence}/layer/1.bin?rollout=1")


def test_a_mean_leaves_the_sentence_as_it_is(sentence_client: FlaskClient, stored_sentence: str) -> None:
    before = content(sentence_client, f"{stored_sentence}/layer/0.bin?rollout=1")
    content(sentence_client, f"{stored_sentence}/matrix.bin?mean=both&rollout=1")
    assert content(sentence_client, f"{stored_sentence}/layer/0.bin?rollout=1") == before


def test_a_sentence_of_which_nothing_is_shown_has_no_rows(sentence_client: FlaskClient, typed_sentence: str) -> None:
    hidden = "text=x&hide=0.1.2.3.4.5.6.7.8&weights=norm"
    assert layer_of(content(sentence_client, f"{typed_sentence}/layer/0.bin?{hidden}")).shape == (3, 0, 0)
    assert model_of(content(sentence_client, f"{typed_sentence}/model.bin?{hidden}&side=4")).shape == (2, 3, 0, 0)


def test_bytes_are_compressed_for_who_reads_that(sentence_client: FlaskClient, stored_sentence: str) -> None:
    url, gzip = f"{stored_sentence}/layer/0.bin", {"Accept-Encoding": "gzip"}
    whole = sentence_client.get(url)
    assert sentence_client.get(url, headers=gzip).headers.get("Content-Encoding", "") == (
        "gzip" if len(whole.data) > 1_000 else ""
    )
    assert "immutable" in whole.headers["Cache-Control"]


def test_a_neuron_shows_how_each_weight_comes_about(sentence_client: FlaskClient, typed_sentence: str) -> None:
    steps = sentence_client.get(f"{typed_sentence}/neuron/1/2/4.json?text=x").get_json()
    pair = a_pair()
    np.testing.assert_allclose(steps["query"], pair.query[1, 2, 4], rtol=1e-5)
    for key, step in enumerate(steps["keys"]):
        np.testing.assert_allclose(step["key"], pair.key[1, 2, key], rtol=1e-5)
        np.testing.assert_allclose(step["product"], pair.query[1, 2, 4] * pair.key[1, 2, key], rtol=1e-4)
        assert step["dot"] == pytest.approx(sum(step["product"]), abs=1e-4)
        assert step["logit"] == pytest.approx(step["dot"] / 2, abs=1e-4)
        assert step["weight"] == pytest.approx(pair.pattern[1, 2, 4, key], rel=1e-4)
    assert len(steps["keys"]) == 9


def test_numbers_of_a_neuron_have_six_digits(sentence_client: FlaskClient, typed_sentence: str) -> None:
    steps = sentence_client.get(f"{typed_sentence}/neuron/0/0/0.json?text=x").get_json()
    numbers = [*steps["query"], *(key["weight"] for key in steps["keys"])]
    assert all(len(re.sub(r"e.*|^0\.0*|\D", "", repr(abs(number)))) <= 6 for number in numbers)


@pytest.mark.parametrize(
    "place",
    [
        "sentence/40/layer/0.bin",
        "sentence/999999999999999999999999/model.bin",
        "sentence/3/layer/2.bin",
        "sentence/3/neuron/2/0/0.json",
        "sentence/3/neuron/0/2/0.json",
        "sentence/3/neuron/0/0/128.json",
        "sentence/3/neuron/0/0/128.csv",
        "sentence/3/weights/0/2.csv",
        "sentence/3/weights/2/0.csv?rollout=1",
        "sentence/3/weights/0/0.csv?heads=0.2",
        "sentence/3/matrix.bin?layer=2",
        "sentence/3/matrix.bin?head=2",
        "sentence/3/matrix.bin?heads=0.2",
        "typed/layer/2.bin?text=x",
        "typed/neuron/0/0/9.json?text=x",
        "typed/model.bin",
    ],
)
def test_a_missing_part_answers_with_what_to_do(sentence_client: FlaskClient, base: str, place: str) -> None:
    response = sentence_client.get(f"{base}/{place}")
    assert response.status_code == 404
    assert re.search(r"\. (Choose|Give) [^\n]*\.$", response.text), response.text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    given=st.dictionaries(
        st.sampled_from(NAMES), st.text(max_size=20) | st.sampled_from(["1", "norm", "ab", "0.3", "heads", "both"])
    ),
    place=st.sampled_from(
        ["layer/0.bin", "model.bin", "matrix.bin", "neuron/0/0/0.json", "weights/0/0.csv", "mixing.csv"]
    ),
    source=st.sampled_from(["sentence/3", "typed"]),
)
def test_no_query_string_breaks_the_server(
    sentence_client: FlaskClient, base: str, given: dict[str, str], place: str, source: str
) -> None:
    query = "&".join(f"{name}={quote(text, errors='replace')}" for name, text in given.items())
    assert sentence_client.get(f"{base}/{source}/{place}?{query}").status_code in (200, 404)
