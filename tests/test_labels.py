"""Labels of heads, their neighbours and their order, on hand-made numbers."""

import math
from collections.abc import Mapping

import hypothesis.strategies as st
import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from scipy.spatial.distance import pdist, squareform

import store
from store.kernels.bias import EVERY_KEY, Mask
from store.kernels.heads import LABELS, clustered_order, head_labels, nearest_heads
from store.kernels.statistics import even_entropy
from store.schema.model import SOURCES, STATISTICS

#: Lengths of two sentences of 55 tokens; the first token has no previous token, the last no next token.
LENGTHS = np.array([55, 55])
#: Statistic and threshold of each label, in these sentences.
RULES = {
    "next": ("to_next", 0.5 * 54 / 55),
    "previous": ("to_previous", 0.5 * 54 / 55),
    "self": ("to_self", 0.5),
    "broad": ("entropy", 0.795 * math.log(55)),
    "[CLS]": ("to_cls", 0.6),
    "[SEP]": ("to_sep", 0.6),
    "punctuation": ("to_punctuation", 0.6),
}
ORDER = list(RULES)


def statistics(values: Mapping[str, float], source: str = "all") -> xr.DataArray:
    """Means of one layer with two heads; the second head has these values over rows of the source, all others are 0."""
    means = xr.DataArray(
        np.zeros((len(SOURCES), len(STATISTICS), 1, 2)),
        dims=("source", "statistic", "layer", "head"),
        coords={"source": list(SOURCES), "statistic": list(STATISTICS), "layer": [0], "head": [0, 1]},
    )
    for name, value in values.items():
        means.loc[source, name, 0, 1] = value
    return means


def label_of(values: Mapping[str, float], lengths: np.ndarray = LENGTHS, source: str = "all") -> str:
    return str(head_labels(statistics(values, source), lengths).sel(layer=0, head=1).item())


@pytest.mark.parametrize("label", ORDER)
def test_a_head_above_a_threshold_has_its_label(label: str) -> None:
    statistic, threshold = RULES[label]
    assert label_of({statistic: threshold + 1e-6}) == label


@pytest.mark.parametrize("label", ORDER)
def test_a_head_at_a_threshold_has_no_label(label: str) -> None:
    statistic, threshold = RULES[label]
    assert label_of({statistic: threshold}) == ""


@pytest.mark.parametrize("later", range(1, len(ORDER)))
def test_of_several_labels_the_last_in_clarks_order_counts(later: int) -> None:
    values = {RULES[label][0]: RULES[label][1] + 0.01 for label in ORDER[: later + 1]}
    assert label_of(values) == ORDER[later]


def test_only_means_over_all_rows_count() -> None:
    assert label_of({"to_sep": 1.0}, source="sep") == ""


def test_the_threshold_of_broad_follows_the_length_of_the_sentences() -> None:
    assert label_of({"entropy": 3.0}, lengths=np.array([119])) == ""
    assert label_of({"entropy": 3.0}, lengths=np.array([27])) == "broad"


@pytest.mark.parametrize("label", ["next", "previous"])
def test_the_threshold_of_neighbours_counts_only_tokens_that_have_one(label: str) -> None:
    """3 of 4 and 9 of 10 tokens have such a neighbour: the largest mean is (3/4 + 9/10) / 2 = 0.825."""
    short = np.array([4, 10])
    assert label_of({f"to_{label}": 0.41}, lengths=short) == ""
    assert label_of({f"to_{label}": 0.42}, lengths=short) == label


def test_missing_statistics_give_no_label() -> None:
    assert label_of({"to_sep": float("nan")}) == ""


def test_every_label_has_a_rule_in_words() -> None:
    assert list(LABELS) == ORDER


def test_labels_stand_at_their_layer_and_head() -> None:
    labels = head_labels(statistics({"to_next": 0.9}), LENGTHS)
    assert labels.dims == ("layer", "head")
    assert labels.values.tolist() == [["", "next"]]


def test_a_store_labels_its_heads_by_its_own_sentences(tiny_corpus: store.Corpus) -> None:
    _, lengths = np.unique(tiny_corpus.tokens.sentence_index.values[tiny_corpus.rows], return_counts=True)
    assert tiny_corpus.head_labels.identical(head_labels(tiny_corpus.head_statistic, lengths))
    assert set(tiny_corpus.head_labels.values.ravel()) <= {"", *LABELS}


# -- neighbours and order -------------------------------------------------------------------------------


@pytest.fixture
def apart() -> np.ndarray:
    """Divergence of 2 layers of 2 heads on a line: at 0, 1, 3 and 7."""
    places = np.array([0.0, 1.0, 3.0, 7.0])
    return np.abs(places[:, None] - places).reshape(2, 2, 2, 2)


def test_the_nearest_heads_come_with_their_divergence(apart: np.ndarray) -> None:
    assert nearest_heads(apart, 1, 0, 2) == [(0, 1, 2.0), (0, 0, 3.0)]


def test_a_head_is_not_near_itself(apart: np.ndarray) -> None:
    assert nearest_heads(apart, 0, 0, 99) == [(0, 1, 1.0), (1, 0, 3.0), (1, 1, 7.0)]


def test_of_heads_equally_near_the_first_comes_first() -> None:
    assert [near[:2] for near in nearest_heads(np.zeros((2, 2, 2, 2)), 0, 1, 3)] == [(0, 0), (1, 0), (1, 1)]


def test_nearest_heads_do_not_change_the_divergence(apart: np.ndarray) -> None:
    before = apart.copy()
    nearest_heads(apart, 0, 0, 1)
    np.testing.assert_array_equal(apart, before)


@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 9))
def test_an_order_has_every_head_once(layers: int, heads: int, seed: int) -> None:
    count = layers * heads
    apart = squareform(pdist(np.random.default_rng(seed).normal(size=(count, 3)))) if count > 1 else np.zeros((1, 1))
    order = clustered_order(apart.reshape(layers, heads, layers, heads))
    assert sorted(order.tolist()) == list(range(count))


@given(st.permutations([kind for kind in range(4) for _ in range(3)]))
def test_identical_heads_stand_side_by_side(kinds: list[int]) -> None:
    places = np.array([[0.0, 1], [2, 0], [5, 5], [1, 4]])[kinds]
    order = clustered_order(squareform(pdist(places)).reshape(3, 4, 3, 4))
    changes = np.diff(np.array(kinds)[order]) != 0
    assert changes.sum() == 3


def test_heads_on_a_line_keep_its_order(apart: np.ndarray) -> None:
    order = clustered_order(apart).tolist()
    assert order in ([0, 1, 2, 3], [3, 2, 1, 0])


def test_an_even_head_that_sees_no_later_token_is_broad() -> None:
    lengths = np.array([1, 3])
    np.testing.assert_allclose(even_entropy(lengths, Mask(causal=True)), [0, np.log(6) / 3])
    means = statistics({"entropy": np.log(6) / 6})
    masks = (Mask(causal=True), EVERY_KEY)
    labels = [str(head_labels(means, lengths, [mask]).sel(layer=0, head=1).item()) for mask in masks]
    assert labels == ["broad", ""]
