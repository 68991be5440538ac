"""The metrics of another model, from a tree of HeadVis: as exported, of other writers, and what is no such tree."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import headscape
from store import StoreError
from store.headvis_tree import MOST_PLACES
from store.kernels.headvis import METRICS

ROW = {"layer": 0, "head": 0, "qk_distance": 2.5}


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
