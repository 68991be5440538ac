"""`headscape export`: the tree of HeadVis has the fields that its pages and Neuronpedia's loaders read, and the numbers of the store."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dashboard.exchange.files import LONGEST, OF_EACH, OF_LAST, sampled_sentences
from dashboard.export import main
from headscape import headvis_metrics
from store import Corpus, open_corpus
from store.kernels.headvis import METRICS


def exported(store: str, place: Path, *flags: str) -> Path:
    assert main([store, f"--out={place}", *flags]) == 0
    return place


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


@pytest.fixture(scope="session")
def tree(roles_store: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported(roles_store, tmp_path_factory.mktemp("tree") / "imdb")


@pytest.fixture(scope="module")
def corpus(roles_store: str) -> Corpus:
    return open_corpus(roles_store)


@pytest.fixture(scope="module")
def head(tree: Path) -> dict[str, Any]:
    return dict(read(tree / "heads/L1H0.json"))


def test_every_head_has_a_file_beside_the_four_of_the_model(tree: Path, corpus: Corpus) -> None:
    heads = {f"heads/L{layer}H{number}.json" for layer, number in np.ndindex(corpus.layers, corpus.heads)}
    others = {"config.json", "scatter_data.json", "server_config.json", "attributions/manifest.json"}
    found = {path.relative_to(tree).as_posix() for path in tree.rglob("*.json")}
    assert found == heads | others | {"headscape.json"}
    assert read(tree / "server_config.json") == read(tree / "attributions/manifest.json") == {}


def test_the_config_has_what_loaders_need(tree: Path, corpus: Corpus) -> None:
    config = read(tree / "config.json")
    pipeline = config["pipeline_config"]
    needed = ("model_name", "dataset_name", "n_sequences", "seq_len", "dtype", "attn_implementation")
    assert [name for name in needed if pipeline.get(name) is None] == []
    assert (pipeline["n_sequences"], pipeline["seq_len"]) == (corpus.n_sentences, 24)
    assert (config["heads"][-1], config["n_intervals"]) == ([corpus.layers - 1, corpus.heads - 1], 5)
    assert config["metrics"] == list(METRICS) == list(config["metric_descriptions"])
    assert (pipeline["attention"], pipeline["snapshot"]) == ("bidirectional", corpus.snapshot)


def test_no_path_of_this_machine_is_in_the_tree(tree: Path) -> None:
    assert not re.search(r'"/|\\\\|tmp', (tree / "config.json").read_text("utf-8"))


def test_the_scatter_has_the_metrics_of_every_head(tree: Path, corpus: Corpus) -> None:
    metrics = headvis_metrics(corpus)
    rows = read(tree / "scatter_data.json")
    assert len(rows) == corpus.layers * corpus.heads
    for row in rows:
        expected = {name: float(metrics[name][row["layer"], row["head"]]) for name in METRICS}
        assert {name: row[name] for name in METRICS} == pytest.approx(expected, abs=6e-5)


def test_weights_of_a_sequence_are_those_of_the_pattern(head: dict[str, Any], corpus: Corpus) -> None:
    for sequence in head["sequences"]:
        pattern = corpus.weights(sequence["sequence_id"], layer=1, head=0)
        size = sequence["seq_len"]
        assert len(sequence["tokens"]) == size == len(pattern)
        places = np.array(sequence["attention_indices"])
        assert (np.diff(places) > 0).all()
        assert np.bincount(places // size).max() <= 8
        np.testing.assert_allclose(sequence["attention_values"], pattern.ravel()[places], atol=5.1e-5)
        assert sequence["max_activation"] == pytest.approx(pattern[1:, 1:].max(), abs=5.1e-5)


def test_sequences_are_of_five_intervals_the_last_with_the_largest(head: dict[str, Any]) -> None:
    largest = [[each["max_activation"] for each in head["sequences"] if each["interval"] == n] for n in range(1, 6)]
    assert [len(each) for each in largest[:4]] == [3] * 4
    assert largest[4] == sorted(largest[4], reverse=True)
    assert all(max(lower) <= min(higher) for lower, higher in pairwise(largest))


def test_histograms_count_every_sentence_and_the_mass_of_the_sample(head: dict[str, Any], corpus: Corpus) -> None:
    histogram, distances = head["histogram"], head["qk_distance_histogram"]
    assert sum(histogram["bin_values"]) == corpus.n_sentences
    assert len(histogram["bin_edges"]) == len(histogram["bin_values"]) + 1 == 51
    assert distances["bin_edges"] == [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]
    mass = sum(sum(each["attention_values"]) for each in head["sequences"])
    assert sum(distances["bin_values"]) == pytest.approx(mass, abs=1e-2)


def test_tables_rank_tokens_by_their_weight(head: dict[str, Any]) -> None:
    weights = dict.fromkeys(("[CLS]", "[SEP]"), 0.0)
    for each in head["sequences"]:
        for place, weight in zip(each["attention_indices"], each["attention_values"], strict=True):
            token = each["tokens"][place % each["seq_len"]]
            weights[token] = weights.get(token, 0) + weight
    table = head["top_key_tokens"]
    assert [row["weight"] for row in table] == sorted((row["weight"] for row in table), reverse=True)
    assert {row["token"]: row["weight"] for row in table} == pytest.approx(
        {row["token"]: weights[row["token"]] for row in table}, abs=1e-3
    )


def test_without_text_no_token_and_no_sentence_leaves(roles_store: str, corpus: Corpus, tmp_path: Path) -> None:
    tree = exported(roles_store, tmp_path / "tree", "--no-text")
    everything = " ".join(path.read_text("utf-8") for path in tree.rglob("*.json"))
    words = {str(piece) for piece in corpus.wordpieces(corpus.rows) if str(piece).isalpha() and len(piece) > 3}
    assert words & set(re.findall(r"\w+", everything)) <= {"head", "with", "data", "mean", "token"}
    assert "[CLS]" not in everything
    assert sum(read(tree / "heads/L0H0.json")["qk_distance_histogram"]["bin_values"]) > 0


def test_a_folder_of_somebody_else_stays(roles_store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert main([roles_store, f"--out={tmp_path}"]) == 1
    assert "was not made by `headscape export`" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_tree_takes_the_place_of_the_one_before(roles_store: str, tmp_path: Path) -> None:
    tree = exported(roles_store, tmp_path / "tree", "--sentences=5")
    (tree / "heads/L9H9.json").write_text("{}")
    exported(roles_store, tree, "--sentences=5")
    assert not (tree / "heads/L9H9.json").exists()


def test_an_unknown_model_is_one_sentence(roles_store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([roles_store, f"--out={tmp_path / 'tree'}", "--model=none"]) == 1
    assert capsys.readouterr().err.startswith("export: There is no model 'none' in this store. Choose one of: ")
    assert list(tmp_path.iterdir()) == []


# -- the sample ---------------------------------------------------------------------------------------


def test_a_sample_takes_three_of_each_fifth_and_the_ten_largest() -> None:
    largest = np.random.default_rng(1).permutation(100) / 100
    sample = sampled_sentences(largest, np.full(100, 9))
    assert [each.interval for each in sample] == [n for n in range(1, 5) for _ in range(OF_EACH)] + [5] * OF_LAST
    assert {int(100 * largest[each.sentence]) // 20 + 1 - each.interval for each in sample[:12]} == {0}
    assert [round(100 * largest[each.sentence]) for each in sample[12:]] == list(range(99, 89, -1))


def test_a_sample_is_the_same_again_and_leaves_out_long_sentences() -> None:
    largest, lengths = np.linspace(0, 1, 50), np.full(50, 9)
    lengths[49], lengths[0] = LONGEST + 1, 1
    sample = sampled_sentences(largest, lengths)
    assert sample == sampled_sentences(largest, lengths)
    assert not {0, 49} & {each.sentence for each in sample}


def test_sentences_that_are_all_alike_are_sampled() -> None:
    assert [each.interval for each in sampled_sentences(np.ones(4), np.full(4, 5))] == [5] * 4
