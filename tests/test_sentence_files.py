"""Numbers of a sentence as files: every row of a CSV against its sentence."""

import numpy as np
import pytest
from flask.testing import FlaskClient

from store.schema.model import RATIOS
from tests.client import content, csv_rows
from tests.sentences import a_pair


def test_a_file_of_a_neuron_has_every_step_of_every_key(sentence_client: FlaskClient, typed_sentence: str) -> None:
    rows = csv_rows(content(sentence_client, f"{typed_sentence}/neuron/1/2/4.csv?text=x"))
    pair = a_pair()
    for key, row in enumerate(rows):
        channels = range(pair.query.shape[-1])
        products = [float(row[f"q{channel}"]) * float(row[f"k{channel}"]) for channel in channels]
        assert [float(row[f"product{channel}"]) for channel in channels] == pytest.approx(products, rel=1e-4, abs=1e-6)
        assert float(row["dot"]) == pytest.approx(sum(products), abs=1e-4)
        assert float(row["weight"]) == pytest.approx(pair.pattern[1, 2, 4, key], rel=1e-4)
    assert [row["key"] for row in rows] == list(pair.wordpieces)


def test_a_file_of_the_mixing_has_every_ratio_of_each_token_and_layer(
    sentence_client: FlaskClient, typed_sentence: str
) -> None:
    rows = csv_rows(content(sentence_client, f"{typed_sentence}/mixing.csv?text=x"))
    pair = a_pair()
    assert len(rows) == pair.mixing[0].size
    for row in rows:
        numbers = [float(row[name]) for name in RATIOS]
        expected = pair.mixing[:, int(row["layer"]), int(row["position"])].tolist()
        assert numbers == pytest.approx(expected, rel=1e-5)


def test_a_file_has_a_row_for_each_query_and_key(sentence_client: FlaskClient, typed_sentence: str) -> None:
    rows = csv_rows(content(sentence_client, f"{typed_sentence}/weights/1/2.csv?text=x"))
    assert list(rows[0]) == ["head", "query", "query_position", "key", "key_position", "weight", "provenance"]
    assert rows[2 * 9 + 4] == {**rows[22], "query": "zan", "query_position": "2", "key": "film", "key_position": "4"}
    weights = np.array([float(row["weight"]) for row in rows]).reshape(9, 9)
    np.testing.assert_allclose(weights, a_pair().pattern[1, 2], rtol=1e-5)


@pytest.mark.parametrize(("query", "heads"), [("", [2]), ("heads=0.2", [0, 2]), ("heads=2.0.1.1", [0, 1, 2])])
def test_a_file_has_the_heads_the_link_says(
    sentence_client: FlaskClient, typed_sentence: str, query: str, heads: list[int]
) -> None:
    rows = csv_rows(content(sentence_client, f"{typed_sentence}/weights/1/2.csv?text=x&{query}"))
    assert [int(row["head"]) for row in rows] == np.repeat(heads, 81).tolist()
    weights = np.array([float(row["weight"]) for row in rows]).reshape(-1, 9, 9)
    np.testing.assert_allclose(weights, a_pair().pattern[1, heads], rtol=1e-5)


@pytest.mark.parametrize(
    ("query", "layers", "heads", "named"),
    [
        ("mean=heads", [1], [0, 1, 2], "mean"),
        ("mean=heads&heads=0.2", [1], [0, 2], "mean"),
        ("mean=layers", [0, 1], [2], "2"),
        ("mean=both", [0, 1], [0, 1, 2], "mean"),
    ],
)
def test_a_file_of_a_mean_is_over_what_the_link_says(
    sentence_client: FlaskClient, typed_sentence: str, query: str, layers: list[int], heads: list[int], named: str
) -> None:
    rows = csv_rows(content(sentence_client, f"{typed_sentence}/weights/1/2.csv?text=x&{query}"))
    assert {row["head"] for row in rows} == {named}
    weights = np.array([float(row["weight"]) for row in rows]).reshape(9, 9)
    np.testing.assert_allclose(weights, a_pair().pattern[layers][:, heads].mean(axis=(0, 1)), rtol=1e-5)


def test_a_file_of_words_has_words(sentence_client: FlaskClient, typed_sentence: str) -> None:
    rows = csv_rows(content(sentence_client, f"{typed_sentence}/weights/0/0.csv?text=x&words=1"))
    assert [row["key"] for row in rows[:8]] == ["[CLS]", "the", "zany", "film", "[SEP]", "was", "good", "[SEP]"]
    assert [row["key_position"] for row in rows[:8]] == ["0", "1", "2", "4", "5", "6", "7", "8"]


def test_a_file_of_nothing_has_its_columns(sentence_client: FlaskClient, typed_sentence: str) -> None:
    hidden = content(sentence_client, f"{typed_sentence}/weights/0/0.csv?text=x&hide=0.1.2.3.4.5.6.7.8")
    titles = ("head", "query", "query_position", "key", "key_position", "weight", "provenance")
    assert hidden.decode("utf-8-sig") == ",".join(f'"{title}"' for title in titles) + "\n"


def test_a_file_of_a_rollout_is_the_same_for_every_head(sentence_client: FlaskClient, stored_sentence: str) -> None:
    first, second = (content(sentence_client, f"{stored_sentence}/weights/1/{head}.csv?rollout=1") for head in (0, 1))
    assert first == second
