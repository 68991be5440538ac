"""What the server answers about one sentence: bytes decoded by hand, numbers, a file, and what it refuses."""

import csv
import io
import re
import struct
from collections.abc import Callable, Iterator
from urllib.parse import quote

import numpy as np
import pytest
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard import problems, routes
from dashboard.library import Library
from dashboard.sentence.sentence import Sentence
from store import Corpus, StoreError
from store.schema import RATIOS
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


class FakeTyped:
    """Knows one pair, and refuses an empty text."""

    def encode(self, corpus: Corpus, text: str, second: str, gone: Callable[[], bool]) -> Sentence:
        assert not gone()
        if not text.strip():
            raise StoreError(f"There is no text for {corpus.name}, nor in {second!r}. Give a sentence.")
        return a_pair()


@pytest.fixture(scope="module")
def client(tiny_store: str) -> Iterator[FlaskClient]:
    server = Flask("sentences")
    library = Library(tiny_store)
    library.typed = FakeTyped()  # type: ignore[assignment]
    routes.register(server, library)
    problems.register(server)
    with server.test_client() as client:
        yield client


@pytest.fixture
def stored(base: str) -> str:
    return f"{base}/sentence/3"


@pytest.fixture
def typed(base: str) -> str:
    return f"{base}/typed"


def content(client: FlaskClient, url: str) -> bytes:
    response = client.get(url)
    assert response.status_code == 200, response.text
    return response.data


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


def test_a_layer_holds_the_weights_of_every_head(client: FlaskClient, stored: str, tiny_corpus: Corpus) -> None:
    weights = layer_of(content(client, f"{stored}/layer/1.bin"))
    np.testing.assert_allclose(weights, tiny_corpus.pattern(3, layer=1).values, atol=1 / 65535)


def test_of_attention_the_largest_weight_is_said_to_be_one(client: FlaskClient, stored: str) -> None:
    assert struct.unpack("<f", content(client, f"{stored}/layer/0.bin")[16:20]) == (1.0,)


def test_a_layer_by_norm_is_scaled_by_its_largest_weight(client: FlaskClient, typed: str) -> None:
    weights = layer_of(content(client, f"{typed}/layer/1.bin?text=x&weights=norm"))
    pair = a_pair()
    expected = pair.pattern[1] * pair.value_norm[1][:, None, :]
    assert expected.max() > 1
    np.testing.assert_allclose(weights, expected, atol=expected.max() / 65535)


def test_what_is_shown_is_what_the_link_says(client: FlaskClient, typed: str) -> None:
    weights = layer_of(content(client, f"{typed}/layer/0.bin?text=x&pair=ab&hide=1"))
    kept = [0, 2, 3, 4, 5]
    np.testing.assert_allclose(weights, a_pair().pattern[0][:, kept, 6:], atol=1 / 65535)


def test_a_rollout_has_one_head(client: FlaskClient, stored: str) -> None:
    assert len(layer_of(content(client, f"{stored}/layer/1.bin?rollout=1"))) == 1


def test_thumbnails_hold_every_head_of_every_layer(client: FlaskClient, stored: str, tiny_corpus: Corpus) -> None:
    thumbnails = model_of(content(client, f"{stored}/model.bin"))
    np.testing.assert_allclose(thumbnails, tiny_corpus.pattern(3).values, atol=1 / 255)


