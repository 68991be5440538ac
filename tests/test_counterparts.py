"""How far heads are from their counterparts in another model, against scipy and transformers' own attentions."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon
from scipy.special import softmax

from dashboard.compare import data as divergence
from dashboard.compare.data import counterpart_divergence, head_divergence, head_sample
from dashboard.compare.sentences import both_patterns, patterns_table, sentence_divergence
from dashboard.compare.two_models import Two, sample_of
from store.kernels.divergence import divergence_sums, row_divergence
from tests.test_divergence import MAKERS


def of_scipy(patterns: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(..., query) of rows smoothed as Clark's."""
    own, other = (0.999 * one.astype(np.float64) + 0.001 / one.shape[-1] for one in (patterns, others))
    return np.nan_to_num(jensenshannon(own, other, base=np.e, axis=-1)) ** 2


def random_patterns(seed: int) -> np.ndarray:
    return softmax(4 * np.random.default_rng(seed).normal(size=(3, 9, 9)), axis=-1)


@MAKERS
def test_the_divergence_of_every_row_is_that_of_scipy(make: Any) -> None:
    one, other = random_patterns(0), random_patterns(1)
    found = np.asarray(row_divergence(make(one), make(other)))
    np.testing.assert_allclose(found, of_scipy(one, other), rtol=1e-9)


def test_rows_add_up_to_the_divergence_of_heads() -> None:
    heads = random_patterns(2)
    np.testing.assert_allclose(row_divergence(heads[:1], heads[1:2]).sum(), divergence_sums(heads)[0, 1], rtol=1e-9)


def test_rows_on_different_keys_are_nearly_ln_2_apart() -> None:
    one = np.eye(50)
    found = row_divergence(one, np.roll(one, 1, axis=1))
    np.testing.assert_allclose(found, np.log(2), rtol=0.01)
    assert (found <= np.log(2)).all()


def test_equal_rows_do_not_diverge() -> None:
    np.testing.assert_allclose(row_divergence(random_patterns(3), random_patterns(3)), 0, atol=1e-12)


def test_heads_are_as_far_apart_as_those_of_transformers(
    alike: Two, eager: Callable[[Path], Any], tiny_model: Path, second_model: Path
) -> None:
    found = counterpart_divergence(alike)
    assert found.shape == (alike.sentences, 2, 2)
    for sentence in range(0, alike.sentences, 9):
        ids = torch.tensor(alike.own.tokens.token_id.values[alike.own.sentence_rows(sentence)])[None]
        patterns = [
            np.stack([layer[0].detach().numpy() for layer in eager(model)(ids, output_attentions=True).attentions])
            for model in (tiny_model, second_model)
        ]
        np.testing.assert_allclose(found[sentence], of_scipy(*patterns).mean(axis=-1), atol=2e-3)


def test_a_model_is_not_apart_from_itself(alike: Two) -> None:
    assert counterpart_divergence(Two(alike.own, alike.own)).max() < 1e-6


def test_it_is_counted_once(alike: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    first = counterpart_divergence(alike)
    monkeypatch.setattr(divergence, "_of_heads", None)
    assert counterpart_divergence(alike) is first


@pytest.mark.parametrize("tokens", [1, 50, 10**9])
def test_a_sample_is_the_first_whole_sentences(unlike: Two, tokens: int) -> None:
    sample = sample_of(unlike, tokens)
    sentences = unlike.own.tokens.sentence_index.values[sample.rows]
    sizes = unlike.own.sentences.row_size.values[: unlike.sentences]
    count = max(1, int((sizes.cumsum() <= tokens).sum()))
    assert np.unique(sentences).tolist() == list(range(count))
    assert sample.tokens == sizes[:count].sum() == len(sentences)
    assert unlike.sentences == 30


def test_one_head_diverges_in_every_sentence_as_scipy_says(alike: Two) -> None:
    found = head_divergence(alike, 1, 0)
    assert len(found) == head_sample(alike).sentences == alike.sentences
    values = [of_scipy(*both_patterns(alike, sentence, 1, 0)).mean() for sentence in range(alike.sentences)]
    np.testing.assert_allclose(found, values, atol=1e-5)


def test_one_head_is_looked_at_in_more_sentences_than_all(alike: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(divergence, "HEAD_TOKENS", 100)
    monkeypatch.setattr(divergence, "DIVERGENCE_TOKENS", 30)
    assert divergence.divergence_sample(alike).tokens <= 30 < head_sample(alike).tokens <= 100


def test_the_sentence_of_the_page_has_the_same_divergence(alike: Two) -> None:
    shown = [sentence_divergence(both_patterns(alike, sentence, 0, 1)) for sentence in range(alike.sentences)]
    np.testing.assert_allclose(head_divergence(alike, 0, 1), shown, rtol=1e-3, atol=1e-6)


def test_patterns_of_both_are_those_of_the_store(alike: Two) -> None:
    table = patterns_table(alike, 3, 1, 0)
    own, other = (one.pattern(3, layer=1, head=0).values.ravel() for one in (alike.own, alike.other))
    np.testing.assert_allclose(table["this"], own, rtol=1e-5)
    np.testing.assert_allclose(table["difference"], other - own, atol=1e-6)
