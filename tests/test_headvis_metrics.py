"""The metrics of HeadVis: by hand, against transformers' attention, in parts of a long sentence, and of a model from its files."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr

import headscape
from store import Corpus, StoreError, open_corpus
from store.headvis import MOST_PLACES, read_rows_of_patterns
from store.kernels.headvis import METRICS, MetricSums, largest_weight, strongest_keys
from tests.family_models import eager_patterns, save_family
from tests.headvis import metrics_of

ROW = {"layer": 0, "head": 0, "qk_distance": 2.5}


def summed(*sentences: tuple[np.ndarray, list[int]]) -> np.ndarray:
    """Metrics (metric,) of one head by the sums of the product."""
    sums = MetricSums(1)
    for weights, ids in sentences:
        sums.add(weights[None], np.array(ids))
    return sums.metrics[:, 0]


def test_metrics_of_three_tokens_by_hand() -> None:
    """The third token repeats the first, which the second follows: induction is its weight on the second."""
    weights = np.array([[1, 0, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]])
    entropy = (np.log(2) + 0.5 * np.log(4) + 0.5 * np.log(2)) / 3
    distance = (0 + 0.5 + 0.75) / 3
    variance = (0 + 0.5 + 1.25) / 3 - distance**2
    expected = [2 / 3, (0.5 + 0.25) / 2, entropy, distance, variance, 0.25]
    np.testing.assert_allclose(summed((weights, [7, 8, 7])), expected)


def test_a_weight_below_the_threshold_adds_nothing_to_induction() -> None:
    weights = np.array([[1, 0, 0], [0.5, 0.5, 0], [0.5, 0.0099, 0.4901]])
    assert summed((weights, [7, 8, 7]))[5] == 0


def test_every_earlier_occurrence_adds_to_induction() -> None:
    weights = np.array([[1, 0, 0], [0.5, 0.5, 0], [0.1, 0.3, 0.6]])
    assert summed((weights, [7, 7, 7]))[5] == pytest.approx((0.5 + 0.9) / 2)


def test_without_a_repeated_token_there_is_no_induction() -> None:
    assert np.isnan(summed((np.eye(3), [1, 2, 3]))[5])


def test_a_long_sentence_weighs_more() -> None:
    one, three = np.eye(2), np.full((4, 4), 0.25)
    assert summed((one, [1, 2]), (three, [1, 2, 3, 4]))[0] == pytest.approx((2 + 1) / 6)


def test_the_first_token_has_no_part_in_the_largest_weight() -> None:
    weights = np.array([[[0.9, 0.1, 0], [0.7, 0.1, 0.2], [0.6, 0.3, 0.1]]])
    assert largest_weight(weights) == 0.3
    assert [largest_weight(weights[:, part], part.start) for part in (slice(0, 1), slice(1, 2))] == [0, 0.2]


def test_eight_keys_of_a_query_are_kept_by_position_and_small_weights_are_not() -> None:
    row = np.array([0.01, 0.2, 0.0049, 0.02, 0.03, 0.1, 0.04, 0.05, 0.3, 0.00505, 0.06])
    found = strongest_keys(np.stack([row, np.eye(11)[4]]))
    assert found.query.tolist() == [0] * 8 + [1]
    assert found.key.tolist() == [1, 3, 4, 5, 6, 7, 8, 10, 4]
    assert found.weight.tolist() == [0.2, 0.02, 0.03, 0.1, 0.04, 0.05, 0.3, 0.06, 1]


def eager_sentences(corpus: Corpus, model: Any) -> list[tuple[np.ndarray, list[int]]]:
    """Attention (layer, head, query, key) of transformers in every sentence, and the sentence's token ids."""
    ids = [corpus.tokens.token_id.values[corpus.sentence_rows(number)] for number in range(corpus.n_sentences)]
    with torch.no_grad():
        outputs = [model(torch.tensor(each[None]).long(), output_attentions=True).attentions for each in ids]
    return [
        (torch.cat(attentions).double().numpy(), each.tolist()) for attentions, each in zip(outputs, ids, strict=True)
    ]


def test_metrics_of_a_store_are_those_of_transformers_attentions(
    tiny_store: str, tiny_model: Path, eager: Callable[[Path], Any]
) -> None:
    corpus = open_corpus(tiny_store)
    sentences = eager_sentences(corpus, eager(tiny_model))
    found = headscape.headvis_metrics(corpus)
    for layer, head in np.ndindex(corpus.layers, corpus.heads):
        expected = metrics_of([(weights[layer, head], ids) for weights, ids in sentences])
        ours = {name: float(found[name][layer, head]) for name in METRICS}
        assert ours == pytest.approx(expected, abs=1e-3, rel=1e-3, nan_ok=True)


