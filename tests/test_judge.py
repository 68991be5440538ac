"""The judge of pictures: all rows of a head at once give the measures of `store.kernels.projection`."""

import numpy as np
import pytest

from ingest.encode.sample import evenly
from ingest.projections.head_view import Judge
from ingest.projections.normalizations import LayerVectors
from store.kernels.attention import attention_pattern
from store.kernels.bias import AttentionBias, LayerBias, Mask
from store.kernels.projection import recall, screen_distance, spearman, trustworthy
from store.schema.pictures import MEASURES, RECALL_KEYS

HEADS = 3
ENDS = np.cumsum([1, 2, 9, 30, 3])
SPANS = np.stack([np.append(0, ENDS[:-1]), ENDS], axis=-1)
RANDOM = np.random.default_rng(0)
QUERY, KEY = RANDOM.standard_normal((2, HEADS, ENDS[-1], 6)).astype(np.float32)
PLACES = RANDOM.standard_normal((HEADS, 2, ENDS[-1], 2))


@pytest.fixture(scope="module")
def measured() -> dict[str, np.ndarray]:
    judge = Judge.of({"raw": LayerVectors(QUERY, KEY)}, SPANS)
    return dict(zip(MEASURES, judge.measures(PLACES, "raw"), strict=True))


def of_sentences() -> list[tuple[np.ndarray, np.ndarray]]:
    """Pattern and distance of each sentence."""
    rows = [slice(*span) for span in SPANS]
    return [
        (attention_pattern(QUERY[:, own], KEY[:, own]), screen_distance(PLACES[:, 0, own], PLACES[:, 1, own]))
        for own in rows
    ]


def test_spearman_is_the_mean_over_sentences(measured: dict[str, np.ndarray]) -> None:
    expected = np.mean([spearman(*sentence) for sentence in of_sentences()], axis=0)
    np.testing.assert_allclose(measured["spearman"], expected, rtol=1e-6)


def test_recall_is_the_mean_over_sentences(measured: dict[str, np.ndarray]) -> None:
    expected = np.mean([recall(*sentence, k=RECALL_KEYS) for sentence in of_sentences()], axis=0)
    np.testing.assert_allclose(measured["recall"], expected)


def test_across_is_spearman_of_keys_from_anywhere(measured: dict[str, np.ndarray]) -> None:
    distance = screen_distance(PLACES[:, 0], PLACES[:, 1])
    np.testing.assert_allclose(measured["across"], spearman(QUERY @ KEY.swapaxes(1, 2), distance), rtol=1e-6)


def test_trustworthiness_is_that_of_queries_and_keys_together(measured: dict[str, np.ndarray]) -> None:
    vectors, places = np.concatenate([QUERY, KEY], axis=1), np.concatenate([PLACES[:, 0], PLACES[:, 1]], axis=1)
    expected = [trustworthy(*head) for head in zip(vectors, places, strict=True)]
    np.testing.assert_allclose(measured["trustworthiness"], expected)


def test_equal_weights_and_equal_distances_have_their_mean_rank() -> None:
    """All tokens are one sentence; keys are repeated, and places are on a grid."""
    key, places = np.repeat(KEY[:, ::3], 3, axis=1)[:, : ENDS[-1]], np.round(PLACES)
    judge = Judge.of({"raw": LayerVectors(QUERY, key)}, np.array([[0, ENDS[-1]]]))
    expected = spearman(attention_pattern(QUERY, key), screen_distance(places[:, 0], places[:, 1]))
    np.testing.assert_allclose(judge.measures(places, "raw")[MEASURES.index("spearman")], expected, rtol=1e-6)


def test_few_tokens_are_not_trusted() -> None:
    some = evenly(1, 1)
    judge = Judge.of({"raw": LayerVectors(QUERY[:, some], KEY[:, some])}, np.array([[0, 1]]))
    measures = dict(zip(MEASURES, judge.measures(PLACES[:, :, some], "raw"), strict=True))
    assert np.isnan(measures["trustworthiness"]).all()


def test_recall_of_a_query_is_of_the_keys_that_it_sees() -> None:
    """Places are on a line: of the 1, 2, 3 and 3 most attended keys of a query, 1, 0, 3 and 2 are among as many nearest."""
    causal = AttentionBias([LayerBias(Mask(causal=True))])
    vectors = LayerVectors(*np.array([[[[1], [1], [1], [1]]], [[[4], [3], [2], [1]]]], np.float32))
    line = np.array([[[[0], [2.4], [1], [3.5]], [[0], [1], [2.5], [3.5]]]])
    judge = Judge.of({"raw": vectors}, np.array([[0, 4]]), causal)
    found = judge.measures(line, "raw")[MEASURES.index("recall")]
    np.testing.assert_allclose(found, (1 + 0 + 1 + 2 / 3) / 4)
    pattern = attention_pattern(vectors.query, vectors.key, bias=causal)
    np.testing.assert_allclose(found, recall(pattern, screen_distance(line[:, 0], line[:, 1]), k=RECALL_KEYS))
