"""The metrics of HeadVis: by hand, against transformers' attentions, and in parts of a long sentence."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headscape
from store import Corpus, StoreError, open_corpus
from store.headvis import read_rows_of_patterns
from store.kernels.headvis import METRICS, MetricSums, largest_weight, strongest_keys
from tests.family_models import eager_patterns, save_family
from tests.headvis import metrics_of


def summed(*sentences: tuple[np.ndarray, list[int]]) -> np.ndarray:
    """(metric,) of one head."""
    sums = MetricSums(1)
    for weights, ids in sentences:
        sums.add(weights[None], np.array(ids))
    return sums.metrics[:, 0]


def test_metrics_of_three_tokens_by_hand() -> None:
    """The third token is the first again: what follows the first is the second."""
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
    """Transformers' attentions (layer, head, query, key) in every sentence, and its token ids."""
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
    """A mask, and numbers by distance."""
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