def test_rows_of_a_long_sentence_in_parts_are_its_pattern(tiny_store: str) -> None:
    corpus = open_corpus(tiny_store)
    parts = [weights for _, _, weights in read_rows_of_patterns(corpus, 1, [3], room=100)]
    assert len(parts) > 1
    np.testing.assert_allclose(np.concatenate(parts, axis=1), corpus.weights(3, layer=1), atol=1e-6)


@pytest.mark.parametrize("family", ["gpt2", pytest.param("deberta-v2", marks=pytest.mark.slow)])
def test_metrics_are_of_what_a_family_adds_to_scores(family: str, ingest: Callable[..., str], tmp_path: Path) -> None:
    """GPT-2 adds a mask to its scores, DeBERTa numbers by distance."""
    model = save_family(tmp_path / "model", family)
    corpus = open_corpus(ingest(tmp_path / "store", model=model, sentences=10))
    ids = [corpus.tokens.token_id.values[corpus.sentence_rows(number)].astype(np.int64) for number in range(10)]
    patterns = eager_patterns(model, ids)
    found = headscape.headvis_metrics(corpus)
    for layer, head in np.ndindex(corpus.layers, corpus.heads):
        own = [(pattern[layer, head], each.tolist()) for pattern, each in zip(patterns, ids, strict=True)]
        ours = {name: float(found[name][layer, head]) for name in METRICS}
        assert ours == pytest.approx(metrics_of(own), abs=2e-3, rel=2e-3, nan_ok=True)


@pytest.mark.parametrize("sentences", [0, 2.5, "3", True])
def test_metrics_are_of_a_whole_number_of_sentences(sentences: Any, tiny_store: str) -> None:
    with pytest.raises(
        StoreError, match=rf"^There are no metrics of {sentences!r} sentences\. Give at least 1, a whole"
    ):
        headscape.headvis_metrics(open_corpus(tiny_store), sentences)


def test_metrics_of_a_sentence_in_parts_are_those_of_the_whole() -> None:
    weights, ids = np.random.default_rng(0).dirichlet(np.ones(9), (2, 9)), np.array([1, 2, 1, 3, 2, 1, 1, 4, 3])
    whole, parts = MetricSums(2), MetricSums(2)
    whole.add(weights, ids)
    for first in (0, 2, 7):
        parts.add(weights[:, first : {0: 2, 2: 7, 7: 9}[first]], ids, first)
    np.testing.assert_allclose(parts.metrics, whole.metrics)


def tree(place: Path, rows: Any, config: Any = None) -> Path:
    place.mkdir(exist_ok=True)
    (place / "config.json").write_text(json.dumps(config or {"model_name": "org/other"}))
    (place / "scatter_data.json").write_text(rows if isinstance(rows, str) else json.dumps(rows))
    return place


def problem(place: Path) -> str:
    with pytest.raises(StoreError) as raised:
        headscape.read_headvis(place)
    text = str(raised.value)
    assert "\n" not in text
    assert text.endswith((".", "`headscape export` writes it."))
    return text


def test_a_tree_has_its_metrics_by_layer_and_head(tmp_path: Path) -> None:
    rows = [{"layer": layer, "head": head, "pattern_entropy": layer + 10 * head} for layer in (0, 1) for head in (0, 2)]
    found = headscape.read_headvis(tree(tmp_path, rows))
    assert found.sizes == {"layer": 2, "head": 3}
    np.testing.assert_array_equal(found.pattern_entropy, [[0, np.nan, 20], [1, np.nan, 21]])
    assert list(found) == list(METRICS)


def test_a_tree_says_what_it_is_of(tmp_path: Path) -> None:
    pipeline = {"model_name": "org/other", "dataset_name": "pile", "n_sequences": 7, "seq_len": 512}
    found = headscape.read_headvis(tree(tmp_path, [ROW], {"pipeline_config": pipeline, "n_layers": 1}))
    assert found.attrs == {"model": "org/other", "data": "pile", "sentences": 7, "max_length": 512}


def test_a_name_is_one_line_of_bounded_length(tmp_path: Path) -> None:
    found = headscape.read_headvis(tree(tmp_path, [ROW], {"model_name": "a\n\tb" + 1000 * "c"}))
    assert found.attrs["model"].startswith("a bc")
    assert len(found.attrs["model"]) == 200