@pytest.mark.parametrize("side", [1, 2, 4, 7, 8])
def test_a_smaller_thumbnail_keeps_the_largest_weight_of_every_cell(client: FlaskClient, typed: str, side: int) -> None:
    thumbnails = model_of(content(client, f"{typed}/model.bin?text=x&side={side}"))
    ends = [(9 * cell // side, 9 * (cell + 1) // side) for cell in range(side)]
    expected = [[a_pair().pattern[:, :, a:b, c:d].max(axis=(2, 3)) for c, d in ends] for a, b in ends]
    np.testing.assert_allclose(thumbnails, np.moveaxis(expected, (0, 1), (2, 3)), atol=1 / 255)


@pytest.mark.parametrize(
    ("asked", "layers", "heads"),
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
    client: FlaskClient, typed: str, asked: str, layers: list[int], heads: list[int]
) -> None:
    matrix = layer_of(content(client, f"{typed}/matrix.bin?text=x&layer=1&head=2&{asked}"))
    expected = a_pair().pattern[layers][:, heads].mean(axis=(0, 1))
    np.testing.assert_allclose(matrix, expected[None], atol=1 / 65535)


def test_a_matrix_of_a_rollout_is_the_rollout(client: FlaskClient, stored: str) -> None:
    matrix = content(client, f"{stored}/matrix.bin?layer=1&head=1&mean=heads&rollout=1")
    assert matrix == content(client, f"{stored}/layer/1.bin?rollout=1")


def test_a_mean_leaves_the_sentence_as_it_is(client: FlaskClient, stored: str) -> None:
    before = content(client, f"{stored}/layer/0.bin?rollout=1")
    content(client, f"{stored}/matrix.bin?mean=both&rollout=1")
    assert content(client, f"{stored}/layer/0.bin?rollout=1") == before


def test_a_sentence_of_which_nothing_is_shown_has_no_rows(client: FlaskClient, typed: str) -> None:
    hidden = "text=x&hide=0.1.2.3.4.5.6.7.8&weights=norm"
    assert layer_of(content(client, f"{typed}/layer/0.bin?{hidden}")).shape == (3, 0, 0)
    assert model_of(content(client, f"{typed}/model.bin?{hidden}&side=4")).shape == (2, 3, 0, 0)


def test_bytes_are_compressed_for_who_reads_that(client: FlaskClient, stored: str) -> None:
    url, gzip = f"{stored}/layer/0.bin", {"Accept-Encoding": "gzip"}
    whole = client.get(url)
    assert client.get(url, headers=gzip).headers.get("Content-Encoding", "") == (
        "gzip" if len(whole.data) > 1_000 else ""
    )
    assert "immutable" in whole.headers["Cache-Control"]


def test_a_neuron_shows_how_each_weight_comes_about(client: FlaskClient, typed: str) -> None:
    found = client.get(f"{typed}/neuron/1/2/4.json?text=x").get_json()
    pair = a_pair()
    np.testing.assert_allclose(found["query"], pair.query[1, 2, 4], rtol=1e-5)
    for key, one in enumerate(found["keys"]):
        np.testing.assert_allclose(one["key"], pair.key[1, 2, key], rtol=1e-5)
        np.testing.assert_allclose(one["product"], pair.query[1, 2, 4] * pair.key[1, 2, key], rtol=1e-4)
        assert one["dot"] == pytest.approx(sum(one["product"]), abs=1e-4)
        assert one["logit"] == pytest.approx(one["dot"] / 2, abs=1e-4)
        assert one["weight"] == pytest.approx(pair.pattern[1, 2, 4, key], rel=1e-4)
    assert len(found["keys"]) == 9


def test_numbers_of_a_neuron_have_six_digits(client: FlaskClient, typed: str) -> None:
    found = client.get(f"{typed}/neuron/0/0/0.json?text=x").get_json()
    numbers = [*found["query"], *(key["weight"] for key in found["keys"])]
    assert all(len(re.sub(r"e.*|^0\.0*|\D", "", repr(abs(number)))) <= 6 for number in numbers)


def rows_of(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def test_a_file_of_a_neuron_has_every_step_of_every_key(client: FlaskClient, typed: str) -> None:
    rows = rows_of(content(client, f"{typed}/neuron/1/2/4.csv?text=x"))
    pair = a_pair()
    for key, row in enumerate(rows):
        channels = range(pair.query.shape[-1])
        products = [float(row[f"q{channel}"]) * float(row[f"k{channel}"]) for channel in channels]
        assert [float(row[f"product{channel}"]) for channel in channels] == pytest.approx(products, rel=1e-4, abs=1e-6)
        assert float(row["dot"]) == pytest.approx(sum(products), abs=1e-4)
        assert float(row["weight"]) == pytest.approx(pair.pattern[1, 2, 4, key], rel=1e-4)
    assert [row["key"] for row in rows] == list(pair.wordpieces)


def test_a_file_of_the_mixing_has_every_ratio_of_each_token_and_layer(client: FlaskClient, typed: str) -> None:
    rows = rows_of(content(client, f"{typed}/mixing.csv?text=x"))
    pair = a_pair()
    assert len(rows) == pair.mixing[0].size
    for row in rows:
        found = [float(row[name]) for name in RATIOS]
        expected = pair.mixing[:, int(row["layer"]), int(row["position"])].tolist()
        assert found == pytest.approx(expected, rel=1e-5)


def test_a_file_has_a_row_for_each_query_and_key(client: FlaskClient, typed: str) -> None:
    rows = rows_of(content(client, f"{typed}/weights/1/2.csv?text=x"))
    assert list(rows[0]) == ["head", "query", "query_position", "key", "key_position", "weight"]
    assert rows[2 * 9 + 4] == {**rows[22], "query": "zan", "query_position": "2", "key": "film", "key_position": "4"}
    weights = np.array([float(row["weight"]) for row in rows]).reshape(9, 9)
    np.testing.assert_allclose(weights, a_pair().pattern[1, 2], rtol=1e-5)


@pytest.mark.parametrize(("asked", "heads"), [("", [2]), ("heads=0.2", [0, 2]), ("heads=2.0.1.1", [0, 1, 2])])
def test_a_file_has_the_heads_the_link_says(client: FlaskClient, typed: str, asked: str, heads: list[int]) -> None:
    rows = rows_of(content(client, f"{typed}/weights/1/2.csv?text=x&{asked}"))
    assert [int(row["head"]) for row in rows] == np.repeat(heads, 81).tolist()
    weights = np.array([float(row["weight"]) for row in rows]).reshape(-1, 9, 9)
    np.testing.assert_allclose(weights, a_pair().pattern[1, heads], rtol=1e-5)


@pytest.mark.parametrize(
    ("asked", "layers", "heads", "named"),
    [
        ("mean=heads", [1], [0, 1, 2], "mean"),
        ("mean=heads&heads=0.2", [1], [0, 2], "mean"),
        ("mean=layers", [0, 1], [2], "2"),
        ("mean=both", [0, 1], [0, 1, 2], "mean"),
    ],
)
def test_a_file_of_a_mean_is_over_what_the_link_says(
    client: FlaskClient, typed: str, asked: str, layers: list[int], heads: list[int], named: str
) -> None:
    rows = rows_of(content(client, f"{typed}/weights/1/2.csv?text=x&{asked}"))
    assert {row["head"] for row in rows} == {named}
    weights = np.array([float(row["weight"]) for row in rows]).reshape(9, 9)
    np.testing.assert_allclose(weights, a_pair().pattern[layers][:, heads].mean(axis=(0, 1)), rtol=1e-5)


def test_a_file_of_words_has_words(client: FlaskClient, typed: str) -> None:
    rows = rows_of(content(client, f"{typed}/weights/0/0.csv?text=x&words=1"))
    assert [row["key"] for row in rows[:8]] == ["[CLS]", "the", "zany", "film", "[SEP]", "was", "good", "[SEP]"]
    assert [row["key_position"] for row in rows[:8]] == ["0", "1", "2", "4", "5", "6", "7", "8"]


def test_a_file_of_nothing_has_its_columns(client: FlaskClient, typed: str) -> None:
    hidden = content(client, f"{typed}/weights/0/0.csv?text=x&hide=0.1.2.3.4.5.6.7.8")
    assert hidden == b"head,query,query_position,key,key_position,weight\r\n"


def test_a_file_of_a_rollout_is_the_same_for_every_head(client: FlaskClient, stored: str) -> None:
    first, second = (content(client, f"{stored}/weights/1/{head}.csv?rollout=1") for head in (0, 1))
    assert first == second


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
def test_what_is_not_there_is_said_with_what_to_do(client: FlaskClient, base: str, place: str) -> None:
    response = client.get(f"{base}/{place}")
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
    client: FlaskClient, base: str, given: dict[str, str], place: str, source: str
) -> None:
    query = "&".join(f"{name}={quote(text, errors='replace')}" for name, text in given.items())
    assert client.get(f"{base}/{source}/{place}?{query}").status_code in (200, 404)
