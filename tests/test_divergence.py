"""How far apart heads are, against scipy and transformers' own attentions, and the map of the heads."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import jensenshannon, pdist, squareform
from scipy.special import softmax

import store
from ingest.heads.divergence import head_map, parts_of
from store.kernels.heads import divergence_sums, map_stress
from store.repository.errors import StoreError
from tests.stores import FIT_TOKENS, ingest_without

Ingest = Callable[..., str]
MAKERS = pytest.mark.parametrize("make", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])


def of_scipy(patterns: np.ndarray) -> np.ndarray:
    """Divergences (head, other_head) by scipy, summed over the rows of patterns (head, query, key)."""
    smooth = 0.999 * patterns.astype(np.float64) + 0.001 / patterns.shape[-1]
    distance = [[jensenshannon(pattern, other, base=np.e, axis=-1) for other in smooth] for pattern in smooth]
    return (np.nan_to_num(np.array(distance)) ** 2).sum(axis=-1)  # scipy takes the root of a rounding error below 0


@st.composite
def patterns(draw: st.DrawFn) -> np.ndarray:
    """Patterns of up to 4 heads, from uniform attention to attention to a single key."""
    shape = tuple(draw(st.integers(1, most)) for most in (4, 5, 6))
    logits = draw(arrays(np.float64, shape, elements=st.floats(-1, 1)))
    return softmax(logits * draw(st.sampled_from([0, 1, 10, 1000])), axis=-1)


@MAKERS
@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 1e-4), (np.float64, 1e-10)], ids=["f4", "f8"])
def test_the_divergence_of_random_heads_is_that_of_scipy(make: Any, dtype: Any, error: float) -> None:
    heads = softmax(3 * np.random.default_rng(0).normal(size=(7, 30, 30)), axis=-1).astype(dtype)
    sums = np.asarray(divergence_sums(make(heads)))
    np.testing.assert_allclose(sums, of_scipy(heads), rtol=error)


@given(patterns())
def test_the_divergence_of_any_heads_is_that_of_scipy(heads: np.ndarray) -> None:
    np.testing.assert_allclose(divergence_sums(heads), of_scipy(heads), rtol=1e-6, atol=1e-12)


@given(patterns())
def test_divergence_does_not_depend_on_the_order_of_two_heads(heads: np.ndarray) -> None:
    sums = divergence_sums(heads)
    np.testing.assert_array_equal(sums, sums.T)


@given(patterns())
def test_a_head_does_not_diverge_from_itself(heads: np.ndarray) -> None:
    np.testing.assert_array_equal(np.diagonal(divergence_sums(heads)), 0)


@given(patterns())
def test_divergence_of_a_row_is_between_0_and_ln_2(heads: np.ndarray) -> None:
    sums = divergence_sums(heads)
    assert (sums >= 0).all()
    assert (sums <= heads.shape[1] * np.log(2)).all()


@given(patterns(), st.integers(1, 40))
def test_divergence_is_the_same_in_tiles(heads: np.ndarray, tile: int) -> None:
    np.testing.assert_allclose(divergence_sums(heads, tile=tile), divergence_sums(heads), atol=1e-12)


def test_divergence_of_disjoint_heads_is_ln_2_up_to_the_smoothing() -> None:
    heads = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    expected = np.log(2) + 0.9995 * np.log(0.9995) + 0.0005 * np.log(0.0005)
    assert divergence_sums(heads)[0, 1] == pytest.approx(expected, rel=1e-12)


def test_sentences_of_one_length_add_up() -> None:
    heads = softmax(np.random.default_rng(0).normal(size=(3, 4, 5, 5)), axis=-1)
    each = [divergence_sums(heads[:, sentence]) for sentence in range(4)]
    np.testing.assert_allclose(divergence_sums(heads), sum(each), rtol=1e-12, atol=1e-14)


@given(st.lists(st.integers(1, 12), min_size=1, max_size=20), st.integers(1, 100))
def test_every_query_is_in_one_part(sizes: list[int], weights: int) -> None:
    ends = np.cumsum(sizes)
    spans = np.stack([ends - sizes, ends], axis=-1)
    queries = [part.rows[:, part.queries].ravel() for part in parts_of(spans, weights)]
    assert sorted(np.concatenate(queries).tolist()) == list(range(ends[-1]))


@given(st.lists(st.integers(1, 12), min_size=1, max_size=20), st.integers(12, 200))
def test_a_batch_of_queries_is_within_its_limit(sizes: list[int], weights: int) -> None:
    ends = np.cumsum(sizes)
    parts = parts_of(np.stack([ends - sizes, ends], axis=-1), weights)
    assert max(part.tokens * part.rows.shape[1] for part in parts) <= weights


# -- the map --------------------------------------------------------------------------------------------


@pytest.fixture
def apart() -> np.ndarray:
    """Divergences (head, other_head) that no plane can show."""
    return squareform(pdist(np.random.default_rng(0).normal(size=(9, 5))))


def test_a_map_repeats_bit_for_bit_with_its_seed(apart: np.ndarray) -> None:
    np.testing.assert_array_equal(head_map(apart, seed=3), head_map(apart, seed=3))


def test_another_seed_is_another_map(apart: np.ndarray) -> None:
    assert not np.array_equal(head_map(apart, seed=3), head_map(apart, seed=4))


@pytest.mark.parametrize("seed", [-1, 1 << 62])
def test_every_seed_of_an_ingest_makes_a_map(seed: int, apart: np.ndarray) -> None:
    assert np.isfinite(head_map(apart, seed=seed)).all()


def test_a_map_shows_what_a_plane_can_show() -> None:
    flat = squareform(pdist(np.random.default_rng(0).normal(size=(9, 2))))
    np.testing.assert_allclose(pdist(head_map(flat, seed=0)), squareform(flat), atol=1e-3)


def test_a_lone_head_has_a_place() -> None:
    assert head_map(np.zeros((1, 1)), seed=0).tolist() == [[0, 0]]


def test_stress_is_that_of_kruskal(apart: np.ndarray) -> None:
    place = head_map(apart, seed=0)
    distance = pdist(place)
    expected = np.sqrt(((distance - squareform(apart)) ** 2).sum() / (distance**2).sum())
    assert map_stress(apart, place) == pytest.approx(expected, rel=1e-12)


def test_heads_in_one_place_have_no_stress() -> None:
    assert map_stress(np.zeros((3, 3)), np.zeros((3, 2))) == 0


# -- in a store -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def corpus(any_store: str) -> store.Corpus:
    return store.open_corpus(any_store)


def of_transformers(corpus: store.Corpus, model: Any, sentences: int) -> np.ndarray:
    """Divergences (head, other_head) summed over the first sentences, from the attentions of transformers."""
    heads = corpus.layers * corpus.heads
    sums = np.zeros((heads, heads))
    for sentence in range(sentences):
        token_ids = torch.from_numpy(corpus.tokens.token_id.values[corpus.sentence_rows(sentence)].astype(np.int64))
        with torch.no_grad():
            attentions = model(token_ids[None], output_attentions=True).attentions
        sums += of_scipy(torch.cat(attentions).flatten(0, 1).numpy())
    return sums


def test_stored_sums_are_those_of_transformers_own_attentions(
    corpus: store.Corpus, any_model: Path, eager: Callable[[Path], Any]
) -> None:
    divergence = corpus.divergence
    expected = of_transformers(corpus, eager(any_model), divergence.attrs["sentences"])
    np.testing.assert_allclose(divergence.divergence.values.reshape(expected.shape), expected, rtol=1e-3)


def test_the_sample_is_the_first_whole_sentences_within_its_tokens(corpus: store.Corpus) -> None:
    sizes, attributes = corpus.sentences.row_size.values, corpus.divergence.attrs
    sentences = attributes["sentences"]
    assert attributes["tokens"] == sizes[:sentences].sum() <= FIT_TOKENS < sizes[: sentences + 1].sum()


def test_the_mean_is_that_of_a_token(corpus: store.Corpus) -> None:
    divergence = corpus.divergence
    np.testing.assert_array_equal(divergence.mean_divergence, divergence.divergence.values / divergence.attrs["tokens"])
    assert 0 < float(divergence.mean_divergence.max()) < np.log(2)


def test_heads_are_named_on_both_sides(corpus: store.Corpus) -> None:
    pair = corpus.divergence.divergence.sel(layer=1, head=0)
    assert float(pair.sel(other_layer=1, other_head=0)) == 0
    assert float(pair.sel(other_layer=0, other_head=1)) > 0


def test_the_stored_stress_is_that_of_the_map(corpus: store.Corpus) -> None:
    divergence = corpus.divergence
    heads = corpus.layers * corpus.heads
    distance = pdist(divergence.place.values.reshape(heads, 2))
    wanted = squareform(divergence.mean_divergence.values.reshape(heads, heads), checks=False)
    expected = np.sqrt(((distance - wanted) ** 2).sum() / (distance**2).sum())
    assert divergence.attrs["stress"] == pytest.approx(expected, rel=1e-9)


def test_a_store_without_divergence_says_what_to_do(ingest: Ingest, tmp_path: Path) -> None:
    corpus = store.open_corpus(ingest_without("divergence", ingest, tmp_path / "store"))
    with pytest.raises(StoreError, match=r"Divergence between heads: not computed\. Run `headscape ingest`\.$"):
        _ = corpus.divergence