def test_a_metric_goes_by_the_name_that_headvis_itself_gives_it(tmp_path: Path) -> None:
    found = headscape.read_headvis(tree(tmp_path, [ROW | {"previous_token_score": 0.5}]))
    assert float(found.prev_token_score[0, 0]) == 0.5


def test_a_file_of_tables_of_neuronpedia_is_read(tmp_path: Path) -> None:
    file = tmp_path / "gpt2.json"
    tables = {"qk_distance": [[1, 2, 3], [4, 5, 6]], "induction_score": [[0, None, 0], [0, 0, 1]]}
    file.write_text(json.dumps({"config": {"model_name": "gpt2", "n_sequences": 4096}, "metrics": tables}))
    found = headscape.read_headvis(file)
    np.testing.assert_array_equal(found.qk_distance, tables["qk_distance"])
    assert np.isnan(found.induction_score[0, 1])
    assert found.attrs == {"model": "gpt2", "sentences": 4096}


def test_models_of_two_sizes_can_be_joined(tmp_path: Path) -> None:
    one = headscape.read_headvis(tree(tmp_path / "a", [ROW]))
    two = headscape.read_headvis(tree(tmp_path / "b", [ROW | {"head": 1}]))
    joined = xr.concat([one, two], "model", join="outer", combine_attrs="drop")
    assert joined.qk_distance.sel(model=1, layer=0, head=1) == 2.5


def test_numbers_that_are_not_finite_are_missing(tmp_path: Path) -> None:
    rows = '[{"layer":0,"head":0,"qk_distance":NaN,"pattern_entropy":1e999,"induction_score":1}]'
    found = headscape.read_headvis(tree(tmp_path, rows))
    assert np.isnan(found.qk_distance).all()
    assert np.isnan(found.pattern_entropy).all()


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("{", "is not JSON, or is damaged"),
        ("[" * 100_000, "is not JSON, or is damaged"),
        ({}, "it lists no heads"),
        ([], "it lists no heads"),
        ([3], "a row has no layer and head from 0"),
        ([{"layer": 0}], "a row has no layer and head from 0"),
        ([ROW | {"layer": -1}], "a row has no layer and head from 0"),
        ([ROW | {"layer": True}], "a row has no layer and head from 0"),
        ([ROW | {"head": MOST_PLACES}], "a row has no layer and head from 0"),
        ([ROW | {"layer": 4000}, ROW | {"head": 4000}], "4,001 layers of 4,001 heads are more than 131,072"),
        ([ROW, ROW], "it lists a head twice"),
        ([ROW | {"qk_distance": "far"}], "a metric is not a number"),
        ([{"layer": 0, "head": 0, "loss": 1}], "has none of the metrics self_attention_score"),
    ],
)
def test_a_tree_that_is_broken_is_one_sentence(rows: Any, said: str, tmp_path: Path) -> None:
    assert said in problem(tree(tmp_path, rows))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([], "its content is not an object"),
        ({"config": {}, "metrics": {}}, "it has no table of a metric"),
        ({"config": {}, "metrics": {"qk_distance": [[1], [1, 2]]}}, "a table has no rows of the same size"),
        ({"config": {}, "metrics": {"qk_distance": [[1]], "induction_score": [[1, 2]]}}, "different sizes"),
    ],
)
def test_a_file_of_something_else_is_one_sentence(content: Any, said: str, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text(json.dumps(content))
    assert said in problem(tmp_path / "other.json")


def test_a_folder_without_a_tree_is_one_sentence(tmp_path: Path) -> None:
    assert problem(tmp_path / "nowhere").startswith(
        f"There is no tree of HeadVis at {tmp_path / 'nowhere'}. Give a folder"
    )


def test_a_tree_without_its_scatter_is_one_sentence(tmp_path: Path) -> None:
    (tree(tmp_path, [ROW]) / "scatter_data.json").unlink()
    assert "scatter_data.json cannot be read (No such file or directory)" in problem(tmp_path)


def test_sentences_of_one_token_have_no_metrics() -> None:
    rows = SimpleNamespace(row_size=SimpleNamespace(values=np.ones(3, int)))
    corpus: Any = SimpleNamespace(n_sentences=3, sentences=rows)
    with pytest.raises(
        StoreError, match=r"^Each of the first 3 sentences has a single token\. Ingest longer sentences\.$"
    ):
        headscape.headvis_metrics(corpus)
