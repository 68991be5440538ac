"""What pictures are trained for, against scipy, query by query."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist
from scipy.special import log_softmax, softmax
from scipy.stats import pearsonr, rankdata

from ingest.projections import attention_loss
from ingest.projections.attention_loss import loss_across_sentences, loss_in_sentence

TOKENS, CHANNELS = 7, 5


@pytest.fixture
def vectors() -> np.ndarray:
    """Queries and keys (role, token, channel)."""
    return np.random.default_rng(0).standard_normal((2, TOKENS, CHANNELS)).astype(np.float32) * 2


@pytest.fixture
def places() -> np.ndarray:
    """(role, token, component)."""
    return np.random.default_rng(1).standard_normal((2, TOKENS, 2)).astype(np.float32)


def weights_by_hand(logits: np.ndarray) -> np.ndarray:
    return 0.5 * softmax(logits, axis=-1) + 0.5 * softmax(logits / attention_loss.TEMPERATURE, axis=-1)


def loss_by_hand(query: np.ndarray, key: np.ndarray, query_place: np.ndarray, key_place: np.ndarray) -> np.ndarray:
    """All three parts for every query."""
    logits = query.astype(np.float64) @ key.T / np.sqrt(CHANNELS)
    shown = log_softmax(-(cdist(query_place, key_place) ** 2), axis=-1)
    nearest = (rankdata(-logits, axis=-1) <= 3) / 3
    order = [
        pearsonr(rankdata(-row), away).statistic
        for row, away in zip(logits, cdist(query_place, key_place), strict=True)
    ]
    target = attention_loss.WEIGHTS * weights_by_hand(logits) + attention_loss.NEAREST * nearest
    return -(target * shown).sum(axis=-1) + attention_loss.ORDER * (1 - np.array(order))


def tensors_of(*arrays: np.ndarray) -> list[torch.Tensor]:
    return [torch.from_numpy(array) for array in arrays]


def test_the_loss_in_a_sentence_is_order_nearest_keys_and_weights(vectors: np.ndarray, places: np.ndarray) -> None:
    hidden = torch.zeros((1, TOKENS), dtype=torch.bool)
    losses = loss_in_sentence(*tensors_of(*vectors, *places), hidden)
    np.testing.assert_allclose(losses, loss_by_hand(*vectors, *places), rtol=1e-4)


def test_padding_changes_no_query(vectors: np.ndarray, places: np.ndarray) -> None:
    """The last two keys are padding: the loss is that of the others alone."""
    hidden = torch.arange(TOKENS)[None] >= TOKENS - 2
    losses = loss_in_sentence(*tensors_of(*vectors, *places), hidden)[: TOKENS - 2]
    expected = loss_by_hand(*vectors[:, : TOKENS - 2], *places[:, : TOKENS - 2])
    np.testing.assert_allclose(losses, expected, rtol=1e-4)


@pytest.mark.parametrize("real", [1, 2])
def test_a_sentence_with_fewer_keys_than_recall_looks_for_has_a_finite_loss_and_gradient(
    real: int, vectors: np.ndarray, places: np.ndarray
) -> None:
    tensors = tensors_of(*vectors, *places)
    for place in tensors[2:]:
        place.requires_grad_()
    loss = loss_in_sentence(*tensors, torch.arange(TOKENS)[None] >= real)[:real].sum()
    loss.backward()
    assert torch.isfinite(loss)
    assert all(torch.isfinite(place.grad).all() for place in tensors[2:])


def test_keys_in_the_order_of_attention_have_less_loss_than_in_the_reverse(vectors: np.ndarray) -> None:
    """Keys on a line, the most attended nearest to a query at 0; then the farthest."""
    query, key = vectors
    order = rankdata(-(query[0] @ key.T)).astype(np.float32) / 3
    at_zero, line = np.zeros((1, 2), np.float32), np.stack([order, 0 * order], axis=-1)
    hidden = torch.zeros((1, TOKENS), dtype=torch.bool)
    ordered, reverse = (
        float(loss_in_sentence(*tensors_of(query[:1], key, at_zero, place), hidden))
        for place in (line, line.max() - line)
    )
    assert ordered < reverse - attention_loss.ORDER


def test_the_loss_across_sentences_is_of_the_weights_alone(vectors: np.ndarray, places: np.ndarray) -> None:
    logits = vectors[0].astype(np.float64) @ vectors[1].T / np.sqrt(CHANNELS)
    expected = -(weights_by_hand(logits) * log_softmax(-(cdist(*places) ** 2), axis=-1)).sum(axis=-1)
    np.testing.assert_allclose(loss_across_sentences(*tensors_of(*vectors, *places)), expected, rtol=1e-4)
